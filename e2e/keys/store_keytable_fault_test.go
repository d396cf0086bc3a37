package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/testdb"
)

// TestStoreKeyTableCommitFails is TestStoreCommitFails for each way.
func TestStoreKeyTableCommitFails(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, way := range harness.WaysToReserve {
			t.Run(way, func(t *testing.T) {
				s := harness.Emptied(t, s)
				q := singleState("BIGINT", false).Through(t, s, way)
				harness.Exec(t, s.Raw, `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
					$$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$`)
				harness.Exec(t, s.Raw, `CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON orders_seq
					DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
				r := reserver.New(harness.StoreOf(t, s), *q)
				if got, err := r.Reserve(context.Background(), 5, 0); err == nil || !strings.Contains(err.Error(), "refused at the commit") {
					t.Errorf("%+v, %v; want the error of the commit", got, err)
				}
				harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
					if got, err := r.At(store.On(s.Dialect, c)).Reserve(ctx, 5, 0); err == nil || !strings.Contains(err.Error(), "refused at the commit") {
						t.Errorf("on a connection: %+v, %v; want the error of the commit", got, err)
					}
				})
				harness.Exec(t, s.Raw, "DROP TRIGGER refuse ON orders_seq")
				if got, err := r.Reserve(context.Background(), 5, 0); err != nil || got.First != 1 {
					t.Errorf("%+v, %v; want 1", got, err)
				}
			})
		}
	})
}

// TestStoreKeyTableKilledServer: the server is killed while all ways reserve from
// one row. What was reserved before is not reserved after.
func TestStoreKeyTableKilledServer(t *testing.T) {
	t.Parallel()
	for _, c := range harness.DriverCases {
		t.Run(c.Driver, func(t *testing.T) {
			t.Parallel()
			server := testdb.Start(t, c.Engine)
			e := storeEngines[slices.IndexFunc(storeEngines, func(e harness.Engine) bool { return e.Driver == c.Driver })]
			e.Server, e.Params = server, ""
			s := e.Scratch(t)
			st := harness.KeyedState(s.Dialect, "BIGINT", true)
			q := st.Through(t, s, "procedure")
			s.Raw.SetMaxIdleConns(0) // pgx does not ask whether an idle one has outlived its server

			var (
				got  harness.Runs
				wg   sync.WaitGroup
				stop = make(chan struct{})
			)
			for _, way := range harness.WaysToReserve {
				q := *q
				table := *q.Table
				q.Table = &table
				method, version := strings.CutSuffix(way, "-version")
				if version {
					table.Version = "ver"
				}
				if method != "procedure" {
					q.Procedure = ""
				}
				if method == "optimistic" {
					q.Lock = sequence.LockOptimistic
				}
				r := reserver.New(harness.StoreOf(t, s), q)
				for range 2 {
					wg.Go(func() { reserveUntil(t, r, &got, stop) })
				}
			}
			for range 2 {
				time.Sleep(300 * time.Millisecond)
				server.Kill(t)
				time.Sleep(50 * time.Millisecond)
				server.Restart(t)
			}
			before := got.Count()
			deadline := time.Now().Add(harness.Limit)
			for got.Count() == before && time.Now().Before(deadline) {
				time.Sleep(10 * time.Millisecond)
			}
			close(stop)
			wg.Wait()
			count, total := got.Check(t)
			if count == before {
				t.Errorf("nothing is reserved %v after the server is back", harness.Limit)
			}
			last := harness.CountInt(t, s.Raw, st.Value)
			t.Logf("%d runs; %d of %d integers are lost", count, last-total, last)
			if last < total {
				t.Errorf("%d is stored after %d", last, total)
			}
		})
	}
}

// reserveUntil reserves until it is stopped. An error that says that the state
// cannot be used would be wrong.
func reserveUntil(t *testing.T, r *reserver.Reserver, got *harness.Runs, stop chan struct{}) {
	seen := int64(0)
	for {
		select {
		case <-stop:
			return
		default:
		}
		n := 1 + rand.Int64N(100)
		one, err := r.Reserve(context.Background(), n, seen)
		if err != nil {
			var e *store.Error
			if errors.Is(err, driver.ErrBadConn) || errors.As(err, &e) && e.Err != store.ErrContention {
				t.Errorf("%v", err)
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if one.First < seen {
			t.Error(fmt.Errorf("%d after %d", one.First, seen))
		}
		seen = one.First + n
		got.Add(one, n)
	}
}
