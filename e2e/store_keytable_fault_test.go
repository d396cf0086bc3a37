package e2e_test

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

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/testdb"
)

// TestStoreKeyTableCommitFails is TestStoreCommitFails for each way.
func TestStoreKeyTableCommitFails(t *testing.T) {
	each(t, []engine{pgxDefault, pgxSimple, pqDefault}, func(t *testing.T, s *scratch) {
		for _, way := range waysToReserve {
			t.Run(way, func(t *testing.T) {
				s := emptied(t, s)
				q := singleState("BIGINT", false).through(t, s, way)
				exec(t, s.raw, `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
					$$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$`)
				exec(t, s.raw, `CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON orders_seq
					DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
				r := storeOf(t, s).Reserver(*q)
				if got, err := r.Reserve(context.Background(), 5, 0); err == nil || !strings.Contains(err.Error(), "refused at the commit") {
					t.Errorf("%+v, %v; want the error of the commit", got, err)
				}
				onConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
					if got, err := r.At(store.On(s.dialect, c)).Reserve(ctx, 5, 0); err == nil || !strings.Contains(err.Error(), "refused at the commit") {
						t.Errorf("on a connection: %+v, %v; want the error of the commit", got, err)
					}
				})
				exec(t, s.raw, "DROP TRIGGER refuse ON orders_seq")
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
	for _, c := range driverCases {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			server := testdb.Start(t, c.engine)
			e := storeEngines[slices.IndexFunc(storeEngines, func(e engine) bool { return e.driver == c.driver })]
			e.server, e.params = server, ""
			s := e.scratch(t)
			st := keyedState(s.dialect, "BIGINT", true)
			q := st.through(t, s, "procedure")
			s.raw.SetMaxIdleConns(0) // pgx does not ask whether an idle one has outlived its server

			var (
				got  runs
				wg   sync.WaitGroup
				stop = make(chan struct{})
			)
			for _, way := range waysToReserve {
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
					q.Lock = store.LockOptimistic
				}
				r := storeOf(t, s).Reserver(q)
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
			before := got.count()
			deadline := time.Now().Add(2 * time.Second)
			for got.count() == before && time.Now().Before(deadline) {
				time.Sleep(10 * time.Millisecond)
			}
			close(stop)
			wg.Wait()
			count, total := got.check(t)
			if count == before {
				t.Error("nothing is reserved two seconds after the server is back")
			}
			last := countInt(t, s.raw, st.value)
			t.Logf("%d runs; %d of %d integers are lost", count, last-total, last)
			if last < total {
				t.Errorf("%d is stored after %d", last, total)
			}
		})
	}
}

// reserveUntil reserves until it is stopped. An error that says that the state
// cannot be used would be wrong.
func reserveUntil(t *testing.T, r *store.Reserver, got *runs, stop chan struct{}) {
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
		got.add(one, n)
	}
}
