package keysource_test

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// tally is entropy that counts: no two of its words of 64 bits are the same. It
// stands in for crypto/rand.
type tally struct{ words, reads atomic.Int64 }

func (e *tally) Read(b []byte) (int, error) {
	e.reads.Add(1)
	n := int64(len(b)+7) / 8
	word := uint64(e.words.Add(n) - n)
	var all []byte
	for range n {
		word++
		// The two highest bits give way to the variant.
		all = binary.BigEndian.AppendUint64(all, word)
	}
	return copy(b, all), nil
}

// replaceCryptoRand makes crypto/rand read from r until the test ends. Tests
// that run in parallel do not run meanwhile.
func replaceCryptoRand(t *testing.T, r io.Reader) {
	own := rand.Reader
	rand.Reader = r
	t.Cleanup(func() { rand.Reader = own })
}

// TestReadAheadOnce: no random byte that was read ahead is in two keys, whatever
// the goroutines and the garbage collector do, and though requests end in the
// middle of what was read.
func TestReadAheadOnce(t *testing.T) {
	const goroutines = 16
	each := 20_000
	if raceEnabled {
		each = 2_000
	}
	entropy := new(tally)
	replaceCryptoRand(t, entropy)
	s := keysource.NewUUIDv7(keysource.Env{Now: sprinter()})
	made := make([][][16]byte, goroutines)
	begin, end := make(chan struct{}), make(chan struct{})
	go func() {
		for {
			select {
			case <-end:
				return
			default:
				runtime.GC() // empties pools
			}
		}
	}()
	var wg sync.WaitGroup
	for g := range made {
		wg.Go(func() {
			<-begin
			for i := 0; len(made[g]) < each; i++ {
				keys, err := s.Append16(t.Context(), made[g], keysource.Request{N: []int{1, 3, 100, 1, 64}[i%5]})
				if err != nil {
					t.Error(err)
					return
				}
				made[g] = keys
			}
		})
	}
	close(begin)
	wg.Wait()
	close(end)
	seen := make(map[uint64]struct{})
	total := 0
	for _, keys := range made {
		total += len(keys)
		for _, key := range keys {
			seen[binary.BigEndian.Uint64(key[8:])] = struct{}{}
		}
	}
	if len(seen) != total {
		t.Errorf("%d keys have %d different random halves", total, len(seen))
	}
	if reads := entropy.reads.Load(); !raceEnabled && reads > int64(total) {
		t.Errorf("crypto/rand was read %d times for %d keys", reads, total)
	}
}

// TestReadAheadAges: random bytes are thrown away a millisecond after they were
// read, and when the clock was set back meanwhile.
func TestReadAheadAges(t *testing.T) {
	for _, tt := range []struct {
		name  string
		step  time.Duration
		reads int64
	}{
		{"at once", 0, 1},
		{"younger", time.Millisecond - time.Microsecond, 1},
		{"a millisecond", time.Millisecond, 2},
		{"an hour", time.Hour, 2},
		{"set back", -time.Microsecond, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entropy := new(tally)
			replaceCryptoRand(t, entropy)
			clock := newSetClock(instant)
			// A pool may be emptied at any time, and the race detector drops a part of
			// what it keeps; then there is one more reading, and the test is made again.
			var reads int64
			for range 100 {
				entropy.reads.Store(0)
				s := keysource.NewUUIDv7(keysource.Env{Now: clock.now})
				clock.set(instant)
				next(t, s, bin, 1)
				clock.set(instant.Add(tt.step))
				next(t, s, bin, 1)
				if reads = entropy.reads.Load(); reads == tt.reads {
					return
				}
			}
			t.Errorf("crypto/rand was read %d times, want %d", reads, tt.reads)
		})
	}
}

// TestReadAheadForgets: numbers that were handed out are not kept.
func TestReadAheadForgets(t *testing.T) {
	for n := 1; n <= 64; n++ {
		used, left := keysource.ReadAhead(n)
		if len(used) != n || slices.ContainsFunc(used, func(number uint64) bool { return number != 0 }) {
			t.Errorf("after %d numbers these are kept: %x", n, used)
		}
		if slices.Contains(left, 0) {
			t.Errorf("after %d numbers others are gone too: %x", n, left)
		}
	}
}

// TestReadAheadPanic: a reader that panics in the middle makes nothing available. After
// that the source has the same numbers as a new source.
func TestReadAheadPanic(t *testing.T) {
	broken := &faulty{r: new(tally), bad: true}
	replaceCryptoRand(t, broken)
	s := keysource.NewUUIDv7(keysource.Env{Now: frozen(instant)})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the reader has not panicked")
			}
		}()
		_, _ = s.Key16(t.Context(), bin)
	}()
	broken.bad = false
	got, err := s.Key16(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	replaceCryptoRand(t, new(tally))
	want, err := keysource.NewUUIDv7(keysource.Env{Now: frozen(instant)}).Key16(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[8:], want[8:]) {
		t.Errorf("the random half of the key is %x, want %x", got[8:], want[8:])
	}
}

// faulty is a reader that fills and panics while it is bad.
type faulty struct {
	r   io.Reader
	bad bool
}

func (f *faulty) Read(b []byte) (int, error) {
	if f.bad {
		for i := range b {
			b[i] = 0xff
		}
		panic("faulty")
	}
	return f.r.Read(b)
}

// TestNothingAhead: sources whose keys of one moment differ by their random bits
// alone read those for each request, so that two copies of a running process do
// not have the same ones.
func TestNothingAhead(t *testing.T) {
	for _, l := range laws {
		if l.name == "uuidv7" || l.name == "typeid" { // which has the keys of a UUIDv7
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			entropy := new(tally)
			replaceCryptoRand(t, entropy)
			s := l.make(keysource.Env{Now: frozen(instant)})
			for i := range int64(10) {
				next(t, s, bin, 1)
				if reads := entropy.reads.Load(); reads != i+1 {
					t.Fatalf("after %d requests crypto/rand was read %d times", i+1, reads)
				}
			}
		})
	}
}
