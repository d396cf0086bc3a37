package counting

import (
	"context"
	"math"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// claimTries is how many rounds a claim (an attempt to get integers of a series) has: in
// each it tries another series, or its own series as the store has it by then. After the
// last round the claim fails.
const claimTries = 8

// claim is one attempt to get integers of a series, or to renew the lease of a series.
// It works on a copy of the source's state, so that the source remembers nothing that a
// transaction undoes.
type claim struct {
	src    *Recycled
	store  keysource.SeriesStore
	maxKey func(ctx context.Context, from, to int64) (int64, error)

	need, want int64 // the least and the most integers to get; if need is 0, only the lease is renewed
	drops      int64 // src.drops when the claim was begun
	suspects   int64 // src.suspects when the claim was begun

	held    keysource.Series
	floor   int64 // no key of held that is below floor may be handed out
	end     int64 // end of the last series that was opened
	greeted bool

	sent          time.Time // when the call that renewed the lease was sent
	got           run
	lost          bool // the source must give up the integers that it has not handed out: they may repeat keys, or belong to another owner's series
	fault         bool // the error of run means that the store must not be used in its present state
	behind        int64
	taken, opened int64
}

// run makes the attempt: it reserves the integers that are needed, or renews the lease.
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
				continue // another process has changed the series meanwhile
			}
		}
		if done, err := c.reserve(ctx); done || err != nil {
			return err
		}
	}
	return errUnsteady
}

// reserve raises the next integer of the held series in the store, so that the integers
// below it belong to this source. If the series has too few left, reserve gives it up. It
// reports whether the claim (the attempt) is done.
func (c *claim) reserve(ctx context.Context) (done bool, err error) {
	h := c.held
	from := h.Next
	reached, brought := c.known(h)
	if reached > max(from, c.floor) {
		// This source has been given these integers since the claim was begun: the claim's
		// copy of the row is out of date, or the store has gone back (its counter is lower
		// than before).
		c.held = keysource.Series{}
		return false, nil
	}
	if skip := max(c.floor, brought); skip > from {
		from = min(skip, h.Last+1)
	}
	to := h.Next
	if c.need > 0 {
		left := h.Last - from + 1
		if left < c.need {
			// The own series (a range of integers) is given up before another one is taken:
			// a source with two would keep one from other processes.
			c.held = keysource.Series{}
			return false, c.store.GiveUp(ctx, h, from)
		}
		to = from + min(c.want, left)
	}
	// The time is read before the call is sent: the store counts the lease from a later
	// moment, however long the answer takes.
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
		// An earlier reservation of this owner has moved the row: its answer was lost,
		// or its transaction has committed meanwhile.
		c.held = now
		return false, nil
	}
	// Another owner has the series (a range of integers), or the store has gone back.
	c.lost = true
	c.held = keysource.Series{}
	return false, nil
}

// acquire gets a series (a range of integers) for this owner: one that it already has from
// a call whose answer was lost, the lowest abandoned one, or a new one.
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
	// The store has counted this series (a range of integers), whichever process opened it:
	// if the store's counter is lower later, the store has gone back.
	c.end = max(c.end, after(s.Last, 1))
	return c.judge(ctx, s)
}

// open opens a new series (a range of integers). Before that it asks for the greatest key
// in the table. That key was reserved earlier, so a store that has lost nothing answers
// above it.
func (c *claim) open(ctx context.Context) (keysource.Series, error) {
	inUse, cause, remedy := c.end, keysource.ErrStoreBack, c.src.onBack
	if c.maxKey != nil && !c.greeted {
		key, err := c.greatest(ctx, 1, math.MaxInt64)
		if err != nil {
			return keysource.Series{}, err
		}
		if end := after(key, 1); end > inUse {
			inUse, cause, remedy = end, keysource.ErrStoreBehind, c.src.onBehind
		}
	}
	s, err := c.store.Open(ctx, inUse)
	if err == nil && s.First < inUse {
		low := s.First
		if low < c.end {
			cause, remedy = keysource.ErrStoreBack, c.src.onBack
			c.lost = true
		}
		switch remedy {
		case keysource.RemedyAdvance:
			if err = c.store.Advance(ctx, inUse); err == nil {
				s, err = c.store.Open(ctx, inUse)
			}
		case keysource.RemedyWarn:
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
		return keysource.Series{}, err
	}
	c.opened++
	c.greeted = true
	c.end = max(c.end, after(s.Last, 1))
	return s, nil
}

// refuse returns err, and marks it as one that makes the store unusable in its present
// state.
func (c *claim) refuse(err error) error {
	c.fault = true
	return err
}

// refuseSeries returns cause with the numbers of a series (a range of integers) whose next
// integer is below least, and marks it as refuse does.
func (c *claim) refuseSeries(cause error, s keysource.Series, least int64) error {
	if c.src.raise != nil {
		return c.refuse(standsAt(cause, s.Next, least, func(to int64) string { return c.src.raise(s, to) }))
	}
	return c.refuse(anchor.Endf("%w; its series from %d to %d", standsAt(cause, s.Next, least, nil), s.First, s.Last))
}

// judge makes s the held series (a range of integers), unless its row is below keys in use:
// keys that this source has reserved before, or keys in the table. Another process was the
// last to move the row. In a store that has lost nothing, no other process can have later
// keys of the series, unless the lease has run out since the row was read; then judge
// leaves the claim without a series.
func (c *claim) judge(ctx context.Context, s keysource.Series) error {
	c.floor = 0
	reached, _ := c.known(s)
	if reached > s.Next {
		c.lost = true
		if c.src.onBack != keysource.RemedyAdvance {
			return c.refuseSeries(keysource.ErrStoreBack, s, reached)
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
			case keysource.RemedyAdvance:
				c.floor = key + 1
			case keysource.RemedyWarn:
				c.behind = max(c.behind, key+1-from)
			default:
				return c.refuseSeries(keysource.ErrStoreBehind, s, key+1)
			}
		}
	}
	c.held = s
	return nil
}

// greatest calls maxKey of the options, and adds to its error that the greatest key was
// asked for.
func (c *claim) greatest(ctx context.Context, from, to int64) (int64, error) {
	key, err := c.maxKey(ctx, from, to)
	if err != nil {
		return 0, anchor.Endf("the greatest key: %w", err)
	}
	return key, nil
}

// known returns the end of the integers that the store has given of a series, and the
// least key of the series that may be handed out. After a store was set up again by
// hand, a series can overlap others that this process has had, so all of them are
// compared.
func (c *claim) known(of keysource.Series) (reached, brought int64) {
	c.src.mu.Lock()
	defer c.src.mu.Unlock()
	for first, to := range c.src.reached {
		if first <= of.Last && of.First < to {
			reached = max(reached, to)
		}
	}
	return reached, c.src.brought[of.First]
}

// newClaim returns a claim (an attempt) to get at least need and at most want integers. The
// caller holds s.mu.
func newClaim(s *Recycled, need, want int64) *claim {
	return &claim{
		src: s, need: need, want: want, drops: s.drops, suspects: s.suspects,
		held: s.held, end: s.end, greeted: s.greeted,
	}
}

// accept stores in the source the results of a claim (an attempt to get integers) that the
// store has committed. It returns the integers that may be handed out. The caller holds mu.
func (s *Recycled) accept(c *claim) run {
	s.fetches++
	s.fault, s.failure = nil, nil
	known := s.held
	s.note(c)
	s.held = c.held
	if known.First == c.held.First && known.Epoch == c.held.Epoch && !c.lost {
		// A claim that was begun later may have been accepted earlier.
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
		s.held = keysource.Series{} // so that the series is compared with the keys in the table again
	}
	if c.drops != s.drops {
		return run{}
	}
	return c.got.from(s.brought[c.held.First])
}

// note stores the facts that hold whether the claim (an attempt to get integers) has
// succeeded or not. If a failed claim has changed the series, the source forgets the
// series, and finds out again from which integer on its keys may be handed out.
func (s *Recycled) note(c *claim) {
	if c.lost && c.drops == s.drops {
		// Only the integers that were reserved before are lost: the integers that c was
		// given are good.
		s.hand = nil
	}
	if c.held != s.held {
		s.held = keysource.Series{}
	}
	s.end = max(s.end, c.end)
	if c.suspects == s.suspects {
		s.greeted = s.greeted || c.greeted
	}
	s.behind = max(s.behind, c.behind)
	s.taken += c.taken
	s.opened += c.opened
}
