package counting

import (
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// probeInterval is how often a store that has gone back (its counter is lower than before),
// or whose engine refuses, is asked whether it works again.
const probeInterval = time.Second

// errUnsteady is the error of an attempt during which the store changed from one call
// to the next: another server answered, or the counter went down. The next attempt
// begins anew.
var errUnsteady = errors.New("the store has changed again")

// answer is the outcome of an attempt to reserve integers.
type answer struct {
	keysource.Reservation       // valid if err is nil
	behind                int64 // how far the store's counter was below the keys in use, at the first comparison
	err                   error
	moved                 bool // the remedy has raised the store's counter
	back                  bool // the store has gone back (its counter went down), and its integers are used all the same
	late                  bool // the attempt was given up because its time was over
	fault                 bool // err means that the store must not be used in its present state
}

// reserve asks the store for integers. If there are doubts about the store, or if its
// answer raises some, reserve first asks the table for its greatest key and then the store:
// keys in the table were reserved before, so a store that has lost nothing answers above
// them, however fast other processes are. When an answer raises doubts, the integers that
// were reserved before are given up.
func (a *ask) reserve(ctx context.Context) answer {
	if a.least > a.seen {
		if err := a.catchUp(ctx); err != nil {
			return answer{err: err}
		}
	}
	if a.src.onBack == keysource.RemedyWarn {
		return a.reserveAnyway(ctx)
	}
	server, look := a.server, a.doubt
	for range 3 { // a call without a comparison, one with a comparison, and one if another server answers
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
			return a.good(r) // its integers do not ascend, so a low answer is no fault
		case server != "" && r.Server != "" && r.Server != server:
			server = r.Server
		case r.First >= inUse:
			return a.good(r)
		case look:
			return a.remedy(ctx, r, inUse)
		}
		look = true
		a.distrust()
	}
	return answer{err: errUnsteady}
}

// reserveAnyway is reserve for a store whose integers are used even if it has gone back
// (its counter is lower than before). If there are doubts about the store, it asks the
// table before it asks the store, as reserve does. An answer that raises doubts is used,
// and the next attempt asks the table.
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
	got := a.good(r)
	if got.err != nil || r.Apart {
		return got
	}
	if got.back = r.First < a.seen || a.server != "" && r.Server != "" && r.Server != a.server; got.back {
		a.distrust()
	}
	switch {
	case r.First >= inUse:
		return got
	case !a.greeted && !got.back && a.src.onBehind != keysource.RemedyWarn:
		return a.remedy(ctx, r, inUse)
	}
	got.behind = inUse - r.First
	a.src.warn(ctx)
	return got
}

// distrust gives up the integers that were reserved before, and makes the other attempts in
// progress drop theirs.
func (a *ask) distrust() {
	a.src.mu.Lock()
	defer a.src.mu.Unlock()
	a.src.giveUp()
	a.drops = a.src.drops // the integers that a gets itself stay valid
}

// catchUp raises the store's counter after a call of Advance that could not reach the
// store.
func (a *ask) catchUp(ctx context.Context) error {
	if err := a.reserver.Advance(ctx, a.least); err != nil {
		return err
	}
	a.seen = a.least
	return nil
}

// greatest wraps MaxKey of the options, so that its error names the greatest key: the
// error becomes part of the text of [keysource.ErrStoreDown]. It returns nil if MaxKey is nil.
func greatest(maxKey func(context.Context) (int64, error)) func(context.Context) (int64, error) {
	if maxKey == nil {
		return nil
	}
	return func(ctx context.Context) (int64, error) {
		key, err := maxKey(ctx)
		if err != nil {
			return 0, anchor.Endf("the greatest key: %w", err)
		}
		return key, nil
	}
}

// inUse returns the end (exclusive) of the keys that are known to be in use.
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

// standsAt returns the error of a store whose counter is low, where it must be least or
// greater. raise is as in [SequenceOptions]. After a store has gone back (its counter is
// lower than before), another process may have reserved more than this one, and the error
// of that process then names a greater number.
func standsAt(cause error, low, least int64, raise func(to int64) string) error {
	back := errors.Is(cause, keysource.ErrStoreBack)
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

// remedy applies the remedy of the options to a store whose counter, low, is below
// inUse.
func (a *ask) remedy(ctx context.Context, low keysource.Reservation, inUse int64) answer {
	a.distrust()
	cause, remedy := keysource.ErrStoreBack, a.src.onBack
	if !a.greeted {
		cause, remedy = keysource.ErrStoreBehind, a.src.onBehind
	}
	least := inUse
	switch remedy {
	case keysource.RemedyAdvance:
		if err := a.reserver.Advance(ctx, inUse); err != nil {
			return answer{err: err}
		}
	case keysource.RemedyWarn:
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
	got := a.good(r)
	got.moved = remedy == keysource.RemedyAdvance
	if !a.greeted {
		got.behind = inUse - low.First
	}
	if remedy == keysource.RemedyWarn {
		a.src.warn(ctx)
	}
	return got
}

// good returns the answer for a reservation that has passed the comparisons, or an
// error if it has integers below 1, which are no keys. N of the answer is never 0.
func (a *ask) good(r keysource.Reservation) answer {
	if r.First < 1 {
		return answer{err: anchor.Endf("%w: it stands below 1", keysource.ErrStoreState)}
	}
	if r.N < 1 || r.N > a.n {
		r.N = a.n
	}
	return answer{Reservation: r}
}
