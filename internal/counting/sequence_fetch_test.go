package counting_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

func TestSequencePrefetch(t *testing.T) {
	bubble(t, "at a quarter", func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 2})
		s := newSequence(t, l, counting.SequenceOptions{Block: 100})
		reserve(t, s, 24, 1)
		synctest.Wait()
		if l.calls() != 1 || l.state().inFlight != 0 {
			t.Fatalf("fetched when less than a quarter is used")
		}
		reserve(t, s, 1, 25)
		synctest.Wait()
		if l.state().inFlight != 1 {
			t.Fatalf("not fetched when a quarter is used")
		}
		began := time.Now()
		reserve(t, s, 75, 26)
		if took := time.Since(began); took != 0 {
			t.Errorf("what is in hand is handed out after %s", took)
		}
		time.Sleep(time.Second)
		began = time.Now()
		reserve(t, s, 1, 101)
		if took := time.Since(began); took != 0 {
			t.Errorf("the fetched block is handed out after %s", took)
		}
	})
	bubble(t, "no more than one block ahead", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 100})
		reserve(t, s, 50, 1)
		synctest.Wait()
		reserve(t, s, 49, 51)
		synctest.Wait()
		if l.calls() != 2 {
			t.Errorf("%d blocks were fetched, want 2", l.calls())
		}
	})
}

func TestSequenceOneFetchHoweverManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 2})
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		var waits []<-chan result
		for range 100 {
			waits = append(waits, ask(t.Context(), s, 3))
		}
		var firsts []int64
		for _, c := range waits {
			r := <-c
			if r.err != nil {
				t.Fatal(r.err)
			}
			firsts = append(firsts, r.first)
		}
		if l.state().crowd != 1 {
			t.Errorf("%d fetches were in flight at a time", l.state().crowd)
		}
		// The first was for one request, the second for all others.
		if l.state().reserved[0].n != 10 || l.state().reserved[1].n != 300 {
			t.Errorf("the store was asked for %+v", l.state().reserved)
		}
		if !slices.IsSorted(firsts) {
			t.Errorf("not in order of arrival: %v", firsts)
		}
	})
}

func TestSequenceCancelledRequestFailsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 2})
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(ctx, s, 4) // the fetch begins for it
		second := ask(t.Context(), s, 4)
		cancel()
		if r := <-first; !errors.Is(r.err, context.Canceled) || r.after != 0 {
			t.Errorf("the request that was given up: %+v", r)
		}
		if r := <-second; r.err != nil || r.first != 1 {
			t.Errorf("the other one: %+v", r)
		}
		if l.calls() != 1 {
			t.Errorf("the store was asked %d times", l.calls())
		}
	})
}

func TestSequenceContextThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequence(t, newLedger(ledgerState{takes: time.Second / 2}), counting.SequenceOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Reserve(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("without a block: %v", err)
		}
		reserve(t, s, 1, 1)
		// What is in hand costs no wait.
		if first, err := s.Reserve(ctx, 1); err != nil || first != 2 {
			t.Errorf("with a block: %d, %v", first, err)
		}
	})
}

func TestSequenceHoldsNoLockOverARoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 100})
		reserve(t, s, 2, 1)
		l.do(func(st *ledgerState) { st.silent = true })
		waits := ask(t.Context(), s, 200)
		for i := range int64(5) {
			reserve(t, s, 1, 3+i)
		}
		if st := s.Stats(); st.Left != 93 {
			t.Errorf("Stats() = %+v", st)
		}
		s.Drop()
		if err := s.Advance(t.Context(), 5); err != nil {
			t.Error(err)
		}
		l.do(func(st *ledgerState) { st.silent = false })
		<-waits
	})
}

func TestSequenceBlockSize(t *testing.T) {
	// use uses up blocks of a sequence, each in the time given, and returns
	// what the store was asked for.
	use := func(t *testing.T, o counting.SequenceOptions, each ...time.Duration) []int64 {
		l := new(ledger)
		s := newSequence(t, l, o)
		reserve(t, s, 1, 1)
		for _, d := range each {
			time.Sleep(d)
			// The rest of the block, in the course of which the next one is
			// fetched, and one of that.
			for range s.InHand() + 1 {
				if _, err := s.Reserve(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		var asked []int64
		for _, r := range l.state().reserved {
			asked = append(asked, r.n)
		}
		return asked
	}
	const fast, fit, slow = time.Second, 15 * time.Second, time.Minute
	for _, tt := range []struct {
		name string
		o    counting.SequenceOptions
		each []time.Duration
		want []int64
	}{
		{"doubles", counting.SequenceOptions{}, []time.Duration{fast, fast, fast}, []int64{100, 100, 200, 400}},
		{"stays", counting.SequenceOptions{}, []time.Duration{fit, fit}, []int64{100, 100, 100}},
		{"halves", counting.SequenceOptions{}, []time.Duration{slow, slow, slow}, []int64{100, 100, 50, 25}},
		{"at most", counting.SequenceOptions{MaxBlock: 150}, []time.Duration{fast, fast, fast}, []int64{100, 100, 150, 150}},
		{"at least", counting.SequenceOptions{MinBlock: 40}, []time.Duration{slow, slow, slow}, []int64{100, 100, 50, 40}},
		{"small", counting.SequenceOptions{MaxBlock: 40}, []time.Duration{fast}, []int64{40, 40}},
		{"large", counting.SequenceOptions{MinBlock: 400}, []time.Duration{slow}, []int64{400, 400}},
		{"fixed", counting.SequenceOptions{Block: 100}, []time.Duration{fast, fast, slow}, []int64{100, 100, 100, 100}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			if got := use(t, tt.o, tt.each...); !slices.Equal(got, tt.want) {
				t.Errorf("blocks of %v, want %v", got, tt.want)
			}
		})
	}
}

// A clock that is set back says nothing about how long a block has lasted.
func TestSequenceBlockSizeClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, clock := new(ledger), newSetClock(instant)
		s, err := counting.NewSequence(counting.SequenceOptions{Reserver: l}, clock.env())
		if err != nil {
			t.Fatal(err)
		}
		for first := int64(1); first < 1000; first += 100 {
			reserve(t, s, 100, first)
			synctest.Wait()
			clock.set(clock.now().Add(-24 * time.Hour))
		}
		for _, r := range l.state().reserved {
			if r.n != 100 {
				t.Fatalf("the store was asked for %+v", l.state().reserved)
			}
		}
	})
}

// Of block 1 nothing is kept: no key is older than the request that gets it.
func TestSequenceBlockOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 2})
		s := newSequence(t, l, counting.SequenceOptions{Block: 1})
		reserve(t, s, 3, 1)
		synctest.Wait()
		if st := s.Stats(); st.Left != 0 || l.state().reserved[0].n != 3 || l.state().inFlight != 0 {
			t.Errorf("after a request: %+v, %+v", st, l.state().reserved)
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := ask(ctx, s, 2)
		time.Sleep(time.Second / 4)
		late := ask(t.Context(), s, 2) // waits for a fetch of its own
		cancel()
		<-first
		if r := <-late; r.err != nil || r.first != 6 {
			t.Errorf("the late request: %+v, want 6, as 4 and 5 are older than it", r)
		}
	})
}

func TestSequenceStoreDown(t *testing.T) {
	bubble(t, "what is reserved is handed out", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 100})
		reserve(t, s, 10, 1)
		l.do(func(st *ledgerState) { st.err = errRefused })
		for first := int64(11); first <= 100; first++ {
			reserve(t, s, 1, first)
			time.Sleep(time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r := <-ask(ctx, s, 1)
		if !errors.Is(r.err, keysource.ErrStoreDown) || !errors.Is(r.err, context.DeadlineExceeded) ||
			!strings.Contains(r.err.Error(), "refused") {
			t.Errorf("the error is %v", r.err)
		}
		if r.after != 3*time.Second {
			t.Errorf("the error comes after %s", r.after)
		}
	})
	bubble(t, "without a deadline", func(t *testing.T) {
		s := newSequence(t, newLedger(ledgerState{err: errRefused}), counting.SequenceOptions{})
		r := <-ask(context.Background(), s, 1)
		if !errors.Is(r.err, keysource.ErrStoreDown) || r.after != 10*time.Second {
			t.Errorf("%v after %s", r.err, r.after)
		}
	})
	// database/sql would take the statement's connection for a bad one, and
	// send the statement again.
	bubble(t, "its error is not the driver's", func(t *testing.T) {
		l := newLedger(ledgerState{err: fmt.Errorf("store: %w", driver.ErrBadConn)})
		s := newSequence(t, l, counting.SequenceOptions{})
		if r := <-ask(t.Context(), s, 1); errors.Is(r.err, driver.ErrBadConn) {
			t.Errorf("%v is driver.ErrBadConn", r.err)
		}
		if err := s.Advance(t.Context(), 10); errors.Is(err, driver.ErrBadConn) || !errors.Is(err, keysource.ErrStoreDown) {
			t.Errorf("Advance: %v", err)
		}
	})
}

func TestSequenceStoreIsFoundBack(t *testing.T) {
	for _, outage := range []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour} {
		bubble(t, "found back after "+outage.String(), func(t *testing.T) {
			l := newLedger(ledgerState{err: errRefused, takes: 10 * time.Millisecond})
			s := newSequence(t, l, counting.SequenceOptions{})
			stop := time.Now().Add(outage)
			for time.Now().Before(stop) {
				ctx, cancel := context.WithDeadline(t.Context(), stop)
				_, err := s.Reserve(ctx, 1)
				cancel()
				if !errors.Is(err, keysource.ErrStoreDown) && !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
			}
			l.do(func(st *ledgerState) { st.err = nil })
			if r := <-ask(t.Context(), s, 1); r.err != nil || r.after > 2*time.Second {
				t.Errorf("%v after %s", r.err, r.after)
			}
		})
	}
	bubble(t, "it is asked at growing intervals", func(t *testing.T) {
		l := newLedger(ledgerState{err: errRefused})
		s := newSequence(t, l, counting.SequenceOptions{})
		<-ask(t.Context(), s, 1)
		var got []time.Duration
		for i := range l.state().reserved[1:] {
			got = append(got, l.state().reserved[i+1].at.Sub(l.state().reserved[i].at))
		}
		const ms = time.Millisecond
		want := []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second}
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("intervals of %v, want %v", got, want)
		}
	})
	bubble(t, "nobody wants anything", func(t *testing.T) {
		l := newLedger(ledgerState{err: errRefused})
		s := newSequence(t, l, counting.SequenceOptions{})
		<-ask(t.Context(), s, 1)
		time.Sleep(2 * time.Second)
		calls := l.calls()
		time.Sleep(time.Hour)
		if l.calls() != calls {
			t.Errorf("it was asked %d times more", l.calls()-calls)
		}
	})
}

// A store that says nothing is given up, but never so soon that one which is
// merely slow cannot answer.
func TestSequenceSilentStore(t *testing.T) {
	bubble(t, "limits", func(t *testing.T) {
		l := newLedger(ledgerState{silent: true})
		s := newSequence(t, l, counting.SequenceOptions{Block: 100})
		for range 10 {
			<-ask(t.Context(), s, 1)
		}
		var got []time.Duration
		for i := range l.state().reserved[1:] {
			got = append(got, l.state().reserved[i+1].at.Sub(l.state().reserved[i].at).Truncate(time.Second))
		}
		want := []time.Duration{1, 2, 4, 8, 8, 9}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(got[:len(want)], want) {
			t.Errorf("attempts of %v, want %v", got, want)
		}
	})
	bubble(t, "slow", func(t *testing.T) {
		l := newLedger(ledgerState{takes: 3500 * time.Millisecond})
		s := newSequence(t, l, counting.SequenceOptions{Block: 100})
		if r := <-ask(t.Context(), s, 1); r.err != nil || r.after > 7*time.Second {
			t.Errorf("%v after %s", r.err, r.after)
		}
		// Now it is known to be slow.
		if r := <-ask(t.Context(), s, 100); r.err != nil || r.after > 3500*time.Millisecond {
			t.Errorf("%v after %s", r.err, r.after)
		}
	})
	bubble(t, "what comes too late is not kept", func(t *testing.T) {
		l := newLedger(ledgerState{silent: true})
		s := newSequence(t, l, counting.SequenceOptions{Block: 100})
		waits := ask(t.Context(), s, 1)
		time.Sleep(1010 * time.Millisecond)
		l.do(func(st *ledgerState) { st.silent, st.next = false, 101 }) // 1 to 100 were reserved
		if r := <-waits; r.err != nil || r.first != 101 {
			t.Errorf("%+v", r)
		}
	})
}

func TestSequenceStoreStateIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 4})
		reserve(t, s, 2, 1)
		synctest.Wait()
		missing := fmt.Errorf("store: no row: %w", keysource.ErrStoreState)
		l.do(func(st *ledgerState) { st.err = missing })
		reserve(t, s, 6, 3) // what is in hand is handed out
		for range 2 {
			if r := <-ask(t.Context(), s, 1); r.err != missing || r.after != 0 {
				t.Errorf("%v after %s", r.err, r.after)
			}
		}
		l.do(func(st *ledgerState) { st.err = nil })
		reserve(t, s, 1, 9)
	})
}

// TestSequenceRefusedStoreIsAskedOnceInAWhile: where the store's engine refuses, not
// every request asks it.
func TestSequenceRefusedStoreIsAskedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := fmt.Errorf("store: no such table: %w, %w", keysource.ErrStoreState, keysource.ErrStoreRefused)
		l := newLedger(ledgerState{err: refused})
		s := newSequence(t, l, counting.SequenceOptions{Block: 4})
		for range 100 {
			if r := <-ask(t.Context(), s, 1); r.err != refused || r.after != 0 {
				t.Errorf("%v after %s", r.err, r.after)
			}
		}
		if got := len(l.do(func(*ledgerState) {}).reserved); got != 1 {
			t.Errorf("the store was asked %d times, want once", got)
		}
		l.do(func(st *ledgerState) { st.err = nil })
		time.Sleep(time.Second)
		reserve(t, s, 1, 1)
	})
}

// TestStoreWaitSlow: a source that waits long for its store gives an attempt up late:
// what a slow store reserves for an attempt that was given up is a gap.
func TestStoreWaitSlow(t *testing.T) {
	for _, c := range []struct {
		wait, takes time.Duration
		asked       int
	}{
		{0, 900 * time.Millisecond, 1},
		{0, 1100 * time.Millisecond, 2},
		{3 * time.Second, 900 * time.Millisecond, 1},
		{time.Minute, 5900 * time.Millisecond, 1},
		{time.Minute, 6100 * time.Millisecond, 2},
		{24 * time.Hour, 7900 * time.Millisecond, 1},
	} {
		bubble(t, fmt.Sprintf("%s of %s", c.takes, c.wait), func(t *testing.T) {
			l := newLedger(ledgerState{takes: c.takes})
			s, err := counting.NewSequence(counting.SequenceOptions{Reserver: l, Block: 1}, keysource.Env{StoreWait: c.wait})
			if err != nil {
				t.Fatal(err)
			}
			reserve(t, s, 1, 1)
			if got := l.calls(); got != c.asked {
				t.Errorf("the sequence asked %d times, want %d", got, c.asked)
			}

			m := &slowMemory{memory: newMemory(100), takes: c.takes}
			r, err := counting.NewRecycled(counting.RecycledOptions{Store: m, Size: m.size, Block: 1}, keysource.Env{StoreWait: c.wait})
			if err != nil {
				t.Fatal(err)
			}
			takes(t, r, 1, 1)
			if got := m.opened; got != c.asked {
				t.Errorf("the recycled series asked %d times, want %d", got, c.asked)
			}
			if err := errors.Join(s.Close(t.Context()), r.Close(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

// slowMemory takes time to open a series.
type slowMemory struct {
	*memory
	takes  time.Duration
	opened int // how often it was asked; one fetch is in flight at a time
}

func (m *slowMemory) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	m.opened++
	select {
	case <-ctx.Done():
		return keysource.Series{}, ctx.Err()
	case <-time.After(m.takes):
	}
	return m.memory.Open(ctx, seen)
}

// TestStoreWait: a store that does not answer is waited for up to Env.StoreWait.
func TestStoreWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(ledgerState{err: errRefused})
		s, err := counting.NewSequence(counting.SequenceOptions{Reserver: l}, keysource.Env{StoreWait: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if r := <-ask(t.Context(), s, 1); !errors.Is(r.err, keysource.ErrStoreDown) || r.after != 3*time.Second {
			t.Errorf("%v after %s, want %v after 3s", r.err, r.after, keysource.ErrStoreDown)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
