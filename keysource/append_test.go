package keysource_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// TestAppend: Append makes the keys that Next makes, behind what is in the room
// already, for requests around the number of keys that share memory.
func TestAppend(t *testing.T) {
	for _, l := range laws {
		for _, layout := range l.layouts {
			for _, n := range []int{1, 2, 31, 63, 64, 65, 130} {
				t.Run(fmt.Sprintf("%s/%s/%d", l.name, layout, n), func(t *testing.T) {
					env := func() keysource.Env { return keysource.Env{Now: frozen(instant), Rand: newStream()} }
					want := next(t, l.make(env()), layout, n)
					got, err := l.make(env()).Append(t.Context(), []driver.Value{"before"}, keysource.Request{N: n, Layout: layout})
					if err != nil || len(got) != 1+n || got[0] != "before" {
						t.Fatalf("Append gave %d values, %v", len(got), err)
					}
					for i := range want {
						if g, w := text(t, got[1+i]), text(t, want[i]); g != w {
							t.Fatalf("key %d is %s, of Next %s", i, g, w)
						}
					}
				})
			}
		}
	}
}

// TestKeysDoNotOverlap: what a caller appends to one key changes no other one.
func TestKeysDoNotOverlap(t *testing.T) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) {
			s := l.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
			keys := next(t, s, bin, 70)
			var want []string
			for _, key := range keys {
				want = append(want, text(t, key))
			}
			for _, key := range keys {
				_ = append(key.([]byte), "sixteen more bytes"...)
			}
			for i, key := range keys {
				if got := text(t, key); got != want[i] {
					t.Fatalf("key %d has become %s, was %s", i, got, want[i])
				}
			}
		})
	}
}

// TestAppendIntegers: the integers of a request of any size are consecutive, also
// where several share memory, and stay so when memory is used again.
func TestAppendIntegers(t *testing.T) {
	const first = 1 << 40
	for n := range 200 {
		keys := keysource.AppendIntegers([]driver.Value{"before"}, first, n, "")
		runtime.GC()
		_ = keysource.Integers(-first, n, "")
		if len(keys) != 1+n || keys[0] != "before" {
			t.Fatalf("%d integers: %d values behind what was there", n, len(keys)-1)
		}
		for i, key := range keys[1:] {
			if want := int64(first + i); key != want {
				t.Fatalf("%d integers: number %d is %v, want %d", n, i, key, want)
			}
		}
	}
}

// TestAppendFails: beside an error the room comes back as it was.
func TestAppendFails(t *testing.T) {
	room := []driver.Value{"before"}
	for _, l := range laws {
		for _, n := range []int{0, 1, 100} {
			t.Run(fmt.Sprintf("%s/%d", l.name, n), func(t *testing.T) {
				s := l.make(keysource.Env{Now: frozen(instant), Rand: dry{}})
				got, err := s.Append(t.Context(), room, keysource.Request{N: n, Layout: str})
				if err == nil || !slices.Equal(got, room) {
					t.Errorf("Append = %v, %v, want the room alone and an error", got, err)
				}
				typed, err := s.(keysource.Source16).Append16(t.Context(), make([][16]byte, 1), keysource.Request{N: n, Layout: str})
				if err == nil || len(typed) != 1 {
					t.Errorf("Append16 = %d keys, %v, want the room alone and an error", len(typed), err)
				}
				if _, err := s.(keysource.Source16).Key16(t.Context(), str); err == nil {
					t.Error("Key16 gave a key")
				}
			})
		}
	}
}

// TestSource16: the layout makes of the 16 bytes what Next returns. A ULID's text
// is no layout's.
func TestSource16(t *testing.T) {
	for _, l := range laws {
		for _, layout := range l.layouts {
			if l.traits.Text && layout != bin {
				continue
			}
			t.Run(l.name+"/"+string(layout), func(t *testing.T) {
				env := func() keysource.Env { return keysource.Env{Now: frozen(instant), Rand: newStream()} }
				boxed, typed := l.make(env()), l.make(env()).(keysource.Source16)
				check := func(want any, key [16]byte) {
					t.Helper()
					if g, w := text(t, layout.Value(key)), text(t, want); g != w {
						t.Errorf("got %s, of Next %s", g, w)
					}
				}
				one, err := typed.Key16(t.Context(), layout)
				if err != nil {
					t.Fatal(err)
				}
				check(next(t, boxed, layout, 1)[0], one)
				many, err := typed.Append16(t.Context(), [][16]byte{one}, keysource.Request{N: 100, Layout: layout})
				if err != nil || len(many) != 101 || many[0] != one {
					t.Fatalf("Append16 gave %d keys, %v", len(many), err)
				}
				for i, want := range next(t, boxed, layout, 100) {
					check(want, many[1+i])
				}
			})
		}
	}
}

// TestAppendAllocates: with room, a typed key needs no memory, and a boxed one the
// value and the box alone. A block's integer needs its box. The keys of a request share
// a few of each.
func TestAppendAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector drops what a sync.Pool keeps")
	}
	ctx := t.Context()
	v7 := keysource.NewUUIDv7(keysource.Env{})
	sequence, err := keysource.NewSequence(keysource.SequenceOptions{Reserver: new(counter), Block: 1_000_000}, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sequence.Close(ctx) })
	if _, err := sequence.Reserve(ctx, 1000); err != nil { // an integer below 256 needs no box
		t.Fatal(err)
	}
	room, typed := make([]driver.Value, 0, 100), make([][16]byte, 0, 100)
	for _, tt := range []struct {
		name string
		want float64
		draw func() error
	}{
		{"uuidv7 typed", 0, func() error { _, err := v7.Key16(ctx, bin); return err }},
		{"100 uuidv7 typed", 0, func() error {
			_, err := v7.Append16(ctx, typed, keysource.Request{N: 100})
			return err
		}},
		{"uuidv7 text", 2, func() error { return appended(v7, room, 1, str) }},
		{"100 uuidv7 text", 5, func() error { return appended(v7, room, 100, str) }},
		{"100 uuidv7 binary", 4, func() error { return appended(v7, room, 100, bin) }},
		{"integer of a block", 1, func() error { return appended(sequence, room, 1, "") }},
		{"100 integers of a block", 3, func() error { return appended(sequence, room, 100, "") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := testing.AllocsPerRun(1000, func() {
				if err := tt.draw(); err != nil {
					t.Fatal(err)
				}
			})
			if got > tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}

func appended(s keysource.Source, room []driver.Value, n int, l dialect.Layout) error {
	_, err := s.Append(context.Background(), room, keysource.Request{N: n, Layout: l})
	return err
}
