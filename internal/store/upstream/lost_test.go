package upstream_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// raisedRows are the rows of a shard that was raised above its blocks, of which it has none.
type raisedRows struct {
	alwaysOurs
	upstream.Level
}

func (r *raisedRows) ReserveRow(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	first := r.Next
	if r.End()-first < n {
		return keysource.Reservation{}, keysource.ErrExhausted
	}
	r.Next += n
	return keysource.Reservation{First: first}, nil
}

func (r *raisedRows) ReadLevel(context.Context) (upstream.Level, error) { return r.Level, nil }

func (r *raisedRows) Install(_ context.Context, was upstream.Level, b upstream.Block) (bool, error) {
	r.SpareFirst, r.Spare = b.First, staterow.WithEnd(was.Block, b.End)
	return true, nil
}

func (r *raisedRows) Turn(_ context.Context, was upstream.Level) (bool, error) {
	r.Next, r.Block = max(r.Next, was.SpareFirst), staterow.WithEnd(was.Block, was.SpareEnd())
	return true, nil
}

func (r *raisedRows) Raise(context.Context, int64) error { return nil }
func (r *raisedRows) BlockEnd() int64                    { return r.End() }

// silentOnce is a central store that loses the first request which it gets.
type silentOnce struct {
	next  int64
	lost  bool
	asked []int64 // how many were reserved, each time
}

func (s *silentOnce) Reserve(_ context.Context, n, seen int64) (keysource.Reservation, error) {
	s.asked = append(s.asked, n)
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
		u, err := upstream.New(upstream.Options{
			Store: "central", Block: 10,
			Open: func(int64, bool) (keysource.Reserver, error) { return central, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		rows := over(u, &raisedRows{Level: upstream.Level{Next: 100, Block: "row", Spare: "row"}})
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

// upstream returns an upstream whose blocks come from the store and follow the use.
func (s *silentOnce) upstream(t *testing.T) *upstream.Upstream {
	t.Helper()
	u, err := upstream.New(upstream.Options{
		Store: "central", Max: 1<<63 - 1,
		Open: func(int64, bool) (keysource.Reserver, error) { return s, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestUpstreamFirstBlock: the first block has a thousand integers, where the policy says
// nothing else, however few are asked for; and as many as are asked for at least.
func TestUpstreamFirstBlock(t *testing.T) {
	for n, want := range map[int64]int64{1: 1000, 100: 1000, 2000: 2000} {
		synctest.Test(t, func(t *testing.T) {
			central := &silentOnce{lost: true}
			u := central.upstream(t)
			rows := over(u, &raisedRows{Level: upstream.Level{Next: 1, Block: "row", Spare: "row"}})
			if _, err := rows.Reserve(t.Context(), n, 0); err != nil {
				t.Error(err)
			}
			if err := u.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if len(central.asked) == 0 || central.asked[0] != want {
				t.Errorf("of %d integers the blocks are %d, want %d at first", n, central.asked, want)
			}
		})
	}
}

// TestUpstreamRolledBack: a block that a rollback takes back was not used up. Each minute a
// transaction of a thousand integers is rolled back, and blocks do not grow for that.
func TestUpstreamRolledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := (&silentOnce{lost: true}).upstream(t)
		state := &raisedRows{Level: upstream.Level{Next: 1, Block: "row", Spare: "row"}}
		rows := over(u, state)
		reserve := func() {
			t.Helper()
			if _, err := rows.Reserve(t.Context(), 1, 0); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		reserve()
		for range 5 {
			before := state.Level
			for range 1000 {
				reserve()
			}
			if state.End() == before.End() {
				t.Fatal("the transaction has put no block into use")
			}
			state.Level = before
			time.Sleep(time.Minute)
			reserve()
		}
		if got := u.Stats().Block; got > 2000 {
			t.Errorf("the next block has %d integers, want about 1000", got)
		}
		if err := u.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
