package keysource

import (
	"context"
	"math"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
)

// claimTries is how often a claim goes on with another series, or with its own
// as it is found, before it is begun anew.
const claimTries = 8

// claim is one attempt to get integers of a series, or to renew its lease. It
// works on a copy of the source's state, so that nothing is remembered that a
// transaction undoes.
type claim struct {
	src    *Recycled
	store  SeriesStore
	maxKey func(ctx context.Context, from, to int64) (int64, error)

	need, want int64 // at least, at most; need 0: the lease is to be renewed
	drops      int64 // of the source, when the claim was begun
	suspects   int64 // the same

	held    Series
	floor   int64 // no key of held is below it
	end     int64 // of the last series that was opened
	greeted bool

	sent          time.Time // when what renewed the lease was sent
	got           run
	lost          bool // the integers in hand are not to be trusted, or belong to another's series by now
	fault         bool // err means that the store must not be used as it stands
	behind        int64
	taken, opened int64
}

// run reserves the integers that are needed.
func (c *claim) run(ctx context.Context) error {
	for range claimTries {
		if c.held.First == 0 {
			if c.need == 0 {
				return nil // there is nothing to renew
			}
			if err := c.acquire(ctx); err != nil {
				return err
			}
			if c.held.First == 0 {
				continue // it was another one's again
			}
		}
		if done, err := c.reserve(ctx); done || err != nil {
			return err
		}
	}
	return errUnsteady
}

// reserve moves the next integer of the series that is held, and gives that up
// where it has not enough left. It reports whether the claim is done.
func (c *claim) reserve(ctx context.Context) (done bool, err error) {
	h := c.held
	from := h.Next
	reached, brought := c.known(h)
	if reached > max(from, c.floor) {
		// Other processes have got these since the claim was begun, from a store that has
		// gone back, or stands higher.
		c.held = Series{}
		return false, nil
	}
	if skip := max(c.floor, brought); skip > from {
		from = min(skip, h.Last+1)
	}
	to := h.Next
	if c.need > 0 {
		left := h.Last - from + 1
		if left < c.need {
			// First its own, then another one: a source that has two keeps one from other
			// processes.
			c.held = Series{}
			return false, c.store.GiveUp(ctx, h, from)
		}
		to = from + min(c.want, left)
	}
	// Before it is sent: however long the answer takes, the store counts the
	// lease from a later moment.
	c.sent = c.src.now()
	now, moved, err := c.store.Move(ctx, h, to)
	switch {
	case err != nil:
		return false, err
	case moved:
		c.held.Next = to
		c.got = run{from, to - from}
		if c.need == 0 {
			c.got = run{}
		}
		return true, nil
	case now.Own && now.Epoch == h.Epoch && now.Next >= h.Next:
		// A reservation whose answer was lost, or of a transaction that has
		// committed.
		c.held = now
		return false, nil
	}
	// Another one's by now, or the store has gone back.
	c.lost = true
	c.held = Series{}
	return false, nil
}

// acquire makes a series this owner's: one that it has from a lost answer, the lowest
// abandoned one, or a new one.
func (c *claim) acquire(ctx context.Context) error {
	s, err := c.store.Own(ctx)
	if err == nil && s.First == 0 {
		if s, err = c.store.TakeOver(ctx, c.need); err == nil && s.First > 0 {
			c.taken++
		}
	}
	if err == nil && s.First == 0 {
		s, err = c.open(ctx)
	}
	if err != nil {
		return err
	}
	// The store has counted this series, whichever process opened it: a store that stands
	// lower later has gone back.
	c.end = max(c.end, after(s.Last, 1))
	return c.judge(ctx, s)
}

// open opens a new series. It first asks for the greatest key in the table, which was
// reserved before, so that a store in order answers above it.
func (c *claim) open(ctx context.Context) (Series, error) {
	inUse, cause, remedy := c.end, ErrStoreBack, c.src.onBack
	if c.maxKey != nil && !c.greeted {
		key, err := c.greatest(ctx, 1, math.MaxInt64)
		if err != nil {
			return Series{}, err
		}
		if end := after(key, 1); end > inUse {
			inUse, cause, remedy = end, ErrStoreBehind, c.src.onBehind
		}
	}
	s, err := c.store.Open(ctx, inUse)
	if err == nil && s.First < inUse {
		low := s.First
		if low < c.end {
			cause, remedy = ErrStoreBack, c.src.onBack
			c.lost = true
		}
		switch remedy {
		case RemedyAdvance:
			if err = c.store.Advance(ctx, inUse); err == nil {
				s, err = c.store.Open(ctx, inUse)
			}
		case RemedyWarn:
			c.behind = max(c.behind, inUse-low)
			inUse = c.end
			s, err = c.store.Open(ctx, inUse)
		default:
			err = c.refuse(standsAt(cause, low, inUse, nil))
		}
		if err == nil && s.First < inUse {
			err = errUnsteady
		}
	}
	if err != nil {
		return Series{}, err
	}
	c.opened++
	c.greeted = true
	c.end = max(c.end, after(s.Last, 1))
	return s, nil
}

// refuse returns the error of a store that must not be used as it stands.
func (c *claim) refuse(err error) error {
	c.fault = true
	return err
}

// refuseSeries is refuse for a series.
func (c *claim) refuseSeries(cause error, s Series, least int64) error {
	return c.refuse(anchor.Endf("%w; its series from %d to %d", standsAt(cause, s.Next, least, nil), s.First, s.Last))
}

// judge takes a series whose row this process was not the last to move, unless it stands
// below keys in use: those that this source has reserved before, or those in the table.
// In an intact store no other process can have later keys of the series, except after the
// lease has run out since the row was read. Then c holds none.
func (c *claim) judge(ctx context.Context, s Series) error {
	c.floor = 0
	reached, _ := c.known(s)
	if reached > s.Next {
		c.lost = true
		if c.src.onBack != RemedyAdvance {
			return c.refuseSeries(ErrStoreBack, s, reached)
		}
		c.floor = reached
	}
	if from := max(s.Next, c.floor); c.maxKey != nil && from <= s.Last {
		key, err := c.greatest(ctx, from, s.Last)
		if err != nil {
			return err
		}
		if key >= from {
			if _, still, err := c.store.Move(ctx, s, s.Next); err != nil || !still {
				return err
			}
			switch c.src.onBehind {
			case RemedyAdvance:
				c.floor = key + 1
			case RemedyWarn:
				c.behind = max(c.behind, key+1-from)
			default:
				return c.refuseSeries(ErrStoreBehind, s, key+1)
			}
		}
	}
	c.held = s
	return nil
}

// greatest calls the options' MaxKey, and adds to its error which keys were asked for.
func (c *claim) greatest(ctx context.Context, from, to int64) (int64, error) {
	key, err := c.maxKey(ctx, from, to)
	if err != nil {
		return 0, anchor.Endf("the greatest key: %w", err)
	}
	return key, nil
}

// known returns the end of the integers that the store has given of a series, and the
// least key of the series that may be handed out. If the store was made again by hand,
// the integers of one series may be in another one that this process has had.
func (c *claim) known(of Series) (reached, brought int64) {
	c.src.mu.Lock()
	defer c.src.mu.Unlock()
	for first, to := range c.src.reached {
		if first <= of.Last && of.First < to {
			reached = max(reached, to)
		}
	}
	return reached, c.src.brought[of.First]
}

// newClaim returns an attempt to get integers for s. The caller holds the mu of s.
func newClaim(s *Recycled, need, want int64) *claim {
	return &claim{
		src: s, need: need, want: want, drops: s.drops, suspects: s.suspects,
		held: s.held, end: s.end, greeted: s.greeted,
	}
}

// accept notes what a claim has done and the store has committed. It returns the integers
// that may be handed out. The caller holds mu.
func (s *Recycled) accept(c *claim) run {
	s.fetches++
	s.fault, s.failure = nil, nil
	known := s.held
	s.note(c)
	s.held = c.held
	if known.First == c.held.First && known.Epoch == c.held.Epoch && !c.lost {
		// Another claim that came after this one may have been settled before.
		s.held.Next = max(known.Next, c.held.Next)
	}
	if c.held.First > 0 {
		s.sent = c.sent
		s.reached[c.held.First] = max(s.reached[c.held.First], c.held.Next)
	}
	if c.need > 0 {
		now := s.now()
		if !s.begun.IsZero() {
			s.size.lasted(now.Sub(s.begun))
		}
		s.begun = now
	}
	if c.suspects != s.suspects {
		s.held = Series{} // it is to be looked at again
	}
	if c.drops != s.drops {
		return run{}
	}
	return c.got.from(s.brought[c.held.First])
}

// note keeps the facts that hold whether the claim has succeeded or not. After a failed
// claim a series is only known if it was known before: the floor of another series, below
// which no key may be handed out, is found again.
func (s *Recycled) note(c *claim) {
	if c.lost && c.drops == s.drops {
		// Only the integers in hand: the integers that c was given are good.
		s.hand = nil
	}
	if c.held != s.held {
		s.held = Series{}
	}
	s.end = max(s.end, c.end)
	if c.suspects == s.suspects {
		s.greeted = s.greeted || c.greeted
	}
	s.behind = max(s.behind, c.behind)
	s.taken += c.taken
	s.opened += c.opened
}
