package statestore

import (
	"context"

	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/keysource"
)

// plainSeries holds the series (leased runs of integers) of one owner in a store
// without SQL.
type plainSeries struct {
	*plainState
	in keysource.SeriesStore
}

func (s *plainSeries) Own(ctx context.Context) (own keysource.Series, err error) {
	err = s.use(ctx, func() error {
		own, err = s.in.Own(ctx)
		return err
	})
	return own, err
}

func (s *plainSeries) Move(ctx context.Context, one keysource.Series, to int64) (now keysource.Series, moved bool, err error) {
	err = s.use(ctx, func() error {
		now, moved, err = s.in.Move(ctx, one, to)
		return err
	})
	return now, moved, err
}

func (s *plainSeries) TakeOver(ctx context.Context, n int64) (taken keysource.Series, err error) {
	err = s.use(ctx, func() error {
		taken, err = s.in.TakeOver(ctx, n)
		return err
	})
	return taken, err
}

func (s *plainSeries) Open(ctx context.Context, seen int64) (made keysource.Series, err error) {
	err = s.make(ctx, func() error {
		made, err = s.in.Open(ctx, seen)
		return err
	})
	return made, err
}

func (s *plainSeries) GiveUp(ctx context.Context, one keysource.Series, to int64) error {
	return s.use(ctx, func() error { return s.in.GiveUp(ctx, one, to) })
}

func (s *plainSeries) Advance(ctx context.Context, to int64) error {
	return s.make(ctx, func() error { return s.in.Advance(ctx, to) })
}

func (s *plainSeries) MaxKey(ctx context.Context, from, to int64) (int64, error) {
	return reserver.GreatestKey(ctx, s.row, from, to)
}
