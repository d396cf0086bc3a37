package counting_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// errRefused is what a store gives that is down.
var errRefused = errors.New("dial tcp: connection refused")

// ledger is a store in memory. Once it is in use a test changes and reads its
// state by do.
type ledger struct {
	mu sync.Mutex
	ledgerState
}

type ledgerState struct {
	next     int64 // 0 is 1
	server   string
	takes    time.Duration // how long a call takes
	err      error         // what calls fail with
	silent   bool          // calls last until their context ends
	reserved []reserved
	advanced []int64
	inFlight int
	crowd    int // the most calls that were in flight at a time
}

// reserved is a call of Reserve.
type reserved struct {
	n, seen int64
	at      time.Time
}

func newLedger(st ledgerState) *ledger { return &ledger{ledgerState: st} }

// do changes the state, if f is not nil, and returns it.
func (l *ledger) do(f func(*ledgerState)) ledgerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f != nil {
		f(&l.ledgerState)
	}
	return l.ledgerState
}

// state returns the state.
func (l *ledger) state() ledgerState { return l.do(nil) }

// call is what a call does before it touches the state; it returns with mu.
func (l *ledger) call(ctx context.Context) error {
	l.mu.Lock()
	l.inFlight++
	l.crowd = max(l.crowd, l.inFlight)
	takes, silent := l.takes, l.silent
	l.mu.Unlock()
	if silent {
		<-ctx.Done()
	} else if takes > 0 {
		t := time.NewTimer(takes)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
	l.mu.Lock()
	l.inFlight--
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.err
}

func (l *ledger) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	at := time.Now()
	err := l.call(ctx)
	defer l.mu.Unlock()
	l.reserved = append(l.reserved, reserved{n, seen, at})
	if err != nil {
		return keysource.Reservation{}, err
	}
	if l.next == 0 {
		l.next = 1
	}
	first := l.next
	if first >= seen {
		l.next += n
	}
	return keysource.Reservation{First: first, Server: l.server}, nil
}

func (l *ledger) Advance(ctx context.Context, to int64) error {
	err := l.call(ctx)
	defer l.mu.Unlock()
	if err == nil {
		l.advanced = append(l.advanced, to)
		l.next = max(l.next, to)
	}
	return err
}

// calls returns how often Reserve was called.
func (l *ledger) calls() int { return len(l.state().reserved) }

// newSequence returns a sequence that counts through l, for use in a bubble.
func newSequence(t testing.TB, l *ledger, o counting.SequenceOptions) *counting.Sequence {
	t.Helper()
	o.Reserver = l
	s, err := counting.NewSequence(o, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// reserve draws n keys and checks the first.
func reserve(t testing.TB, s *counting.Sequence, n, want int64) {
	t.Helper()
	if first, err := s.Reserve(t.Context(), n); err != nil || first != want {
		t.Fatalf("Reserve(%d) = %d, %v, want %d", n, first, err, want)
	}
}

// refuse asks for a key and checks the error.
func refuse(t testing.TB, s *counting.Sequence, n int64, want error) {
	t.Helper()
	if first, err := s.Reserve(t.Context(), n); !errors.Is(err, want) {
		t.Fatalf("Reserve(%d) = %d, %v, want the error %v", n, first, err, want)
	}
}

// result is what a call of Reserve has returned.
type result struct {
	first int64
	err   error
	after time.Duration
}

// ask calls Reserve in a goroutine of its own and returns when that waits or
// has ended.
func ask(ctx context.Context, s *counting.Sequence, n int64) <-chan result {
	c := make(chan result, 1)
	go func() {
		began := time.Now()
		first, err := s.Reserve(ctx, n)
		c <- result{first, err, time.Since(began)}
	}()
	synctest.Wait()
	return c
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
