package keysource_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// TestSwapped: the keys of layout swapped are those of layout binary with their groups
// swapped, one by one, together, and as the prefix of a query's rows.
func TestSwapped(t *testing.T) {
	for name, source := range map[string]func(keysource.Env) keysource.Source{
		"uuidv7": func(e keysource.Env) keysource.Source { return keysource.NewUUIDv7(e) },
		"uuidv4": func(e keysource.Env) keysource.Source { return keysource.NewUUIDv4(e) },
	} {
		fixed := func() keysource.Source {
			return source(keysource.Env{Now: func() time.Time { return instant }, Rand: newStream()})
		}
		for _, n := range []int{1, 2, 100} {
			plain, swapped := next(t, fixed(), dialect.SequentialAsBinary, n), next(t, fixed(), dialect.Swapped, n)
			for i := range plain {
				want := dialect.Swap([16]byte(plain[i].([]byte)))
				got := swapped[i].([]byte)
				if !bytes.Equal(got, want[:]) || cap(got) != 16 {
					t.Errorf("%s: key %d of %d is %x, want %x", name, i, n, got, want)
				}
			}
		}
		if rows, ok := fixed().(keysource.RowSource); ok {
			again := fixed().(keysource.RowSource)
			prefix, before, err := rows.RowPrefix(t.Context(), dialect.Swapped)
			plain, number, failed := again.RowPrefix(t.Context(), dialect.SequentialAsBinary)
			if err != nil || failed != nil || before != number {
				t.Fatalf("%s: counted is from %d, want %d; errors %v, %v", name, before, number, err, failed)
			}
			var key [16]byte
			if _, err := hex.Decode(key[:], []byte(plain)); err != nil {
				t.Fatal(err)
			}
			if stored := dialect.Swap(key); prefix != hex.EncodeToString(stored[:10]) {
				t.Errorf("%s: the prefix is %s, want %x", name, prefix, stored[:10])
			}
		}
	}
}

// TestSwappedRefused: keys without the groups of a UUID are not swapped, and bounds of times
// hold for no order.
func TestSwappedRefused(t *testing.T) {
	const l = dialect.Swapped
	request := keysource.Request{N: 1, Layout: l}
	ulid, comb := keysource.NewULID(keysource.Env{}), keysource.NewCOMB(keysource.Env{}, keysource.EpochUnix)
	for name, err := range map[string]error{
		"ulid":         second(ulid.Next(t.Context(), request)),
		"ulid rows":    third(ulid.RowPrefix(t.Context(), l)),
		"ulid bounds":  third(keysource.ULIDBounds(instant, instant, l)),
		"comb":         second(comb.Next(t.Context(), request)),
		"comb rows":    third(comb.RowPrefix(t.Context(), l)),
		"comb bounds":  third(keysource.COMBBounds(instant, instant, keysource.EpochUnix, l)),
		"uuidv7 bound": third(keysource.UUIDv7Bounds(instant, instant, l)),
	} {
		if !errors.Is(err, keysource.ErrLayout) {
			t.Errorf("%s: error %v, want %v", name, err, keysource.ErrLayout)
		}
	}
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }

// TestInspectSwapped: swapped bytes are read as what they are, a uuidv4 last.
func TestInspectSwapped(t *testing.T) {
	for _, tt := range []struct {
		bytes, kind string
		at          int
	}{
		{"7ed50c460137aa8880122e27653a9d13", "uuidv7", 0},
		{"4bdbc0d6f1a1e5b3a0122e27653a9d13", "uuidv4", -1},
	} {
		readings, err := keysource.Inspect(tt.bytes)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(readings, func(r keysource.Reading) bool {
			return r.Kind == tt.kind && r.Layout == dialect.Swapped && (tt.kind == "uuidv4" || r.Time.Equal(instant))
		})
		if i < 0 || i != tt.at && i != len(readings)-1 {
			t.Errorf("%s is read as %+v", tt.bytes, readings)
		}
	}
}
