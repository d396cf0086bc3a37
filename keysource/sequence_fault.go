package keysource

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// probeInterval is how often a store that has gone back is asked whether it has
// been set right.
const probeInterval = time.Second

// errUnsteady is the failure of an attempt in which the store was another one,
// or stood lower, from one call to the next. The next attempt begins anew.
var errUnsteady = errors.New("the store has changed again")

// answer is what an attempt ended in.
type answer struct {
	Reservation       // good if err is nil
	behind      int64 // how far the store stood below the keys in use, at first
	err         error
	late        bool  // the attempt was given up
	fault       bool  // err says that the store must not be used as it stands
	inUse       int64 // with fault: the end of the keys in use
}

// reserve asks the store for what a says. Where a has doubts, or the answer
// raises some, the table is asked first and the store after it: what is in the
// table then had been reserved before, so that a store in order answers above
// it, however fast other processes are. Before that, what is in hand is given
// up.
func (s *Sequence) reserve(ctx context.Context, a ask) answer {
	if a.least > a.seen {
		// An Advance has not reached the store yet.
		if err := s.reserver.Advance(ctx, a.least); err != nil {
			return answer{err: err}
		}
		a.seen = a.least
	}
	server, look := a.server, a.doubt
	for range 3 { // as it is, compared, and compared with another server's table
		inUse := a.seen
		if look {
			var err error
			if inUse, err = s.inUse(ctx, a.seen); err != nil {
				return answer{err: err}
			}
		}
		r, err := s.reserver.Reserve(ctx, a.n, inUse)
		switch {
		case err != nil:
			return answer{err: err}
		case server != "" && r.Server != "" && r.Server != server:
			server = r.Server
		case r.First >= inUse:
			return good(r)
		case look:
			return s.remedy(ctx, a, r, inUse)
		}
		look = true
		s.mu.Lock()
		s.giveUp()
		s.mu.Unlock()
	}
	return answer{err: errUnsteady}
}

// inUse returns the end of the keys that are known to be in use.
func (s *Sequence) inUse(ctx context.Context, seen int64) (int64, error) {
	if s.maxKey == nil {
		return seen, nil
	}
	key, err := s.maxKey(ctx)
	if err != nil {
		return 0, fmt.Errorf("the greatest key: %w", err)
	}
	return max(seen, after(key, 1)), nil
}

// remedy does what the options say about a store that stands at low, below
// inUse.
func (s *Sequence) remedy(ctx context.Context, a ask, low Reservation, inUse int64) answer {
	cause, remedy := ErrStoreBack, s.onBack
	if !a.greeted {
		cause, remedy = ErrStoreBehind, s.onBehind
	}
	least := inUse
	switch remedy {
	case RemedyAdvance:
		if err := s.reserver.Advance(ctx, inUse); err != nil {
			return answer{err: err}
		}
	case RemedyWarn:
		least = a.seen
	default:
		err := fmt.Errorf("%w: set it above the keys in use, or let it advance", cause)
		return answer{err: err, fault: true, inUse: inUse}
	}
	r, err := s.reserver.Reserve(ctx, a.n, least)
	switch {
	case err != nil:
		return answer{err: err}
	case r.First < least || r.Server != low.Server:
		return answer{err: errUnsteady}
	}
	got := good(r)
	if !a.greeted {
		got.behind = inUse - low.First
	}
	return got
}

// good returns the answer for a reservation with which nothing is wrong, unless
// it has integers that are no keys.
func good(r Reservation) answer {
	if r.First < 1 {
		return answer{err: fmt.Errorf("%w: it stands below 1", ErrStoreState)}
	}
	return answer{Reservation: r}
}

// probeDue reports whether a store that has gone back may be asked again. A
// clock that was set back makes it so. The caller holds mu.
func (s *Sequence) probeDue() bool {
	d := s.now().Sub(s.probed)
	return d < 0 || d >= probeInterval
}
