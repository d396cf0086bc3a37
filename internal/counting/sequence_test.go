package counting_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

var _ keysource.Source = (*counting.Sequence)(nil)

func TestSequenceTraits(t *testing.T) {
	s := newSequence(t, new(ledger), counting.SequenceOptions{})
	want := keysource.Traits{Ordered: true, Contiguous: true, Integer: true}
	if got := s.Traits(); got != want {
		t.Errorf("Traits() = %+v, want %+v", got, want)
	}
}

func TestSequenceNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSequence(t, new(ledger), counting.SequenceOptions{})
		for _, tt := range []struct {
			request keysource.Request
			want    string // keys with their types
			err     error
		}{
			{keysource.Request{N: 1}, "int64 1", nil},
			{keysource.Request{N: 3}, "int64 2, int64 3, int64 4", nil},
			{keysource.Request{N: 2, Layout: str}, "string 5, string 6", nil},
			{keysource.Request{N: 1, Layout: bin}, "", keysource.ErrLayout},
			{keysource.Request{N: 1, Layout: atEnd}, "", keysource.ErrLayout},
			{keysource.Request{N: 0}, "", keysource.ErrCount},
			{keysource.Request{N: -1}, "", keysource.ErrCount},
			{keysource.Request{N: 1}, "int64 7", nil}, // a refused request draws nothing
		} {
			keys, err := s.Next(t.Context(), tt.request)
			var got []string
			for _, key := range keys {
				got = append(got, fmt.Sprintf("%T %v", key, key))
			}
			if text := strings.Join(got, ", "); text != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("Next(%+v) = %s, %v, want %s, %v", tt.request, text, err, tt.want, tt.err)
			}
		}
	})
}

func TestSequenceOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    counting.SequenceOptions
	}{
		{"no store", counting.SequenceOptions{}},
		{"two stores", counting.SequenceOptions{Reserver: new(ledger), OnConnection: true}},
		{"two tables", counting.SequenceOptions{MaxKey: new(table).maxKey, OnConnection: true}},
		{"max", counting.SequenceOptions{Reserver: new(ledger), Max: -1}},
		{"block", counting.SequenceOptions{Reserver: new(ledger), Block: -1}},
		{"least", counting.SequenceOptions{Reserver: new(ledger), MinBlock: -1}},
		{"most", counting.SequenceOptions{Reserver: new(ledger), MaxBlock: -1}},
		{"block and bounds", counting.SequenceOptions{Reserver: new(ledger), Block: 10, MaxBlock: 20}},
		{"bounds", counting.SequenceOptions{Reserver: new(ledger), MinBlock: 20, MaxBlock: 10}},
		{"behind", counting.SequenceOptions{Reserver: new(ledger), OnBehind: "shrug"}},
		{"back", counting.SequenceOptions{Reserver: new(ledger), OnStoreRollback: "shrug"}},
		{"back, on connections", counting.SequenceOptions{OnConnection: true, OnStoreRollback: keysource.RemedyWarn}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if s, err := counting.NewSequence(tt.o, keysource.Env{}); !errors.Is(err, keysource.ErrOptions) || s != nil {
				t.Errorf("NewSequence = %v, %v, want the error %v", s, err, keysource.ErrOptions)
			}
		})
	}
}

func TestSequenceDoesNoIOBeforeTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{MaxKey: func(context.Context) (int64, error) {
			t.Error("the table was asked")
			return 0, nil
		}})
		s.Stats()
		s.Drop()
		synctest.Wait()
		if l.calls() != 0 {
			t.Errorf("the store was asked %d times", l.calls())
		}
	})
}

func TestSequenceContiguousAcrossBlocks(t *testing.T) {
	bubble(t, "they meet", func(t *testing.T) {
		s := newSequence(t, new(ledger), counting.SequenceOptions{Block: 10})
		reserve(t, s, 7, 1)
		synctest.Wait()
		reserve(t, s, 5, 8)
		reserve(t, s, 1, 13)
	})
	bubble(t, "they do not", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		reserve(t, s, 1, 1)
		l.do(func(st *ledgerState) { st.next = 1001 }) // others reserve
		reserve(t, s, 6, 2)
		synctest.Wait()
		reserve(t, s, 5, 1001) // 8, 9 and 10 are a gap
		reserve(t, s, 1, 1006)
	})
	bubble(t, "small requests use up the rest", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		reserve(t, s, 1, 1)
		l.do(func(st *ledgerState) { st.next = 1001 })
		reserve(t, s, 7, 2)
		synctest.Wait()
		reserve(t, s, 2, 9)
		reserve(t, s, 2, 1001)
	})
}

func TestSequenceRequestLargerThanABlock(t *testing.T) {
	for _, tt := range []struct{ n, asked int64 }{{10, 10}, {11, 20}, {20, 20}, {95, 100}} {
		bubble(t, fmt.Sprint(tt.n), func(t *testing.T) {
			l := new(ledger)
			s := newSequence(t, l, counting.SequenceOptions{Block: 10})
			reserve(t, s, tt.n, 1)
			if got := l.state().reserved[0].n; got != tt.asked {
				t.Errorf("%d were reserved, want %d", got, tt.asked)
			}
		})
	}
	bubble(t, "with two blocks in hand", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		reserve(t, s, 3, 1)
		synctest.Wait() // 11 to 20 are in hand too
		l.do(func(st *ledgerState) { st.next = 1001 })
		reserve(t, s, 30, 1001)
		reserve(t, s, 1, 1031)
	})
	bubble(t, "that meet", func(t *testing.T) {
		s := newSequence(t, new(ledger), counting.SequenceOptions{Block: 10})
		reserve(t, s, 3, 1)
		synctest.Wait()
		reserve(t, s, 30, 4)
		reserve(t, s, 1, 34)
	})
}

func TestSequenceExhaustion(t *testing.T) {
	const max31 = 1<<31 - 1
	bubble(t, "the last key", func(t *testing.T) {
		l := newLedger(ledgerState{next: max31 - 9})
		s := newSequence(t, l, counting.SequenceOptions{Block: 7, Max: max31})
		reserve(t, s, 7, max31-9)
		synctest.Wait()
		refuse(t, s, 4, keysource.ErrExhausted)
		reserve(t, s, 2, max31-2)
		reserve(t, s, 1, max31)
		_, err := s.Reserve(t.Context(), 1)
		if !errors.Is(err, keysource.ErrExhausted) || !strings.Contains(err.Error(), "2147483647") {
			t.Errorf("Reserve after the last key: %v", err)
		}
		if st := s.Stats(); st.Left != 0 || st.Next != 0 {
			t.Errorf("Stats() = %+v", st)
		}
		calls := l.calls()
		refuse(t, s, 1, keysource.ErrExhausted)
		synctest.Wait()
		if l.calls() != calls {
			t.Error("the store is asked again and again")
		}
	})
	bubble(t, "the last of 64 bits", func(t *testing.T) {
		l := newLedger(ledgerState{next: math.MaxInt64 - 2})
		s := newSequence(t, l, counting.SequenceOptions{Block: 3})
		reserve(t, s, 2, math.MaxInt64-2)
		reserve(t, s, 1, math.MaxInt64)
		refuse(t, s, 1, keysource.ErrExhausted)
	})
}

func TestSequenceExhaustionElsewhere(t *testing.T) {
	bubble(t, "others were faster", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 1, Max: 100})
		reserve(t, s, 1, 1)
		l.do(func(st *ledgerState) { st.next = 101 })
		refuse(t, s, 1, keysource.ErrExhausted)
	})
	bubble(t, "more than there ever were", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Max: 100})
		refuse(t, s, 101, keysource.ErrExhausted)
		if l.calls() != 0 {
			t.Error("the store was asked")
		}
		reserve(t, s, 100, 1)
	})
	bubble(t, "the store says so", func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{})
		l.do(func(st *ledgerState) { st.err = fmt.Errorf("store: %w", keysource.ErrExhausted) })
		refuse(t, s, 1, keysource.ErrExhausted)
	})
	bubble(t, "one that waits fits and one does not", func(t *testing.T) {
		l := newLedger(ledgerState{takes: time.Second / 2})
		s := newSequence(t, l, counting.SequenceOptions{Max: 100})
		large, small := ask(t.Context(), s, 90), ask(t.Context(), s, 11)
		last := ask(t.Context(), s, 10)
		if r := <-large; r.err != nil || r.first != 1 {
			t.Errorf("90 keys: %+v", r)
		}
		if r := <-small; !errors.Is(r.err, keysource.ErrExhausted) {
			t.Errorf("11 keys: %+v", r)
		}
		if r := <-last; r.err != nil || r.first != 91 {
			t.Errorf("10 keys: %+v", r)
		}
	})
}

// The store must not overflow, and others want some too.
func TestSequenceReservesNoMoreThanIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 60, Max: 100})
		reserve(t, s, 60, 1)
		reserve(t, s, 1, 61)
		if got := l.state().reserved[1].n; got != 40 {
			t.Errorf("%d were reserved, want 40", got)
		}
	})
}

// counted returns the counts of a source, without what was measured.
func counted(s *counting.Sequence) counting.SequenceStats {
	all := s.Stats()
	return counting.SequenceStats{Next: all.Next, Left: all.Left, Fetches: all.Fetches, Waits: all.Waits, Behind: all.Behind, Err: all.Err}
}

func TestSequenceStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(ledger)
		s := newSequence(t, l, counting.SequenceOptions{Block: 10})
		check := func(want counting.SequenceStats) {
			t.Helper()
			synctest.Wait()
			if got := counted(s); got != want {
				t.Errorf("Stats() = %+v, want %+v", got, want)
			}
		}
		check(counting.SequenceStats{})
		reserve(t, s, 1, 1)
		check(counting.SequenceStats{Next: 2, Left: 9, Fetches: 1, Waits: 1})
		reserve(t, s, 2, 2)
		check(counting.SequenceStats{Next: 4, Left: 17, Fetches: 2, Waits: 1})
		reserve(t, s, 7, 4)
		check(counting.SequenceStats{Next: 11, Left: 10, Fetches: 2, Waits: 1})
		s.Drop()
		check(counting.SequenceStats{Fetches: 2, Waits: 1})
		l.do(func(st *ledgerState) { st.err = errRefused })
		<-ask(t.Context(), s, 1)
		check(counting.SequenceStats{Fetches: 2, Waits: 2, Err: errRefused})
	})
}

func TestSequenceFastPathAllocatesNothing(t *testing.T) {
	s := newSequence(t, new(ledger), counting.SequenceOptions{Block: 1_000_000})
	reserve(t, s, 300_000, 1) // the next block is fetched from here on
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() { _, _ = s.Reserve(ctx, 1) }); n != 0 {
		t.Errorf("Reserve allocates %v times", n)
	}
	// The slice, and the integer in it.
	if n := testing.AllocsPerRun(1000, func() { _, _ = s.Next(ctx, keysource.Request{N: 1}) }); n > 2 {
		t.Errorf("Next allocates %v times", n)
	}
}

func TestSequenceClose(t *testing.T) {
	bubble(t, "ends the fetch and those who wait", func(t *testing.T) {
		l := newLedger(ledgerState{silent: true})
		s := newSequence(t, l, counting.SequenceOptions{})
		waits := ask(t.Context(), s, 1)
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if r := <-waits; !errors.Is(r.err, keysource.ErrClosed) || r.after != 0 {
			t.Errorf("the request that waited: %+v", r)
		}
		if l.state().inFlight != 0 {
			t.Error("the fetch goes on")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close again: %v", err)
		}
	})
	bubble(t, "gives up what is in hand", func(t *testing.T) {
		s := newSequence(t, new(ledger), counting.SequenceOptions{})
		reserve(t, s, 1, 1)
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		refuse(t, s, 1, keysource.ErrClosed)
		if err := s.Advance(t.Context(), 1000); !errors.Is(err, keysource.ErrClosed) {
			t.Errorf("Advance: %v", err)
		}
		if st := s.Stats(); st.Left != 0 {
			t.Errorf("Stats() = %+v", st)
		}
	})
	bubble(t, "between two attempts", func(t *testing.T) {
		l := newLedger(ledgerState{err: errRefused})
		s := newSequence(t, l, counting.SequenceOptions{})
		waits := ask(t.Context(), s, 1)
		began := time.Now()
		if err := s.Close(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("Close: %v after %s", err, time.Since(began))
		}
		<-waits
	})
}

func TestSequenceCloseWaitsForTheFetch(t *testing.T) {
	bubble(t, "until the context ends", func(t *testing.T) {
		release := make(chan struct{})
		s, err := counting.NewSequence(counting.SequenceOptions{Reserver: stubborn(release)}, keysource.Env{})
		if err != nil {
			t.Fatal(err)
		}
		waits := ask(t.Context(), s, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		close(release)
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-waits
		if st := s.Stats(); st.Left != 0 {
			t.Errorf("what came too late is kept: %+v", st)
		}
	})
}

// stubborn is a store that does not heed contexts.
type stubborn chan struct{}

func (s stubborn) Reserve(context.Context, int64, int64) (keysource.Reservation, error) {
	<-s
	return keysource.Reservation{First: 1}, nil
}

func (s stubborn) Advance(context.Context, int64) error { return nil }
