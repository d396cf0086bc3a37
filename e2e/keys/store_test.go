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
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
)

// storeEngines are those that take a store's own connections: a database in
// memory does not.
var storeEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxMode("exec"), harness.PgxSimple, harness.PQDefault, harness.PQBinary}

// storeLoad are engines of different speed.
var storeLoad = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}

// TestStoreReserve: 8 goroutines on 4 pools reserve 100 runs each, and 1,000 with make
// soak. They never overlap and, since none is lost, leave no gap.
func TestStoreReserve(t *testing.T) {
	t.Parallel()
	each := 100
	if harness.Soaking() {
		each = 1000
	}
	harness.Each(t, storeLoad, func(t *testing.T, s *harness.Scratch) {
		harness.OpenOrders(t, s)
		var (
			got harness.Runs
			wg  sync.WaitGroup
		)
		for range 4 {
			st := harness.StoreOf(t, s)
			for range 2 {
				wg.Go(func() {
					seen := int64(0)
					for range each {
						n := 1 + rand.Int64N(1000)
						r, err := sequence.Reserve(context.Background(), st, harness.Orders, n, seen)
						if err != nil {
							t.Error(err)
							return
						}
						if r.First < seen {
							t.Errorf("%+v after %d", r, seen)
						}
						seen = r.First + n
						got.Add(r, n)
					}
				})
			}
		}
		wg.Wait()
		count, total := got.Check(t)
		if count != 8*each || len(got.Servers) != 1 {
			t.Errorf("%d runs, want %d; servers %v, want one", count, 8*each, got.Servers)
		}
		if next := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences"); next != total+1 {
			t.Errorf("the next value is %d, want %d", next, total+1)
		}
	})
}

// TestStoreKilledServer: the server is killed while 8 goroutines reserve, and
// started again. What was reserved before is not reserved after.
func TestStoreKilledServer(t *testing.T) {
	t.Parallel()
	for _, c := range harness.DriverCases {
		t.Run(c.Driver, func(t *testing.T) {
			t.Parallel()
			server := testdb.Start(t, c.Engine)
			e := storeEngines[slices.IndexFunc(storeEngines, func(e harness.Engine) bool { return e.Driver == c.Driver })]
			e.Server, e.Params = server, ""
			s := e.Scratch(t)
			harness.OpenOrders(t, s)
			s.Raw.SetMaxIdleConns(0) // pgx does not ask whether an idle one has outlived its server

			var (
				got  harness.Runs
				wg   sync.WaitGroup
				stop = make(chan struct{})
			)
			for range 4 {
				st := harness.StoreOf(t, s)
				for range 2 {
					wg.Go(func() {
						seen := int64(0)
						for {
							select {
							case <-stop:
								return
							default:
							}
							n := 1 + rand.Int64N(100)
							r, err := sequence.Reserve(context.Background(), st, harness.Orders, n, seen)
							if err != nil {
								var e *store.Error
								if errors.Is(err, driver.ErrBadConn) || errors.As(err, &e) {
									t.Errorf("%v", err)
								}
								time.Sleep(10 * time.Millisecond)
								continue
							}
							seen = r.First + n
							got.Add(r, n)
						}
					})
				}
			}
			for range 3 {
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
			if len(got.Servers) != 1 {
				t.Errorf("a server that was started again is another one: %v", got.Servers)
			}
			next := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences")
			t.Logf("%d runs; %d of %d integers are lost", count, next-1-total, next-1)
		})
	}
}

// TestStoreOnConnection: on the application's connection a reservation is its
// own outside of a transaction, and the transaction's inside: undone with it,
// or with a savepoint.
func TestStoreOnConnection(t *testing.T) {
	t.Parallel()
	harness.Each(t, append(storeEngines, harness.SQLiteMemory), func(t *testing.T, s *harness.Scratch) {
		if s.Memory {
			harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		} else {
			harness.OpenOrders(t, s)
		}
		harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
			on, within := store.On(s.Dialect, c), store.Within(s.Dialect, c)
			if err := schema.Of(within).Ensure(ctx); !errors.Is(err, store.ErrTransaction) {
				t.Errorf("EnsureSchema inside a transaction: %v", err)
			}
			if err := schema.Of(on).Ensure(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := reserver.Open(ctx, on, harness.Orders); err != nil {
				t.Fatal(err)
			}
			take := func(st *store.Store, want int64) {
				t.Helper()
				r, err := sequence.Reserve(ctx, st, harness.Orders, 10, want)
				if err != nil {
					t.Fatal(err)
				}
				if r.First != want {
					t.Errorf("%+v, want the first to be %d", r, want)
				}
			}
			take(on, 1)
			begin := "BEGIN"
			for _, end := range []string{"ROLLBACK", "COMMIT"} {
				harness.SqlOn(t, c, begin)
				take(within, 11)
				take(within, 21)
				harness.SqlOn(t, c, "SAVEPOINT a")
				take(within, 31)
				harness.SqlOn(t, c, "ROLLBACK TO SAVEPOINT a")
				take(within, 31)
				harness.SqlOn(t, c, end)
			}
			take(on, 41)

			// A row that is made in a transaction is gone with it.
			other := harness.Orders
			other.Name, other.Exclusive = "other", true
			harness.SqlOn(t, c, begin)
			if row, err := reserver.Open(ctx, within, other); err != nil || !row.Created {
				t.Errorf("Open: %+v, %v", row, err)
			}
			harness.SqlOn(t, c, "ROLLBACK")
			if _, err := sequence.Reserve(ctx, on, other, 1, 0); !errors.Is(err, store.ErrNoRow) {
				t.Errorf("Reserve: %v, want %v", err, store.ErrNoRow)
			}
		})
	})
}

// TestStoreBesideTransaction: the store makes progress while the only
// connection that the application may have is in a transaction, and its
// reservations outlive the rollback.
func TestStoreBesideTransaction(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		st := harness.OpenOrders(t, s)
		s.Raw.SetMaxOpenConns(1)
		tx, err := s.Raw.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO orders (id) VALUES (1000)"); err != nil {
			t.Fatal(err)
		}
		r, err := sequence.Reserve(context.Background(), st, harness.Orders, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if next := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences"); next != r.First+5 {
			t.Errorf("the next value is %d after %+v", next, r)
		}
	})
}

// TestStoreMissingRow: the error says which row is missing, and how to make it.
func TestStoreMissingRow(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.OpenOrders(t, s)
		harness.Exec(t, s.Raw, "CREATE TABLE parts (no INT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, "INSERT INTO parts (no) VALUES (41), (7)")
		st := harness.StoreOf(t, s)
		q := sequence.Sequence{
			Name:       `it's a \ "name"`,
			Columns:    []store.Column{{Table: "parts", Name: "no"}},
			Parameters: "k='1'",
		}
		_, err := reserver.Open(ctx, st, q)
		if _, reserveErr := sequence.Reserve(ctx, st, q, 1, 0); fmt.Sprint(reserveErr) != fmt.Sprint(err) {
			t.Errorf("Reserve: %v\nOpen:    %v", reserveErr, err)
		}
		var e *store.Error
		if !errors.As(err, &e) || !errors.Is(err, store.ErrNoRow) || !errors.Is(err, keysource.ErrStoreState) {
			t.Fatalf("Open: %v, want %v", err, store.ErrNoRow)
		}
		for _, part := range []string{"parts.no", "keyfill_sequences", e.SQL} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not name %q", err, part)
			}
		}
		harness.Exec(t, s.Raw, e.SQL)
		row, err := reserver.Open(ctx, st, q)
		if err != nil || row.Next != 42 || row.Created {
			t.Errorf("Open: %+v, %v; want the next to be 42", row, err)
		}
		q.Made.Start, q.Name, q.Exclusive = 1000, "parts", true
		_, err = reserver.Open(ctx, st, q)
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		harness.Exec(t, s.Raw, e.SQL)
		if row, err := reserver.Open(ctx, st, q); err != nil || row.Next != 1000 {
			t.Errorf("Open: %+v, %v; want the next to be 1000", row, err)
		}
	})
}

// TestStoreNoTables: the error says that the tables are missing.
func TestStoreNoTables(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		if _, err := reserver.Open(context.Background(), harness.StoreOf(t, s), harness.Orders); !errors.Is(err, store.ErrTables) {
			t.Errorf("Open: %v, want %v", err, store.ErrTables)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := reserver.Open(ctx, harness.StoreOf(t, s), harness.Orders); errors.Is(err, store.ErrTables) || !errors.Is(err, context.Canceled) {
			t.Errorf("Open: %v, want %v", err, context.Canceled)
		}
	})
}
