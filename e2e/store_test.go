package e2e_test

import (
	"cmp"
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
	"github.com/keyfill/keyfill/keysource"
)

// storeEngines are those that take a store's own connections: a database in
// memory does not.
var storeEngines = []engine{sqliteFile, mysqlDefault, mysqlInterp, pgxDefault, pgxMode("exec"), pgxSimple, pqDefault, pqBinary}

// storeDrivers are one for each driver.
var storeDrivers = []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}

// storeLoad are those of different speed.
var storeLoad = []engine{sqliteFile, mysqlDefault, mysqlInterp, pgxDefault, pgxSimple, pqDefault}

// orders is the sequence of most tests, whose row starts at 1.
var orders = store.Sequence{
	Name:    "orders.id",
	Columns: []store.Column{{Table: "orders", Name: "id"}},
	Create:  true,
}

// storeOf returns a store with a pool of its own, as each process has one.
func storeOf(t testing.TB, s *scratch) *store.Store {
	t.Helper()
	db := store.Pool(s.dialect, s.connector)
	t.Cleanup(func() { db.Close() })
	return store.New(s.dialect, db)
}

// openOrders creates the tables and returns a store with the sequence open.
func openOrders(t *testing.T, s *scratch) *store.Store {
	t.Helper()
	exec(t, s.raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20))")
	st := storeOf(t, s)
	if err := st.EnsureSchema(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Open(context.Background(), orders); err != nil {
		t.Fatal(err)
	}
	return st
}

// run is n integers that were reserved.
type run struct{ first, n int64 }

// runs collects what was reserved.
type runs struct {
	mu      sync.Mutex
	all     []run
	servers map[string]bool
}

func (r *runs) add(got keysource.Reservation, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, run{got.First, n})
	if r.servers == nil {
		r.servers = map[string]bool{}
	}
	r.servers[got.Server] = true
}

// check fails the test where two runs overlap, and returns their number and
// that of the integers in them.
func (r *runs) check(t *testing.T) (count int, total int64) {
	t.Helper()
	slices.SortFunc(r.all, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	next := int64(1)
	for _, one := range r.all {
		if one.first < next {
			t.Fatalf("a run begins at %d, the one before ends at %d", one.first, next-1)
		}
		next = one.first + one.n
		total += one.n
	}
	return len(r.all), total
}

// TestStoreReserve: 8 goroutines on 4 pools reserve 1,000 runs each. They never
// overlap and, since none is lost, leave no gap.
func TestStoreReserve(t *testing.T) {
	each(t, storeLoad, func(t *testing.T, s *scratch) {
		openOrders(t, s)
		var (
			got runs
			wg  sync.WaitGroup
		)
		for range 4 {
			st := storeOf(t, s)
			for range 2 {
				wg.Go(func() {
					seen := int64(0)
					for range 1000 {
						n := 1 + rand.Int64N(1000)
						r, err := st.Reserve(context.Background(), orders, n, seen)
						if err != nil {
							t.Error(err)
							return
						}
						if r.First < seen {
							t.Errorf("%+v after %d", r, seen)
						}
						seen = r.First + n
						got.add(r, n)
					}
				})
			}
		}
		wg.Wait()
		count, total := got.check(t)
		if count != 8000 || len(got.servers) != 1 {
			t.Errorf("%d runs, want 8000; servers %v, want one", count, got.servers)
		}
		if next := countInt(t, s.raw, "SELECT next_value FROM keyfill_sequences"); next != total+1 {
			t.Errorf("the next value is %d, want %d", next, total+1)
		}
	})
}

// countInt is count for what may be more than an int.
func countInt(t testing.TB, db *sql.DB, query string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// TestStoreKilledServer: the server is killed while 8 goroutines reserve, and
// started again. What was reserved before is not reserved after.
func TestStoreKilledServer(t *testing.T) {
	for _, c := range driverCases {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			server := testdb.Start(t, c.engine)
			e := storeEngines[slices.IndexFunc(storeEngines, func(e engine) bool { return e.driver == c.driver })]
			e.server, e.params = server, ""
			s := e.scratch(t)
			openOrders(t, s)
			s.raw.SetMaxIdleConns(0) // pgx does not ask whether an idle one has outlived its server

			var (
				got  runs
				wg   sync.WaitGroup
				stop = make(chan struct{})
			)
			for range 4 {
				st := storeOf(t, s)
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
							r, err := st.Reserve(context.Background(), orders, n, seen)
							if err != nil {
								var e *store.Error
								if errors.Is(err, driver.ErrBadConn) || errors.As(err, &e) {
									t.Errorf("%v", err)
								}
								time.Sleep(10 * time.Millisecond)
								continue
							}
							seen = r.First + n
							got.add(r, n)
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
			if len(got.servers) != 1 {
				t.Errorf("a server that was started again is another one: %v", got.servers)
			}
			next := countInt(t, s.raw, "SELECT next_value FROM keyfill_sequences")
			t.Logf("%d runs; %d of %d integers are lost", count, next-1-total, next-1)
		})
	}
}

func (r *runs) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// onConn runs f on a connection of the driver.
func onConn(t *testing.T, s *scratch, f func(ctx context.Context, c *sql.Conn, raw driver.Conn)) {
	t.Helper()
	ctx := context.Background()
	c, err := s.raw.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Raw(func(raw any) error {
		f(ctx, c, raw.(driver.Conn))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// sqlOn executes on a driver's connection.
func sqlOn(t *testing.T, c driver.Conn, query string) {
	t.Helper()
	stmt, err := c.Prepare(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer stmt.Close()
	if _, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), nil); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// TestStoreOnConnection: on the application's connection a reservation is its
// own outside of a transaction, and the transaction's inside: undone with it,
// or with a savepoint.
func TestStoreOnConnection(t *testing.T) {
	each(t, append(storeEngines, sqliteMemory), func(t *testing.T, s *scratch) {
		if s.memory {
			exec(t, s.raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		} else {
			openOrders(t, s)
		}
		onConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
			on, within := store.On(s.dialect, c), store.Within(s.dialect, c)
			if err := within.EnsureSchema(ctx); !errors.Is(err, store.ErrTransaction) {
				t.Errorf("EnsureSchema inside a transaction: %v", err)
			}
			if err := on.EnsureSchema(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := on.Open(ctx, orders); err != nil {
				t.Fatal(err)
			}
			take := func(st *store.Store, want int64) {
				t.Helper()
				r, err := st.Reserve(ctx, orders, 10, want)
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
				sqlOn(t, c, begin)
				take(within, 11)
				take(within, 21)
				sqlOn(t, c, "SAVEPOINT a")
				take(within, 31)
				sqlOn(t, c, "ROLLBACK TO SAVEPOINT a")
				take(within, 31)
				sqlOn(t, c, end)
			}
			take(on, 41)

			// A row that is made in a transaction is gone with it.
			other := orders
			other.Name, other.Exclusive = "other", true
			sqlOn(t, c, begin)
			if row, err := within.Open(ctx, other); err != nil || !row.Created {
				t.Errorf("Open: %+v, %v", row, err)
			}
			sqlOn(t, c, "ROLLBACK")
			if _, err := on.Reserve(ctx, other, 1, 0); !errors.Is(err, store.ErrNoRow) {
				t.Errorf("Reserve: %v, want %v", err, store.ErrNoRow)
			}
		})
	})
}

// TestStoreBesideTransaction: the store makes progress while the only
// connection that the application may have is in a transaction, and its
// reservations outlive the rollback.
func TestStoreBesideTransaction(t *testing.T) {
	each(t, storeDrivers[1:], func(t *testing.T, s *scratch) {
		st := openOrders(t, s)
		s.raw.SetMaxOpenConns(1)
		tx, err := s.raw.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("INSERT INTO orders (id) VALUES (1000)"); err != nil {
			t.Fatal(err)
		}
		r, err := st.Reserve(context.Background(), orders, 5, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if next := countInt(t, s.raw, "SELECT next_value FROM keyfill_sequences"); next != r.First+5 {
			t.Errorf("the next value is %d after %+v", next, r)
		}
	})
}

// TestStoreMissingRow: the error says which row is missing, and how to make it.
func TestStoreMissingRow(t *testing.T) {
	each(t, storeDrivers, func(t *testing.T, s *scratch) {
		ctx := context.Background()
		openOrders(t, s)
		exec(t, s.raw, "CREATE TABLE parts (no INT NOT NULL PRIMARY KEY)")
		exec(t, s.raw, "INSERT INTO parts (no) VALUES (41), (7)")
		st := storeOf(t, s)
		q := store.Sequence{
			Name:       `it's a \ "name"`,
			Columns:    []store.Column{{Table: "parts", Name: "no"}},
			Parameters: "k='1'",
		}
		_, err := st.Open(ctx, q)
		if _, reserveErr := st.Reserve(ctx, q, 1, 0); fmt.Sprint(reserveErr) != fmt.Sprint(err) {
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
		exec(t, s.raw, e.SQL)
		row, err := st.Open(ctx, q)
		if err != nil || row.Next != 42 || row.Created {
			t.Errorf("Open: %+v, %v; want the next to be 42", row, err)
		}
		q.Start, q.Name, q.Exclusive = 1000, "parts", true
		_, err = st.Open(ctx, q)
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		exec(t, s.raw, e.SQL)
		if row, err := st.Open(ctx, q); err != nil || row.Next != 1000 {
			t.Errorf("Open: %+v, %v; want the next to be 1000", row, err)
		}
	})
}

// TestStoreNoTables: the error says that the tables are missing.
func TestStoreNoTables(t *testing.T) {
	each(t, storeDrivers, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		if _, err := storeOf(t, s).Open(context.Background(), orders); !errors.Is(err, store.ErrTables) {
			t.Errorf("Open: %v, want %v", err, store.ErrTables)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := storeOf(t, s).Open(ctx, orders); errors.Is(err, store.ErrTables) || !errors.Is(err, context.Canceled) {
			t.Errorf("Open: %v, want %v", err, context.Canceled)
		}
	})
}
