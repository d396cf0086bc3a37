package keysource_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// instant is the time of the first GUID in the article that the combs are from.
var instant = time.Date(2012, 6, 2, 0, 11, 11, 814_000_000, time.UTC)

// frozen is a clock that stands still.
func frozen(t time.Time) func() time.Time {
	return func() time.Time { return t }
}

// walker is a clock without monotonic reading that goes on by step at each
// reading, and once back by back.
type walker struct {
	start      time.Time
	step, back time.Duration
	turn       int64 // the reading at which it goes back
	readings   atomic.Int64
}

func (w *walker) now() time.Time {
	n := w.readings.Add(1)
	t := w.start.Add(time.Duration(n) * w.step)
	if n >= w.turn {
		t = t.Add(-w.back)
	}
	return t
}

// setClock is a clock that shows what it was last set to.
type setClock struct{ t atomic.Pointer[time.Time] }

func newSetClock(t time.Time) *setClock {
	c := new(setClock)
	c.set(t)
	return c
}

func (c *setClock) set(t time.Time)    { c.t.Store(&t) }
func (c *setClock) now() time.Time     { return *c.t.Load() }
func (c *setClock) env() keysource.Env { return keysource.Env{Now: c.now, Rand: zeros{}} }

// zeros is entropy that is none: what stays unique and ordered with it does so
// by its own state.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// stream is entropy that is the same in every run.
type stream struct {
	mu sync.Mutex
	r  *rand.ChaCha8
}

func newStream() *stream { return &stream{r: rand.NewChaCha8([32]byte{1})} }

func (s *stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(b)
}

// errDry is what entropy that has run dry returns.
var errDry = errors.New("dry")

type dry struct{}

func (dry) Read([]byte) (int, error) { return 0, errDry }

// bytesOf returns entropy of the given hexadecimal digits and no more.
func bytesOf(t testing.TB, digits ...string) io.Reader {
	t.Helper()
	return io.MultiReader(bytes.NewReader(unhex(t, strings.Join(digits, ""))), dry{})
}

func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text returns a key as one writes it: text as it is, bytes as digits.
func text(t testing.TB, key any) string {
	t.Helper()
	switch k := key.(type) {
	case string:
		return k
	case []byte:
		return hex.EncodeToString(k)
	}
	t.Fatalf("key of type %T", key)
	return ""
}

// sqlServerOrder is the order in which SQL Server compares the stored bytes of
// a uniqueidentifier: SQLGuid.cs in System.Data.Common.
var sqlServerOrder = [16]int{10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3}

// stored returns the bytes under which SQL Server stores a text: 33221100-5544-
// 7766-8899-AABBCCDDEEFF is 00112233 4455 6677 8899 AABBCCDDEEFF.
func stored(t testing.TB, text string) []byte {
	t.Helper()
	b := unhex(t, strings.ReplaceAll(text, "-", ""))
	if len(b) != 16 {
		t.Fatalf("%q is not a UUID's text", text)
	}
	return []byte{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6],
		b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]}
}

// indexed returns a key as a string that compares as the index of its layout
// does.
func indexed(t testing.TB, l dialect.Layout, key any) string {
	t.Helper()
	switch k := key.(type) {
	case []byte:
		return string(k)
	case string:
		if l != dialect.SequentialAtEnd {
			return k
		}
		var b [16]byte
		s := stored(t, k)
		for i, at := range sqlServerOrder {
			b[i] = s[at]
		}
		return string(b[:])
	}
	t.Fatalf("key of type %T", key)
	return ""
}

// next draws n keys of a layout.
func next(t testing.TB, s keysource.Source, l dialect.Layout, n int) []any {
	t.Helper()
	keys, err := s.Next(t.Context(), keysource.Request{N: n, Layout: l})
	if err != nil {
		t.Fatalf("Next(%d, %s): %v", n, l, err)
	}
	if len(keys) != n {
		t.Fatalf("Next(%d, %s) gave %d keys", n, l, len(keys))
	}
	all := make([]any, n)
	for i, key := range keys {
		all[i] = key
	}
	return all
}
