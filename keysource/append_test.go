package keysource_test

import (
	"database/sql/driver"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/keysource"
)

// TestAppend: Append makes the keys that Next makes, after the keys in the room, for
// requests around the number of keys that share memory.
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
		keys := boxing.AppendIntegers([]driver.Value{"before"}, first, n, "")
		runtime.GC()
		_ = boxing.Integers(-first, n, "")
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

// TestTextsOneByOne: texts that are made one by one share their characters, and none
// changes when others are made: they ascend, and each is what it was.
func TestTextsOneByOne(t *testing.T) {
	for _, layout := range []dialect.Layout{str, dialect.SequentialAtEnd} {
		t.Run(string(layout), func(t *testing.T) {
			s := keysource.NewUUIDv7(keysource.Env{})
			var made []driver.Value
			var then []string
			for range 1000 {
				var err error
				if made, err = s.Append(t.Context(), made, keysource.Request{N: 1, Layout: layout}); err != nil {
					t.Fatal(err)
				}
				then = append(then, strings.Clone(made[len(made)-1].(string)))
			}
			for i, key := range made {
				id, err := uuid.Parse(key.(string))
				if err != nil || key != then[i] || len(then[i]) != 36 {
					t.Fatalf("key %d was %q and is %q: %v", i, then[i], key, err)
				}
				if layout == str && i > 0 && (then[i-1] >= then[i] || id.Version() != 7) {
					t.Fatalf("key %q follows %q", then[i], then[i-1])
				}
			}
			slices.Sort(then)
			if n := len(slices.Compact(then)); n != 1000 {
				t.Errorf("%d of 1000 keys are different", n)
			}
		})
	}
}
