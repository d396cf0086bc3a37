package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
)

// TestStoreCommitFails: PostgreSQL sends the row of UPDATE … RETURNING before
// it commits. When the commit then fails, nothing is given out.
func TestStoreCommitFails(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		st := harness.OpenOrders(t, s)
		harness.Exec(t, s.Raw, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$`)
		harness.Exec(t, s.Raw, `CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON keyfill_sequences
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
		wantRefused := func(what string, got any, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "refused at the commit") {
				t.Errorf("%s: %+v, %v; want the error of the commit", what, got, err)
			}
		}
		got, err := sequence.Reserve(ctx, st, harness.Orders, 5, 0)
		wantRefused("Reserve", got, err)
		harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
			got, err := sequence.Reserve(ctx, store.On(s.Dialect, c), harness.Orders, 5, 0)
			wantRefused("Reserve on a connection", got, err)
		})
		harness.Exec(t, s.Raw, "DROP TRIGGER refuse ON keyfill_sequences")
		if got, err := sequence.Reserve(ctx, st, harness.Orders, 5, 0); err != nil || got.First != 1 {
			t.Errorf("Reserve: %+v, %v; want 1", got, err)
		}
	})
}

// TestStoreCancelled: a reservation that waits for a lock ends with its context; its
// integers are never handed out.
func TestStoreCancelled(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		st := harness.OpenOrders(t, s)
		tx, err := s.Raw.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE keyfill_sequences SET next_value = 100"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		if got, err := sequence.Reserve(ctx, st, harness.Orders, 1, 0); err == nil {
			t.Errorf("Reserve: %+v", got)
		}
		// MariaDB itself gives up after 50 seconds, PostgreSQL never.
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("it took %v", took)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got, err := sequence.Reserve(context.Background(), st, harness.Orders, 1, 0); err != nil || got.First < 100 {
			t.Errorf("Reserve: %+v, %v; want 100 or 101", got, err)
		}
	})
}

// TestStoreSerializable: where transactions are SERIALIZABLE by default, a reservation
// that the engine rolls back for the sake of others is made again, and none is given
// twice.
func TestStoreSerializable(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.OpenOrders(t, s)
		if s.IsPostgres() {
			harness.Exec(t, s.Raw, fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = 'serializable'", harness.DatabaseOf(t, s)))
		} else {
			s.Connector = harness.ConnectorOf(t, s.Driver, s.Server.DSN(harness.DatabaseOf(t, s))+"?tx_isolation='SERIALIZABLE'")
		}
		var (
			got    harness.Runs
			failed int
			mu     sync.Mutex
			wg     sync.WaitGroup
		)
		for range 4 {
			st := harness.StoreOf(t, s)
			wg.Go(func() {
				for range 200 {
					n := 1 + rand.Int64N(100)
					r, err := sequence.Reserve(context.Background(), st, harness.Orders, n, 0)
					if err != nil {
						if !harness.IsSerialization(err) {
							t.Error(err)
						}
						mu.Lock()
						failed++
						mu.Unlock()
						continue
					}
					got.Add(r, n)
				}
			})
		}
		wg.Wait()
		count, _ := got.Check(t)
		// One can lose to others as often as it is tried.
		if count+failed != 800 || failed > 8 {
			t.Errorf("%d runs and %d failures, want 800 and at most 8 failures", count, failed)
		}
		t.Logf("%d of 800 failed", failed)
	})
}

// TestStoreMark: marks are raised one after the other and never lowered, so that no two
// callers get the same time.
func TestStoreMark(t *testing.T) {
	t.Parallel()
	harness.Each(t, storeEngines, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		st := harness.OpenOrders(t, s)
		w := worker.Worker{Name: "flakes", Number: 5, Owner: "a"}
		for _, c := range []struct{ until, want int64 }{{1000, 0}, {3000, 1000}, {2000, 3000}, {3000, 3000}, {3000, 3000}, {4000, 3000}} {
			if got, err := worker.Mark(ctx, st, w, c.until); got != c.want || err != nil {
				t.Errorf("Mark(%d) = %d, %v; want %d", c.until, got, err, c.want)
			}
		}
		epochs := func() int { return harness.Count(t, s.Raw, "SELECT epoch FROM keyfill_workers WHERE worker = 5") }
		if n := epochs(); n != 1 {
			t.Errorf("epoch %d, want 1", n)
		}
		w.Owner = "b"
		if got, err := worker.New(st, w).Mark(ctx, 5000); got != 4000 || err != nil {
			t.Errorf("Mark = %d, %v; want 4000", got, err)
		}
		if n := epochs(); n != 2 {
			t.Errorf("epoch %d, want 2", n)
		}
		w.Number = 6
		if got, err := worker.Mark(ctx, st, w, 100); got != 0 || err != nil {
			t.Errorf("Mark of another worker = %d, %v; want 0", got, err)
		}

		var (
			got harness.Runs
			wg  sync.WaitGroup
		)
		for i := range 4 {
			st := harness.StoreOf(t, s)
			wg.Go(func() {
				m := worker.New(st, worker.Worker{Name: "flakes", Number: 7, Owner: fmt.Sprint(i)})
				for range 100 {
					until := time.Now().UnixMilli() + rand.Int64N(100)
					before, err := m.Mark(ctx, until)
					if err != nil {
						t.Error(err)
						return
					}
					if before < until {
						got.Mu.Lock()
						got.All = append(got.All, harness.Run{First: before + 1, N: until - before})
						got.Mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		got.Check(t)

		w.Name = ""
		if _, err := worker.Mark(ctx, st, w, 1); !errors.Is(err, store.ErrName) {
			t.Errorf("Mark: %v, want %v", err, store.ErrName)
		}
	})
}

// TestStoreMarkerNoTables: the error says what is missing.
func TestStoreMarkerNoTables(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		m := worker.New(harness.StoreOf(t, s), worker.Worker{Name: "flakes"})
		if _, err := m.Mark(context.Background(), 1); !errors.Is(err, store.ErrTables) {
			t.Errorf("Mark: %v, want %v", err, store.ErrTables)
		}
	})
}

// sqliteJournals are the ways in which SQLite keeps transactions apart.
var sqliteJournals = []string{"WAL", "DELETE"}

// TestStoreSQLite: on one of two connections, inside a transaction that has
// read, a reservation is the transaction's; while another connection writes it
// fails after busy_timeout, and not later.
func TestStoreSQLite(t *testing.T) {
	t.Parallel()
	for _, journal := range sqliteJournals {
		for _, begin := range []string{"BEGIN", "BEGIN IMMEDIATE"} {
			t.Run(journal+"/"+begin, func(t *testing.T) {
				t.Parallel()
				s := harness.SQLiteFile.Scratch(t)
				s.Raw.Close()
				s.Connector = harness.ConnectorOf(t, s.Driver, "file:"+filepath.Join(t.TempDir(), "test.db")+
					"?_pragma=busy_timeout(100)&_pragma=journal_mode("+journal+")")
				s.Raw = sql.OpenDB(s.Connector)
				t.Cleanup(func() { s.Raw.Close() })
				harness.OpenOrders(t, s)
				harness.Exec(t, s.Raw, "CREATE TABLE rows (id INTEGER PRIMARY KEY)")
				harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
					harness.OnConn(t, s, func(_ context.Context, _ *sql.Conn, other driver.Conn) {
						sqliteTransaction(ctx, t, s, begin, c, other)
					})
				})
			})
		}
	}
}

func sqliteTransaction(ctx context.Context, t *testing.T, s *harness.Scratch, begin string, c, other driver.Conn) {
	t.Helper()
	harness.SqlOn(t, c, begin)
	harness.SqlOn(t, c, "INSERT INTO rows VALUES (77)")
	r, err := sequence.Reserve(ctx, store.Within(s.Dialect, c), harness.Orders, 3, 0)
	if err != nil || r.First != 1 {
		t.Errorf("within: %+v, %v; want 1", r, err)
	}
	// It gives up itself: the writer is not ended.
	if r, err := sequence.Reserve(ctx, store.On(s.Dialect, other), harness.Orders, 3, 0); err == nil {
		t.Errorf("beside a writer: %+v", r)
	}
	harness.SqlOn(t, c, "ROLLBACK")
	if r, err := sequence.Reserve(ctx, store.On(s.Dialect, other), harness.Orders, 3, 0); err != nil || r.First != 1 {
		t.Errorf("after it: %+v, %v; want 1", r, err)
	}

	// What the application reads about its own INSERT stays.
	harness.SqlOn(t, c, "INSERT INTO rows VALUES (78)")
	q := harness.Orders
	q.Name, q.Exclusive, q.EnsureSchema = "another", true, true
	if _, err := reserver.Open(ctx, store.On(s.Dialect, c), q); err != nil {
		t.Error(err)
	}
	if _, err := worker.Mark(ctx, store.On(s.Dialect, c), worker.Worker{Name: "flakes"}, 1); err != nil {
		t.Error(err)
	}
	if id := valueOn(t, c, "SELECT last_insert_rowid()"); id != int64(78) {
		t.Errorf("last_insert_rowid() is %v, want 78", id)
	}
}

// valueOn returns the only value of a query on a driver's connection.
func valueOn(t *testing.T, c driver.Conn, query string) driver.Value {
	t.Helper()
	rows, err := c.(driver.QueryerContext).QueryContext(context.Background(), query, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	dest := make([]driver.Value, 1)
	if err := rows.Next(dest); err != nil {
		t.Fatal(err)
	}
	return dest[0]
}

// TestStorePoolIsLazy: nothing is connected before the first use.
func TestStorePoolIsLazy(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	db := store.Pool(s.Dialect, s.Connector)
	defer db.Close()
	st := store.New(s.Dialect, db)
	reserver.New(st, harness.Orders)
	worker.New(st, worker.Worker{Name: "flakes"})
	if n := db.Stats().OpenConnections; n != 0 {
		t.Errorf("%d connections are open", n)
	}
	if err := schema.Of(st).Ensure(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := db.Stats().OpenConnections; n != 1 {
		t.Errorf("%d connections are open, want 1", n)
	}
}

// BenchmarkStoreReserve measures a reservation, alone and 8 at a time.
func BenchmarkStoreReserve(b *testing.B) {
	for _, e := range storeEngines {
		b.Run(e.Name, func(b *testing.B) {
			dsn, connector := "", driver.Connector(nil)
			if e.Server != nil {
				e.Server.Need(b)
				dsn = e.Server.DSN(e.Server.Database(b, e.Driver))
				if e.Params != "" {
					dsn += map[bool]string{true: "&", false: "?"}[strings.Contains(dsn, "?")] + e.Params
				}
			} else {
				dsn = "file:" + filepath.Join(b.TempDir(), "test.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
			}
			db, err := sql.Open(e.Driver, dsn)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			if dc, ok := db.Driver().(driver.DriverContext); ok {
				connector, err = dc.OpenConnector(dsn)
			} else {
				connector = harness.DSNConnector{Opener: db.Driver(), DSN: dsn}
			}
			if err != nil {
				b.Fatal(err)
			}
			pool := store.Pool(e.Dialect, connector)
			defer pool.Close()
			st := store.New(e.Dialect, pool)
			if _, err := db.Exec("CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)"); err != nil {
				b.Fatal(err)
			}
			q := harness.Orders
			q.EnsureSchema = true
			if _, err := reserver.Open(context.Background(), st, q); err != nil {
				b.Fatal(err)
			}
			b.Run("one", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := sequence.Reserve(context.Background(), st, q, 1000, 0); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("eight", func(b *testing.B) {
				b.SetParallelism(4) // times 2 processors
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := sequence.Reserve(context.Background(), st, q, 1000, 0); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		})
	}
}
