package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// callShipped is another program that calls the shipped procedure, each time alone or in
// a transaction.
func callShipped(s *harness.Scratch, begin string) harness.Allocator {
	query := "CALL keyfill_reserve('orders.id', ?)"
	if s.IsPostgres() {
		query = "SELECT keyfill_reserve('orders.id', $1)"
	}
	return func(ctx context.Context, c *sql.Conn, n int64) (first int64, err error) {
		call := func() error { return c.QueryRowContext(ctx, query, n).Scan(&first) }
		if begin == "" {
			err = call()
			return first, err
		}
		err = harness.ArticleTransaction(ctx, c, begin, call)
		return first, err
	}
}

// TestStoreProcedureOfOthers: other programs call the shipped procedure, and
// keyfill reserves in each of its ways, at the same time.
func TestStoreProcedureOfOthers(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		// It is created as it is printed, over an older one too.
		for range 2 {
			for _, statement := range append(store.DDL(s.Dialect), store.ProcedureDDL(s.Dialect)...) {
				harness.Exec(t, s.Raw, statement)
			}
		}
		q := harness.Orders
		optimistic, called := q, q
		optimistic.Lock = sequence.LockOptimistic
		called.Procedure = store.ReserveProcedure
		if _, err := reserver.Open(context.Background(), harness.StoreOf(t, s), q); err != nil {
			t.Fatal(err)
		}
		harness.Together(t, s, map[string]harness.Allocator{
			"alone": callShipped(s, ""), "in a transaction": callShipped(s, "BEGIN"),
		}, map[string]sequence.Sequence{"pessimistic": q, "optimistic": optimistic, "procedure": called})
	})
}

// TestStoreProcedureRefuses: what the shipped procedure is called with wrongly is
// an error, and changes nothing.
func TestStoreProcedureRefuses(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		q := harness.Orders
		q.EnsureSchema, q.Procedure = true, store.ReserveProcedure
		r := reserver.New(harness.StoreOf(t, s), q)
		if _, err := r.Reserve(ctx, 10, 0); err != nil {
			t.Fatal(err)
		}
		c, err := s.Raw.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for arguments, want := range map[string]string{
			"'orders.id', 0":    "count must be",
			"'orders.id', -5":   "count must be",
			"'orders.id', NULL": "count must be",
			"'orders.ID', 1":    "not one row",
			"NULL, 1":           "not one row",
		} {
			call := "CALL keyfill_reserve(" + arguments + ")"
			if s.IsPostgres() {
				call = "SELECT keyfill_reserve(" + arguments + ")"
			}
			var first int64
			if err := c.QueryRowContext(ctx, call).Scan(&first); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %d, %v; want %q", arguments, first, err, want)
			}
		}
		kept := q
		kept.Create = false
		keeps := reserver.New(harness.StoreOf(t, s), kept)
		if got, err := keeps.Reserve(ctx, 1, 0); err != nil || got.First != 11 {
			t.Errorf("%+v, %v; want 11", got, err)
		}

		// keyfill says what it means.
		creates := r
		q.Bounds.Max = 20
		r = reserver.New(harness.StoreOf(t, s), q)
		if _, err := r.AllOrNone().Reserve(ctx, 10, 0); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("10 of 9: %v", err)
		}
		if got, err := r.Reserve(ctx, 1, 0); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("%+v, %v; want %v", got, err, keysource.ErrExhausted)
		}
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		if got, err := keeps.Reserve(ctx, 1, 11); !errors.Is(err, store.ErrNoRow) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrNoRow)
		}
		if got, err := creates.Reserve(ctx, 1, 20); err != nil || got.First <= 20 {
			t.Errorf("%+v, %v; want a row that is made again above 20", got, err)
		}
		if s.IsPostgres() {
			harness.Exec(t, s.Raw, "DROP FUNCTION keyfill_reserve")
		} else {
			harness.Exec(t, s.Raw, "DROP PROCEDURE keyfill_reserve")
		}
		q.Bounds.Max, q.EnsureSchema = 0, false
		if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 1, 0); !errors.Is(err, store.ErrProcedure) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrProcedure)
		}
	})
}

// TestStoreProcedureRights: a user that may read the table and execute the procedure, but
// not change the table, reserves and advances through it.
func TestStoreProcedureRights(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	ctx := context.Background()
	harness.OpenOrders(t, s)
	for _, statement := range store.ProcedureDDL(s.Dialect) {
		harness.Exec(t, s.Raw, statement)
	}
	id := strings.ToLower(strings.TrimPrefix(harness.DatabaseOf(t, s), "keyfill_"))
	user := "kp_" + id
	harness.Exec(t, s.Raw, "CREATE USER "+user)
	t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP USER "+user) })
	harness.Exec(t, s.Raw, "GRANT SELECT ON keyfill_sequences TO "+user)
	harness.Exec(t, s.Raw, "GRANT SELECT ON orders TO "+user)
	harness.Exec(t, s.Raw, "GRANT EXECUTE ON PROCEDURE keyfill_reserve TO "+user)
	dsn := s.Server.DSN(harness.DatabaseOf(t, s))
	changed := strings.Replace(dsn, "root@", user+"@", 1)
	if changed == dsn {
		harness.Skip(t, "the server is one whose users are not ours to make")
	}
	db := store.Pool(s.Dialect, harness.ConnectorOf(t, s.Driver, changed))
	defer db.Close()
	q := harness.Orders
	q.Create, q.Procedure = false, store.ReserveProcedure
	r := reserver.New(store.New(s.Dialect, db), q)
	if got, err := r.Reserve(ctx, 5, 0); err != nil || got.First != 1 {
		t.Fatalf("%+v, %v; want 1", got, err)
	}
	if err := r.Advance(ctx, 100); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Reserve(ctx, 5, 0); err != nil || got.First != 100 {
		t.Errorf("%+v, %v; want 100", got, err)
	}
	q.Procedure = ""
	if got, err := reserver.New(store.New(s.Dialect, db), q).Reserve(ctx, 5, 0); err == nil {
		t.Errorf("by statements: %+v", got)
	}
}

// TestStoreFresh: a row for keys that are not its integers is made while the
// column is empty, and begins at Start; afterwards only its own one will do.
func TestStoreFresh(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE codes (code VARCHAR(10) NOT NULL PRIMARY KEY)")
		q := sequence.Sequence{
			Name: "codes", Columns: []store.Column{{Table: "codes", Name: "code", Unranked: true}},
			EnsureSchema: true, Create: true, Fresh: true, Made: sequence.MadeRow{Start: 500}, Parameters: "k=7",
		}
		if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 3, 0); err != nil || got.First != 500 {
			t.Errorf("%+v, %v; want 500", got, err)
		}
		harness.Exec(t, s.Raw, "INSERT INTO codes VALUES ('abc')")
		if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 3, 0); err != nil || got.First != 503 {
			t.Errorf("%+v, %v; want 503", got, err)
		}
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		r := reserver.New(harness.StoreOf(t, s), q)
		_, err := r.Reserve(ctx, 3, 0)
		var e *store.Error
		if !errors.As(err, &e) || e.Err != store.ErrFresh || !errors.Is(err, keysource.ErrStoreState) {
			t.Fatalf("%v, want %v", err, store.ErrFresh)
		}
		harness.Exec(t, s.Raw, strings.Replace(e.SQL, "<next number>", "506", 1))
		if got, err := r.Reserve(ctx, 3, 0); err != nil || got.First != 506 {
			t.Errorf("%+v, %v; want 506", got, err)
		}
		if key, err := r.MaxKey(ctx); key != 0 || err != nil {
			t.Errorf("MaxKey: %d, %v", key, err)
		}
		q.Parameters = "k=8"
		if _, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 3, 0); !errors.Is(err, store.ErrParameters) {
			t.Errorf("%v, want %v", err, store.ErrParameters)
		}
		q.Name, q.Columns[0].Table, q.Create = "others", "missing", false
		if _, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 3, 0); !errors.Is(err, store.ErrColumn) {
			t.Errorf("a table that is not there: %v, want %v", err, store.ErrColumn)
		}
	})
}

// TestStoreKeyTableTaken: a column whose keys come from keyfill_sequences is not
// numbered by a key table at the same time, unless that is said.
func TestStoreKeyTableTaken(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.OpenOrders(t, s)
		harness.Exec(t, s.Raw, "CREATE TABLE orders_seq (v BIGINT NOT NULL)")
		harness.Exec(t, s.Raw, "INSERT INTO orders_seq VALUES (1)")
		q := harness.Orders
		q.Table = &sequence.KeyTable{Name: "orders_seq", Value: "v"}
		if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 1, 0); !errors.Is(err, store.ErrTaken) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrTaken)
		}
		q.Exclusive = true
		if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 1, 0); err != nil || got.First != 1 {
			t.Errorf("%+v, %v; want 1", got, err)
		}
	})
}

// TestStoreKeyTableBack: a key table that goes back is an answer and not a
// reservation, and is seen by each way.
func TestStoreKeyTableBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		st := singleState("BIGINT", true)
		for _, way := range st.Ways(s) {
			t.Run(way, func(t *testing.T) {
				s := harness.Emptied(t, s)
				q := st.Through(t, s, way)
				r := reserver.New(harness.StoreOf(t, s), *q)
				if got, err := r.Reserve(context.Background(), 100, 0); err != nil || got.First != 1 {
					t.Fatalf("%+v, %v", got, err)
				}
				harness.Exec(t, s.Raw, "UPDATE orders_seq SET v = 10")
				if got, err := r.Reserve(context.Background(), 5, 101); err != nil || got.First != 11 {
					t.Errorf("%+v, %v; want 11", got, err)
				}
				if stored := harness.CountInt(t, s.Raw, st.Value); q.Procedure == "" && stored != 10 {
					t.Errorf("%d is stored, want 10", stored)
				}
			})
		}
	})
}

// TestStoreSequenceOverKeyTable: a source over a key table, as an application has
// it, in two processes.
func TestStoreSequenceOverKeyTable(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers[1:], func(t *testing.T, s *harness.Scratch) {
		for _, way := range harness.WaysToReserve {
			t.Run(way, func(t *testing.T) {
				s := harness.Emptied(t, s)
				q := harness.KeyedState(s.Dialect, "INTEGER", true).Through(t, s, way)
				harness.Exec(t, s.Raw, "INSERT INTO orders (id) VALUES (41)")
				harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE %s SET %s = 41", q.Table.Name, q.Table.Value))
				seen := map[int64]bool{}
				for range 2 {
					r := reserver.New(harness.StoreOf(t, s), *q)
					src, err := counting.NewSequence(counting.SequenceOptions{
						Reserver: r, MaxKey: r.MaxKey, Max: 1<<31 - 1, Block: 10,
					}, keysource.Env{})
					if err != nil {
						t.Fatal(err)
					}
					defer src.Close(context.Background())
					for range 25 {
						key, err := src.Reserve(context.Background(), 1)
						if err != nil {
							t.Fatal(err)
						}
						if seen[key] || key <= 41 {
							t.Fatalf("%d again, or too low", key)
						}
						seen[key] = true
					}
				}
			})
		}
	})
}

// TestStoreProcedureFailsLate: what a procedure says after its answer counts.
func TestStoreProcedureFailsLate(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, `CREATE PROCEDURE next_key(wanted VARCHAR(40), n INT) BEGIN
			SELECT 5; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'failed after its answer'; END`)
		harness.Exec(t, s.Raw, "CREATE PROCEDURE two_rows(wanted VARCHAR(40), n INT) SELECT 5 UNION ALL SELECT 6")
		harness.Exec(t, s.Raw, "CREATE PROCEDURE two_columns(wanted VARCHAR(40), n INT) SELECT 5, 6")
		for name, want := range map[string]string{
			"next_key": "failed after its answer", "two_rows": "more than one row", "two_columns": "2 columns",
		} {
			q := harness.Orders
			q.Procedure = name
			r := reserver.New(harness.StoreOf(t, s), q)
			if got, err := r.Reserve(context.Background(), 1, 0); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v, %v; want %q", name, got, err, want)
			}
			harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driverConn) {
				for _, st := range []*store.Store{store.On(s.Dialect, c), store.Within(s.Dialect, c)} {
					if got, err := r.At(st).Reserve(ctx, 1, 0); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s on a connection: %+v, %v; want %q", name, got, err, want)
					}
				}
			})
		}
	})
}
