package keysource_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keyfill/keyfill/keysource"
)

// TestEntropyFailure: the error comes back, and neither a key nor a place in
// the order is gone.
func TestEntropyFailure(t *testing.T) {
	for _, l := range laws {
		for _, tt := range []struct {
			name  string
			rand  func(good io.Reader) io.Reader
			cause error
		}{
			{"at once", func(io.Reader) io.Reader { return dry{} }, errDry},
			{"end of file", func(io.Reader) io.Reader { return strings.NewReader("") }, io.EOF},
			{"cut short", func(good io.Reader) io.Reader {
				return io.LimitReader(good, 16*3+5)
			}, io.ErrUnexpectedEOF},
			{"late", func(good io.Reader) io.Reader {
				return io.MultiReader(io.LimitReader(good, 16*3+5), iotest.ErrReader(errDry))
			}, errDry},
		} {
			t.Run(l.name+"/"+tt.name, func(t *testing.T) {
				swap := &swapReader{tt.rand(newStream())}
				s := l.make(keysource.Env{Now: frozen(instant), Rand: swap})
				keys, err := s.Next(t.Context(), keysource.Request{N: 10, Layout: str})
				if keys != nil || !errors.Is(err, keysource.ErrEntropy) || !errors.Is(err, tt.cause) {
					t.Fatalf("Next = %d keys, %v, want none, ErrEntropy for %v", len(keys), err, tt.cause)
				}
				swap.Reader = newStream()
				fresh := l.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
				got, want := next(t, s, str, 1)[0], next(t, fresh, str, 1)[0]
				if got != want {
					t.Errorf("after the failure the first key is %s, want %s", got, want)
				}
			})
		}
	}
}

// swapReader is entropy that a test repairs.
type swapReader struct{ io.Reader }
