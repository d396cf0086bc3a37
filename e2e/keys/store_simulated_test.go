package keys_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// TestStoreSimulated: the database of the simulator answers what a store asks as the engine
// does whose statements it reads.
func TestStoreSimulated(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		simulated := map[string]*dialect.Dialect{}
		for _, d := range []*dialect.Dialect{dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite()} {
			simulated[d.Name] = d
		}
		d := simulated[s.Dialect.Name]
		if d == nil {
			return // it reads no other engine's
		}
		harness.OpenOrders(t, s)
		want := storeSession(harness.StoreOf(t, s))
		got := simulatedSession(t, d)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("the simulator's database gives %s, want %s", got[i], want[i])
			}
		}
	})
}

// simulatedSession is storeSession over the simulator's database.
func simulatedSession(t *testing.T, d *dialect.Dialect) (got []string) {
	trial := sim.Trial{Open: func(p *sim.Process) (sim.Source, error) {
		client := &simdb.Client{DB: simdb.New(d), Process: p}
		pool := store.Pool(d, client.Direct())
		defer pool.Close()
		if p.Number == 0 {
			st := store.New(d, pool)
			if _, err := reserver.Open(context.Background(), st, harness.Orders); err != nil {
				return nil, err
			}
			got = storeSession(st)
		}
		return idle{}, nil
	}}
	trial.One(t, 4) // a world without faults, whose processes draw nothing
	return got
}

// idle is a source that has no keys.
type idle struct{}

func (idle) Next(context.Context, int) ([]int64, error) { return nil, context.DeadlineExceeded }
func (idle) Close(context.Context) error                { return nil }

// storeSession asks a store, and returns what it has answered.
func storeSession(st *store.Store) (all []string) {
	ctx := context.Background()
	note := func(what string, values ...any) { all = append(all, what+": "+fmt.Sprint(values...)) }
	failed := func(err error) string {
		if err != nil {
			return "an error"
		}
		return "no error"
	}
	rows := reserver.New(st, harness.Orders)
	for _, ask := range []struct{ n, seen int64 }{{10, 0}, {5, 11}, {1, 500}, {1, 0}} {
		got, err := rows.Reserve(ctx, ask.n, ask.seen)
		note("reserve", got.First, " ", got.N, failed(err))
		note("advance", failed(rows.Advance(ctx, 30*ask.n)))
	}
	got, err := rows.Reserve(ctx, 1, 0)
	note("reserve after all", got.First, failed(err))
	for _, until := range []int64{1000, 2000, 1500, 3000} {
		before, err := worker.Mark(ctx, st, worker.Worker{Name: "flakes", Number: until / 2000, Owner: "me"}, until)
		note("mark", before, failed(err))
	}
	rowsOf := func(owner string) *series.Rows {
		return series.New(st, series.Options{
			Sequence: sequence.Sequence{Name: "series", Shared: true, Made: sequence.MadeRow{Start: 1}, Bounds: sequence.Bounds{Max: 1000}, Create: true},
			Size:     40, Lease: time.Hour, Owner: owner,
		})
	}
	mine, other := rowsOf("me"), rowsOf("other")
	tell := func(what string, s keysource.Series, err error) { note(what, fmt.Sprintf("%+v ", s), failed(err)) }
	s, err := mine.Own(ctx)
	tell("own of none", s, err)
	s, err = mine.TakeOver(ctx, 10)
	tell("take over of none", s, err)
	one, err := mine.Open(ctx, 0)
	tell("open", one, err)
	two, err := other.Open(ctx, 0)
	tell("open by another", two, err)
	s, err = mine.Open(ctx, 500)
	tell("open above what was seen", s, err)
	move := func(what string, rows *series.Rows, of keysource.Series, to int64) keysource.Series {
		now, moved, err := rows.Move(ctx, of, to)
		tell(fmt.Sprint(what, " ", moved), now, err)
		return now
	}
	moved := move("move", mine, one, 20)
	move("move from where it was", mine, one, 30)
	move("move of another's", other, one, 30)
	s, err = other.TakeOver(ctx, 1)
	tell("take over while leases last", s, err)
	note("give up", failed(mine.GiveUp(ctx, moved, 11)))
	s, err = other.TakeOver(ctx, 31)
	tell("take over of too few", s, err)
	s, err = other.TakeOver(ctx, 30)
	tell("take over", s, err)
	move("move of what was given up", mine, moved, 30)
	s, err = other.Own(ctx)
	tell("own, the lowest", s, err)
	note("give up of what is used up", failed(other.GiveUp(ctx, s, 41)))
	s, err = other.Own(ctx)
	tell("own, the next", s, err)
	note("advance of series", failed(mine.Advance(ctx, 200)))
	s, err = mine.Open(ctx, 0)
	tell("open after an advance", s, err)
	key, err := mine.MaxKey(ctx, 1, 40)
	note("greatest key", key, failed(err))
	return all
}
