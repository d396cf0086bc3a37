package keys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
)

// contender opens one state for the column orders.id.
type contender struct {
	state string // as errors name it
	open  func(context.Context, *store.Store) error
}

// contenders returns a state of each form that names its column in keyfill_sequences.
func contenders(name string) map[string]contender {
	column := harness.Orders.Columns[0]
	sequence := func(name string, shared bool) func(context.Context, *store.Store) error {
		return func(ctx context.Context, st *store.Store) error {
			_, err := reserver.Open(ctx, st, sequence.Sequence{Name: name, Columns: []store.Column{column}, Shared: shared, Made: sequence.MadeRow{Start: 1}, Create: true})
			return err
		}
	}
	return map[string]contender{
		"named": {name, sequence(name, true)},
		"own":   {name + ".id", sequence(name+".id", false)},
		"workers": {worker.State(name), func(ctx context.Context, st *store.Store) error {
			return worker.New(st, worker.Worker{Name: name}).Bind(ctx, column)
		}},
		"claim": {name + " (store c)", func(ctx context.Context, st *store.Store) error {
			_, _, err := binding.Claim{State: name + " (store c)", Column: column}.Note(ctx, st)
			return err
		}},
	}
}

// TestStatesContend: of two states that are opened for one column at the same time, one
// fills it, then and later. The error of the other one names it.
func TestStatesContend(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
		ctx := t.Context()
		harness.OpenOrders(t, s)
		for _, pair := range [][2]string{{"named", "named"}, {"own", "named"}, {"named", "own"}, {"workers", "named"}, {"claim", "claim"}} {
			t.Run(fmt.Sprint(pair), func(t *testing.T) {
				const rounds = 8
				stuck := 0
				for range rounds {
					harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
					both := [2]contender{contenders("x")[pair[0]], contenders("y")[pair[1]]}
					var wg sync.WaitGroup
					begin := make(chan struct{})
					for _, c := range both {
						st := harness.StoreOf(t, s)
						if schema.Of(st).IsThere(ctx) { // connected
							wg.Go(func() { <-begin; _ = c.open(ctx, st) })
						}
					}
					close(begin)
					wg.Wait()
					st := harness.StoreOf(t, s)
					errs := [2]error{both[0].open(ctx, st), both[1].open(ctx, st)}
					switch {
					case errs[0] != nil && errs[1] != nil:
						stuck++
						t.Log(errs[0], errs[1])
					case errs[0] == nil && errs[1] == nil:
						t.Fatal("both fill the column")
					}
					for i, err := range errs {
						if err != nil && (!errors.Is(err, store.ErrTaken) || !strings.Contains(err.Error(), fmt.Sprintf("%q", both[1-i].state))) {
							t.Errorf("%s: %v, want %v by %s", both[i].state, err, store.ErrTaken, both[1-i].state)
						}
					}
				}
				if stuck > 0 {
					t.Errorf("in %d of %d rounds neither fills the column", stuck, rounds)
				}
			})
		}
	})
}
