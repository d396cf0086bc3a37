package keyfillredis

import (
	"context"

	"github.com/keyfill/keyfill/keysource"
)

// series gives one owner access to the series (ranges of integers) of a state. They are
// fields of the state's hash, so that no series exists without its state.
type series struct {
	*counter
	owner keysource.SeriesOwner
}

var _ keysource.SeriesStore = (*series)(nil)

// Series returns one owner's access to the series (ranges of integers) of a state.
func (s *store) Series(st keysource.State, o keysource.SeriesOwner) keysource.SeriesStore {
	return &series{s.counter(st, "series"), o}
}

// lease returns the time of a lease as the scripts read it, in milliseconds.
func (s *series) lease() string { return decimal(max(s.owner.Lease.Milliseconds(), 1)) }

// told returns the series (a range of integers) in a script's reply; the zero Series if
// there is no series, or no state.
func (s *series) told(r reply) (one keysource.Series, err error) {
	if r.word == "none" || r.word == "missing" {
		return one, nil
	}
	for i, field := range []*int64{&one.First, &one.Last, &one.Next, &one.Epoch} {
		if *field, err = r.integer(i); err != nil {
			return keysource.Series{}, stateError(s.state.Name, err)
		}
	}
	one.Own = len(r.texts) > 4 && r.texts[4] == "own"
	return one, nil
}

// Own returns the lowest series (a range of integers) that this owner has.
func (s *series) Own(ctx context.Context) (keysource.Series, error) {
	r, err := s.ask(ctx, ownScript, s.owner.Owner)
	if err != nil {
		return keysource.Series{}, err
	}
	return s.told(r)
}

// Move reserves integers of a series (a range of integers) and renews its lease, in one
// script that compares the owner and the next integer of the series.
func (s *series) Move(ctx context.Context, one keysource.Series, to int64) (now keysource.Series, moved bool, err error) {
	r, err := s.ask(ctx, moveScript, s.owner.Owner, decimal(one.First), decimal(one.Epoch), decimal(one.Next), decimal(to), s.lease())
	if err != nil {
		return keysource.Series{}, false, err
	}
	now, err = s.told(r)
	return now, err == nil && r.word == "moved", err
}

// TakeOver makes the lowest series (a range of integers) without a lease this owner's.
func (s *series) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	r, err := s.ask(ctx, takeOverScript, s.owner.Owner, decimal(n-1), s.lease())
	if err != nil {
		return keysource.Series{}, err
	}
	return s.told(r)
}

// Open makes a new series (a range of integers): one script makes it and moves the state
// past it.
func (s *series) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	size := s.owner.Size
	r, err := s.make(ctx, openScript, s.owner.Owner, decimal(seen), decimal(size-1), decimal(s.fit(size)), s.lease())
	if err != nil {
		return keysource.Series{}, err
	}
	if r.word == "below" {
		first, err := r.integer(0)
		return keysource.Series{First: first}, err
	}
	return s.told(r)
}

// GiveUp ends the right of this owner to a series (a range of integers), and gives back its
// unused integers.
func (s *series) GiveUp(ctx context.Context, one keysource.Series, to int64) error {
	_, err := s.ask(ctx, giveUpScript, s.owner.Owner, decimal(one.First), decimal(one.Epoch), decimal(one.Next), decimal(to))
	return err
}

// Advance makes the next new series (a range of integers) begin at to or above.
func (s *series) Advance(ctx context.Context, to int64) error { return s.advance(ctx, to) }
