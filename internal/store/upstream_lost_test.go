package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// raisedRows are the rows of a shard that was raised above its blocks, of which it has none.
type raisedRows struct{ store.Level }

func (r *raisedRows) ReserveRow(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	first := r.Next
	if r.End()-first < n {
		return keysource.Reservation{}, keysource.ErrExhausted
	}
	r.Next += n
	return keysource.Reservation{First: first}, nil
}

func (r *raisedRows) ReadLevel(context.Context) (store.Level, error) { return r.Level, nil }

func (r *raisedRows) Install(_ context.Context, was store.Level, first, end int64) (bool, error) {
	r.SpareFirst, r.Spare = first, store.WithEnd(was.Block, end)
	return true, nil
}

func (r *raisedRows) Turn(_ context.Context, was store.Level) (bool, error) {
	r.Next, r.Block = max(r.Next, was.SpareFirst), store.WithEnd(was.Block, was.SpareEnd())
	return true, nil
}

func (r *raisedRows) Raise(context.Context, int64) error { return nil }
func (r *raisedRows) BlockEnd() int64                    { return r.End() }

// silentOnce is a central store that loses the first request which it gets.
type silentOnce struct {
	next int64
	lost bool
}

func (s *silentOnce) Reserve(_ context.Context, n, seen int64) (keysource.Reservation, error) {
	first := max(s.next, 1)
	if first >= seen {
		s.next = first + n
	}
	return keysource.Reservation{First: first}, nil
}

func (s *silentOnce) Advance(ctx context.Context, to int64) error {
	if !s.lost {
		s.lost = true
		<-ctx.Done()
		return ctx.Err()
	}
	s.next = max(s.next, to)
	return nil
}

// TestUpstreamAnswerLost: a request to the upstream whose answer never comes, as of a
// connection that was cut, is given up, and the next one brings the block.
func TestUpstreamAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		central := &silentOnce{}
		u, err := store.NewUpstream(store.UpstreamOptions{
			Store: "central", Block: 10,
			Open: func(int64, bool) (keysource.Reserver, error) { return central, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		rows := u.Over(&raisedRows{store.Level{Next: 100, Block: "row", Spare: "row"}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := rows.Reserve(ctx, 1, 0); err != nil || got.First != 100 {
			t.Errorf("the first integer is %d, %v, want 100", got.First, err)
		}
		if err := u.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
