package keysource

import (
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// probeInterval is how often a store that has gone back, or whose engine refuses, is
// asked whether it has been set right.
const probeInterval = time.Second

// errUnsteady is the failure of an attempt in which the store was another one,
// or stood lower, from one call to the next. The next attempt begins anew.
var errUnsteady = errors.New("the store has changed again")

// answer is the outcome of an attempt.
type answer struct {
	Reservation       // good if err is nil
	behind      int64 // how far the store stood below the keys in use, at first
	err         error
	moved       bool // the remedy has moved the store
	back        bool // the store stands lower than before, and is followed there
	late        bool // the attempt was given up
	fault       bool // whether err means that the store must not be used as it stands
}

// reserve asks the store. Where a has doubts, or the answer raises some, the
// table is asked first and the store after it: the keys in the table had been
// reserved before, so that a store in order answers above them, however fast
// other processes are. Before that, the integers in hand are given up.
func (a *ask) reserve(ctx context.Context) answer {
	if err := a.catchUp(ctx); err != nil {
		return answer{err: err}
	}
	if a.src.onBack == RemedyWarn {
		return a.reserveAnyway(ctx)
	}
	server, look := a.server, a.doubt
	for range 3 { // as it is, compared, and compared with another server's table
		inUse := a.seen
		if look {
			var err error
			if inUse, err = a.inUse(ctx); err != nil {
				return answer{err: err}
			}
		}
		r, err := a.reserver.Reserve(ctx, a.n, inUse)
		switch {
		case err != nil:
			return answer{err: err}
		case r.Apart:
			return good(r) // a lower answer than others got means nothing
		case server != "" && r.Server != "" && r.Server != server:
			server = r.Server
		case r.First >= inUse:
			return good(r)
		case look:
			return a.remedy(ctx, r, inUse)
		}
		look = true
		a.distrust()
	}
	return answer{err: errUnsteady}
}

// reserveAnyway is reserve for a store that is followed wherever it stands. Where there
// are doubts, the table is asked, and before the store, as in reserve. An answer that
// raises some is good, and the next attempt asks.
func (a *ask) reserveAnyway(ctx context.Context) answer {
	inUse := int64(0)
	if a.doubt && a.maxKey != nil {
		key, err := a.maxKey(ctx)
		if err != nil {
			return answer{err: err}
		}
		inUse = after(key, 1)
	}
	r, err := a.reserver.Reserve(ctx, a.n, 0)
	if err != nil {
		return answer{err: err}
	}
	got := good(r)
	if got.err != nil || r.Apart {
		return got
	}
	if got.back = r.First < a.seen || a.server != "" && r.Server != "" && r.Server != a.server; got.back {
		a.distrust()
	}
	switch {
	case r.First >= inUse:
		return got
	case !a.greeted && !got.back && a.src.onBehind != RemedyWarn:
		return a.remedy(ctx, r, inUse)
	}
	got.behind = inUse - r.First
	a.src.warn(ctx)
	return got
}

// distrust gives up the integers in hand, and the integers that others are
// being given.
func (a *ask) distrust() {
	a.src.mu.Lock()
	defer a.src.mu.Unlock()
	a.src.giveUp()
	a.drops = a.src.drops // but not this ask's own integers
}

// catchUp brings to the store an Advance that has not reached it.
func (a *ask) catchUp(ctx context.Context) error {
	if a.least <= a.seen {
		return nil
	}
	if err := a.reserver.Advance(ctx, a.least); err != nil {
		return err
	}
	a.seen = a.least
	return nil
}

// greatest calls MaxKey of the options. Its error names the greatest key, since it
// becomes part of the text of [ErrStoreDown].
func greatest(maxKey func(context.Context) (int64, error)) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		key, err := maxKey(ctx)
		if err != nil {
			return 0, anchor.Endf("the greatest key: %w", err)
		}
		return key, nil
	}
}

// inUse returns the end of the keys that are known to be in use.
func (a *ask) inUse(ctx context.Context) (int64, error) {
	if a.maxKey == nil {
		return a.seen, nil
	}
	key, err := a.maxKey(ctx)
	if err != nil {
		return 0, err
	}
	return max(a.seen, after(key, 1)), nil
}

// standsAt returns the error of a store that stands at low, below least. raise is as in
// [SequenceOptions]. Where the store has gone back, another process may have reserved more
// than this one, and names a greater number.
func standsAt(cause error, low, least int64, raise func(to int64) string) error {
	back := errors.Is(cause, ErrStoreBack)
	switch {
	case raise != nil && back:
		return anchor.Endf("%w: it stands at %d, and keys below %d are taken: take the greatest number that any process names, and run %s", cause, low, least, raise(least))
	case raise != nil:
		return anchor.Endf("%w: it stands at %d, and keys below %d are in use or reserved: run %s", cause, low, least, raise(least))
	case back:
		return anchor.Endf("%w: it stands at %d, and keys below %d are taken: raise it to the greatest number that any process names, or let it advance", cause, low, least)
	}
	return anchor.Endf("%w: it stands at %d, and keys below %d are in use or reserved: raise it to that, or let it advance", cause, low, least)
}

// remedy applies the remedy of the options to a store that stands at low, below inUse.
func (a *ask) remedy(ctx context.Context, low Reservation, inUse int64) answer {
	a.distrust()
	cause, remedy := ErrStoreBack, a.src.onBack
	if !a.greeted {
		cause, remedy = ErrStoreBehind, a.src.onBehind
	}
	least := inUse
	switch remedy {
	case RemedyAdvance:
		if err := a.reserver.Advance(ctx, inUse); err != nil {
			return answer{err: err}
		}
	case RemedyWarn:
		least = a.seen
	default:
		return answer{err: standsAt(cause, low.First, inUse, a.src.raise), fault: true}
	}
	r, err := a.reserver.Reserve(ctx, a.n, least)
	switch {
	case err != nil:
		return answer{err: err}
	case r.First < least || r.Server != low.Server:
		a.distrust()
		return answer{err: errUnsteady}
	}
	got := good(r)
	got.moved = remedy == RemedyAdvance
	if !a.greeted {
		got.behind = inUse - low.First
	}
	if remedy == RemedyWarn {
		a.src.warn(ctx)
	}
	return got
}

// good returns the answer for a reservation with which nothing is wrong, unless
// it has integers that are no keys.
func good(r Reservation) answer {
	if r.First < 1 {
		return answer{err: anchor.Endf("%w: it stands below 1", ErrStoreState)}
	}
	return answer{Reservation: r}
}
