package counting_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// TestSequenceOnOutside: outside a transaction a block is reserved and kept, as
// with a store of one's own.
func TestSequenceOnOutside(t *testing.T) {
	f := new(file)
	c := &session{f: f}
	s := onConnection(t, counting.SequenceOptions{})
	reserveOn(t, s, c, 1, 1)
	reserveOn(t, s, c, 90, 2)
	if n := len(f.do(nil).asked); n != 1 {
		t.Errorf("the store was asked %d times", n) // there is no prefetch
	}
	if got, want := counted(s), (counting.SequenceStats{Next: 92, Left: 9, Fetches: 1, Waits: 1}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
	reserveOn(t, s, c, 20, 92) // over two blocks that meet
	reserveOn(t, s, c, 500, 112)
	if got, want := f.do(nil).asked, []reserved{{n: 100, seen: 1}, {n: 100, seen: 101}, {n: 600, seen: 201}}; !slices.Equal(got, want) {
		t.Errorf("the store was asked for %v, want %v", got, want)
	}
}

func TestSequenceOnBlockOfOne(t *testing.T) {
	f := new(file)
	c := &session{f: f}
	s := onConnection(t, counting.SequenceOptions{Block: 1})
	reserveOn(t, s, c, 3, 1)
	reserveOn(t, s, c, 1, 4)
	c.begin()
	reserveOn(t, s, c, 2, 5)
	c.rollback()
	reserveOn(t, s, c, 1, 5)
	if got := s.Stats().Left; got != 0 {
		t.Errorf("%d keys are kept", got)
	}
}

// TestSequenceOnInside: a transaction uses what is in hand; else it gets exactly
// what it needs, which a rollback gives back.
func TestSequenceOnInside(t *testing.T) {
	for _, tt := range []struct {
		name   string
		commit bool
		next   int64 // the key after the transaction
	}{
		{"commit", true, 24},
		{"rollback", false, 11},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := new(file)
			c := &session{f: f}
			s := onConnection(t, counting.SequenceOptions{Block: 10})
			reserveOn(t, s, c, 1, 1)
			c.begin()
			reserveOn(t, s, c, 2, 2)
			reserveOn(t, s, c, 12, 11) // 4 to 10 do not suffice, and would be out of order later
			reserveOn(t, s, c, 1, 23)
			if left := s.Stats().Left; left != 0 {
				t.Errorf("%d keys are kept", left)
			}
			c.end(tt.commit)
			reserveOn(t, s, c, 1, tt.next)
			reserveOn(t, s, c, 9, tt.next+1) // a block is kept, after a rollback too
			want := []reserved{{n: 10, seen: 1}, {n: 12, seen: 11}, {n: 1, seen: 11}, {n: 10, seen: 11}}
			if got := f.do(nil).asked; !slices.Equal(got, want) {
				t.Errorf("the store was asked for %v, want %v", got, want)
			}
		})
	}
}

// TestSequenceOnCommittedBlock: a block in hand serves transactions, whatever their end,
// even while the store is locked by another one.
func TestSequenceOnCommittedBlock(t *testing.T) {
	f := new(file)
	a, b := &session{f: f}, &session{f: f}
	s := onConnection(t, counting.SequenceOptions{Block: 10})
	reserveOn(t, s, a, 1, 1)
	a.begin()
	reserveOn(t, s, a, 2, 2)
	a.rollback()
	reserveOn(t, s, a, 1, 4) // 2 and 3 are a gap
	other := onConnection(t, counting.SequenceOptions{Block: 10})
	b.begin()
	reserveOn(t, other, b, 1, 11) // locks the store
	a.begin()
	reserveOn(t, s, a, 6, 5)
	refuseOn(t, s, a, 1, errBusy)
	b.rollback()
	reserveOn(t, s, a, 1, 11)
}

// TestSequenceOnSeveral: two reserve at once, and the answer to the first comes
// last.
func TestSequenceOnSeveral(t *testing.T) {
	for _, tt := range []struct {
		name  string
		open  bool // the second is in a transaction
		first int64
	}{
		{"outside", false, 12},
		{"the other inside", true, 1},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			f := new(file)
			slow, fast := &session{f: f, late: time.Second}, &session{f: f}
			s := onConnection(t, counting.SequenceOptions{Block: 10})
			answer := askOn(t.Context(), s, slow)
			if tt.open {
				fast.begin()
			}
			reserveOn(t, s, fast, 1, 11)
			if r := <-answer; r.first != tt.first {
				t.Errorf("%+v", r)
			}
			fast.commit()
			// 2 to 10 would be lower than a key that has been handed out.
			reserveOn(t, s, fast, 1, max(tt.first+1, 12))
		})
	}
	bubble(t, "in order", func(t *testing.T) {
		f := new(file)
		first, second := &session{f: f, late: time.Second}, &session{f: f, late: 2 * time.Second}
		s := onConnection(t, counting.SequenceOptions{Block: 10})
		a, b := askOn(t.Context(), s, first), askOn(t.Context(), s, second)
		if a, b := <-a, <-b; a.first != 1 || b.first != 2 {
			t.Errorf("%+v, %+v", a, b)
		}
		if left := s.Stats().Left; left != 18 {
			t.Errorf("%d keys are kept of 18", left)
		}
		reserveOn(t, s, first, 18, 3)
	})
}

func TestSequenceOnDriversErrors(t *testing.T) {
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprintf("open %t", open), func(t *testing.T) {
			f := newFile(fileState{err: errBusy})
			c := &session{f: f, open: open}
			s := onConnection(t, counting.SequenceOptions{})
			if _, err := s.ReserveOn(t.Context(), 1, c.at()); err != errBusy {
				t.Errorf("ReserveOn: %v, want the driver's error as it is", err)
			}
			if err := s.AdvanceOn(t.Context(), 5, c.at()); err != errBusy {
				t.Errorf("AdvanceOn: %v, want the driver's error as it is", err)
			}
			if st := s.Stats(); st.Err != errBusy || st.Fetches != 0 {
				t.Errorf("Stats() = %+v", st)
			}
			f.do(func(st *fileState) { st.err = nil })
			at := c.at()
			at.MaxKey = (&table{err: errBusy}).maxKey
			if _, err := s.ReserveOn(t.Context(), 1, at); err != errBusy {
				t.Errorf("ReserveOn: %v, want the driver's error of MaxKey as it is", err)
			}
			at.MaxKey = nil
			if first, err := s.ReserveOn(t.Context(), 1, at); err != nil || first < 5 {
				t.Errorf("ReserveOn = %d, %v", first, err)
			}
			if err := s.Stats().Err; err != nil {
				t.Errorf("Stats().Err = %v after an answer", err)
			}
		})
	}
}

func TestSequenceOnWithoutConnection(t *testing.T) {
	f := new(file)
	c := &session{f: f}
	s := onConnection(t, counting.SequenceOptions{Block: 10})
	refuse(t, s, 1, keysource.ErrNoConnection)
	refuse(t, s, 0, keysource.ErrCount)
	if _, err := s.Next(t.Context(), keysource.Request{N: 1}); !errors.Is(err, keysource.ErrNoConnection) {
		t.Errorf("Next: %v", err)
	}
	reserveOn(t, s, c, 1, 1)
	reserve(t, s, 8, 2) // what is in hand
	refuse(t, s, 2, keysource.ErrNoConnection)
	if err := s.Advance(t.Context(), 11); err != nil {
		t.Errorf("Advance in what is reserved: %v", err)
	}
	if err := s.Advance(t.Context(), 12); err != keysource.ErrNoConnection {
		t.Errorf("Advance: %v", err)
	}
	reserveOn(t, s, c, 1, 12) // it has not been forgotten
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	refuse(t, s, 1, keysource.ErrClosed)
	refuseOn(t, s, c, 1, keysource.ErrClosed)
	if err := s.AdvanceOn(t.Context(), 99, c.at()); err != keysource.ErrClosed {
		t.Errorf("AdvanceOn: %v", err)
	}
}

func TestSequenceOnIgnoresConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f := new(ledger), new(file)
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		c := &session{f: f}
		reserveOn(t, s, c, 1, 1)
		if err := s.AdvanceOn(t.Context(), 500, c.at()); err != nil {
			t.Error(err)
		}
		reserveOn(t, s, c, 1, 500)
		if st := f.do(nil); len(st.asked)+len(st.advanced) > 0 {
			t.Errorf("the connection was asked: %+v", st)
		}
	})
}

func TestSequenceOnExhaustion(t *testing.T) {
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprintf("the end, open %t", open), func(t *testing.T) {
			f := newFile(fileState{next: 99})
			c := &session{f: f, open: open}
			s := onConnection(t, counting.SequenceOptions{Block: 4, Max: 100})
			refuseOn(t, s, c, 3, keysource.ErrExhausted)
			c.rollback()
			reserveOn(t, s, c, 2, 99)
		})
		t.Run(fmt.Sprintf("open %t", open), func(t *testing.T) {
			f := newFile(fileState{next: 95})
			c := &session{f: f, open: open}
			s := onConnection(t, counting.SequenceOptions{Block: 4, Max: 100})
			refuseOn(t, s, c, 101, keysource.ErrExhausted)
			refuseOn(t, s, c, math.MaxInt64, keysource.ErrExhausted)
			reserveOn(t, s, c, 4, 95)
			reserveOn(t, s, c, 2, 99)
			refuseOn(t, s, c, 1, keysource.ErrExhausted)
			c.rollback()
			if open { // and there are some again
				reserveOn(t, s, c, 2, 95)
			}
		})
	}
	t.Run("the last of all", func(t *testing.T) {
		c := &session{f: newFile(fileState{next: math.MaxInt64 - 1})}
		s := onConnection(t, counting.SequenceOptions{Block: 1})
		reserveOn(t, s, c, 1, math.MaxInt64-1)
		refuseOn(t, s, c, 2, keysource.ErrExhausted)
	})
}

// TestSequenceOnLaws: no key is in a table twice, whatever is rolled back, and
// what each connection gets ascends.
func TestSequenceOnLaws(t *testing.T) {
	total := lawKeys(t)
	f := new(file)
	s := onConnection(t, counting.SequenceOptions{MaxBlock: 500})
	kept := make([]spans, 16)
	var wg sync.WaitGroup
	for i := range kept {
		wg.Go(func() {
			c := &session{f: f}
			r := rand.New(rand.NewPCG(1, uint64(i)))
			var last int64
			for stored := int64(0); stored < int64(total/len(kept)); {
				if r.IntN(4) == 0 {
					c.begin()
				}
				var drawn spans
				for range 1 + r.IntN(3) {
					n := 1 + r.Int64N(40)
					first, err := s.ReserveOn(t.Context(), n, c.at())
					switch {
					case errors.Is(err, errBusy):
						continue
					case err != nil:
						t.Error(err)
						return
					case first <= last && len(drawn) > 0:
						t.Errorf("%d after %d", first, last)
					}
					last = first + n - 1
					drawn = append(drawn, span{first, n})
				}
				if commit := !c.open || r.IntN(2) == 0; commit {
					kept[i] = append(kept[i], drawn...)
					for _, one := range drawn {
						stored += one.n
					}
					c.commit()
				} else {
					c.rollback()
				}
			}
		})
	}
	wg.Wait()
	slices.Concat(kept...).check(t, total/16*16, 63)
}
