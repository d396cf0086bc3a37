package e2e_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// callShipped is another program that calls the shipped procedure, each time by
// itself or in a transaction.
func callShipped(s *scratch, begin string) allocator {
	query := "CALL keyfill_reserve('orders.id', ?)"
	if s.isPostgres() {
		query = "SELECT keyfill_reserve('orders.id', $1)"
	}
	return func(ctx context.Context, c *sql.Conn, n int64) (first int64, err error) {
		call := func() error { return c.QueryRowContext(ctx, query, n).Scan(&first) }
		if begin == "" {
			err = call()
			return first, err
		}
		err = articleTransaction(ctx, c, begin, call)
		return first, err
	}
}

// TestStoreProcedureOfOthers: other programs call the shipped procedure, and
// keyfill reserves in each of its ways, at the same time.
func TestStoreProcedureOfOthers(t *testing.T) {
	each(t, storeDrivers[1:], func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		// It is created as it is printed, over an older one too.
		for range 2 {
			for _, statement := range append(store.DDL(s.dialect), store.ProcedureDDL(s.dialect)...) {
				exec(t, s.raw, statement)
			}
		}
		q := orders
		optimistic, called := q, q
		optimistic.Lock = store.LockOptimistic
		called.Procedure = store.ReserveProcedure
		if _, err := storeOf(t, s).Open(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		together(t, s, map[string]allocator{
			"alone": callShipped(s, ""), "in a transaction": callShipped(s, "BEGIN"),
		}, map[string]store.Sequence{"pessimistic": q, "optimistic": optimistic, "procedure": called})
	})
}

// TestStoreProcedureRefuses: what the shipped procedure is called with wrongly is
// an error, and changes nothing.
func TestStoreProcedureRefuses(t *testing.T) {
	each(t, storeDrivers[1:], func(t *testing.T, s *scratch) {
		ctx := context.Background()
		exec(t, s.raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		q := orders
		q.EnsureSchema, q.Procedure = true, store.ReserveProcedure
		r := storeOf(t, s).Reserver(q)
		if _, err := r.Reserve(ctx, 10, 0); err != nil {
			t.Fatal(err)
		}
		c, err := s.raw.Conn(ctx)
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
			if s.isPostgres() {
				call = "SELECT keyfill_reserve(" + arguments + ")"
			}
			var first int64
			if err := c.QueryRowContext(ctx, call).Scan(&first); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %d, %v; want %q", arguments, first, err, want)
			}
		}
		kept := q
		kept.Create = false
		keeps := storeOf(t, s).Reserver(kept)
		if got, err := keeps.Reserve(ctx, 1, 0); err != nil || got.First != 11 {
			t.Errorf("%+v, %v; want 11", got, err)
		}

		// keyfill says what it means.
		creates := r
		q.Max = 20
		r = storeOf(t, s).Reserver(q)
		if _, err := r.Whole().Reserve(ctx, 10, 0); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("10 of 9: %v", err)
		}
		if got, err := r.Reserve(ctx, 1, 0); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("%+v, %v; want %v", got, err, keysource.ErrExhausted)
		}
		exec(t, s.raw, "DELETE FROM keyfill_sequences")
		if got, err := keeps.Reserve(ctx, 1, 11); !errors.Is(err, store.ErrNoRow) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrNoRow)
		}
		if got, err := creates.Reserve(ctx, 1, 20); err != nil || got.First <= 20 {
			t.Errorf("%+v, %v; want a row that is made again above 20", got, err)
		}
		if s.isPostgres() {
			exec(t, s.raw, "DROP FUNCTION keyfill_reserve")
		} else {
			exec(t, s.raw, "DROP PROCEDURE keyfill_reserve")
		}
		q.Max, q.EnsureSchema = 0, false
		if got, err := storeOf(t, s).Reserver(q).Reserve(ctx, 1, 0); !errors.Is(err, store.ErrProcedure) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrProcedure)
		}
	})
}

// TestStoreProcedureRights: who may read the table and execute the procedure,
// but not change the table, reserves and advances through it.
func TestStoreProcedureRights(t *testing.T) {
	s := mysqlDefault.scratch(t)
	ctx := context.Background()
	openOrders(t, s)
	for _, statement := range store.ProcedureDDL(s.dialect) {
		exec(t, s.raw, statement)
	}
	id := strings.ToLower(strings.TrimPrefix(databaseOf(t, s), "keyfill_"))
	user := "kp_" + id
	exec(t, s.raw, "CREATE USER "+user)
	t.Cleanup(func() { exec(t, s.raw, "DROP USER "+user) })
	exec(t, s.raw, "GRANT SELECT ON keyfill_sequences TO "+user)
	exec(t, s.raw, "GRANT SELECT ON orders TO "+user)
	exec(t, s.raw, "GRANT EXECUTE ON PROCEDURE keyfill_reserve TO "+user)
	dsn := s.server.DSN(databaseOf(t, s))
	changed := strings.Replace(dsn, "root@", user+"@", 1)
	if changed == dsn {
		skip(t, "the server is one whose users are not ours to make")
	}
	db := store.Pool(s.dialect, connectorOf(t, s.driver, changed))
	defer db.Close()
	q := orders
	q.Create, q.Procedure = false, store.ReserveProcedure
	r := store.New(s.dialect, db).Reserver(q)
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
	if got, err := store.New(s.dialect, db).Reserver(q).Reserve(ctx, 5, 0); err == nil {
		t.Errorf("by statements: %+v", got)
	}
}

// TestStoreFresh: a row for keys that are not its integers is made while the
// column is empty, and begins at Start; afterwards only its own one will do.
func TestStoreFresh(t *testing.T) {
	each(t, storeDrivers, func(t *testing.T, s *scratch) {
		ctx := context.Background()
		exec(t, s.raw, "CREATE TABLE codes (code VARCHAR(10) NOT NULL PRIMARY KEY)")
		q := store.Sequence{
			Name: "codes", Columns: []store.Column{{Table: "codes", Name: "code", Unranked: true}},
			EnsureSchema: true, Create: true, Fresh: true, Start: 500, Parameters: "k=7",
		}
		if got, err := storeOf(t, s).Reserver(q).Reserve(ctx, 3, 0); err != nil || got.First != 500 {
			t.Errorf("%+v, %v; want 500", got, err)
		}
		exec(t, s.raw, "INSERT INTO codes VALUES ('abc')")
		if got, err := storeOf(t, s).Reserver(q).Reserve(ctx, 3, 0); err != nil || got.First != 503 {
			t.Errorf("%+v, %v; want 503", got, err)
		}
		exec(t, s.raw, "DELETE FROM keyfill_sequences")
		r := storeOf(t, s).Reserver(q)
		_, err := r.Reserve(ctx, 3, 0)
		var e *store.Error
		if !errors.As(err, &e) || e.Err != store.ErrFresh || !errors.Is(err, keysource.ErrStoreState) {
			t.Fatalf("%v, want %v", err, store.ErrFresh)
		}
		exec(t, s.raw, strings.Replace(e.SQL, "<next number>", "506", 1))
		if got, err := r.Reserve(ctx, 3, 0); err != nil || got.First != 506 {
			t.Errorf("%+v, %v; want 506", got, err)
		}
		if key, err := r.MaxKey(ctx); key != 0 || err != nil {
			t.Errorf("MaxKey: %d, %v", key, err)
		}
		q.Parameters = "k=8"
		if _, err := storeOf(t, s).Reserver(q).Reserve(ctx, 3, 0); !errors.Is(err, store.ErrParameters) {
			t.Errorf("%v, want %v", err, store.ErrParameters)
		}
		q.Name, q.Columns[0].Table, q.Create = "others", "missing", false
		if _, err := storeOf(t, s).Reserver(q).Reserve(ctx, 3, 0); !errors.Is(err, store.ErrColumn) {
			t.Errorf("a table that is not there: %v, want %v", err, store.ErrColumn)
		}
	})
}

// TestStoreKeyTableTaken: a column whose keys come from keyfill_sequences is not
// numbered by a key table at the same time, unless that is said.
func TestStoreKeyTableTaken(t *testing.T) {
	each(t, storeDrivers, func(t *testing.T, s *scratch) {
		ctx := context.Background()
		openOrders(t, s)
		exec(t, s.raw, "CREATE TABLE orders_seq (v BIGINT NOT NULL)")
		exec(t, s.raw, "INSERT INTO orders_seq VALUES (1)")
		q := orders
		q.Table = &store.KeyTable{Name: "orders_seq", Value: "v"}
		if got, err := storeOf(t, s).Reserver(q).Reserve(ctx, 1, 0); !errors.Is(err, store.ErrTaken) {
			t.Errorf("%+v, %v; want %v", got, err, store.ErrTaken)
		}
		q.Exclusive = true
		if got, err := storeOf(t, s).Reserver(q).Reserve(ctx, 1, 0); err != nil || got.First != 1 {
			t.Errorf("%+v, %v; want 1", got, err)
		}
	})
}

// TestStoreKeyTableBack: a key table that goes back is an answer and not a
// reservation, and is seen by each way.
func TestStoreKeyTableBack(t *testing.T) {
	each(t, storeDrivers, func(t *testing.T, s *scratch) {
		st := singleState("BIGINT", true)
		for _, way := range st.ways(s) {
			t.Run(way, func(t *testing.T) {
				s := emptied(t, s)
				q := st.through(t, s, way)
				r := storeOf(t, s).Reserver(*q)
				if got, err := r.Reserve(context.Background(), 100, 0); err != nil || got.First != 1 {
					t.Fatalf("%+v, %v", got, err)
				}
				exec(t, s.raw, "UPDATE orders_seq SET v = 10")
				if got, err := r.Reserve(context.Background(), 5, 101); err != nil || got.First != 11 {
					t.Errorf("%+v, %v; want 11", got, err)
				}
				if stored := countInt(t, s.raw, st.value); q.Procedure == "" && stored != 10 {
					t.Errorf("%d is stored, want 10", stored)
				}
			})
		}
	})
}

// TestStoreSequenceOverKeyTable: a source over a key table, as an application has
// it, in two processes.
func TestStoreSequenceOverKeyTable(t *testing.T) {
	each(t, storeDrivers[1:], func(t *testing.T, s *scratch) {
		for _, way := range waysToReserve {
			t.Run(way, func(t *testing.T) {
				s := emptied(t, s)
				q := keyedState(s.dialect, "INTEGER", true).through(t, s, way)
				exec(t, s.raw, "INSERT INTO orders (id) VALUES (41)")
				exec(t, s.raw, fmt.Sprintf("UPDATE %s SET %s = 41", q.Table.Name, q.Table.Value))
				seen := map[int64]bool{}
				for range 2 {
					r := storeOf(t, s).Reserver(*q)
					src, err := keysource.NewSequence(keysource.SequenceOptions{
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
	each(t, mysqlEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		exec(t, s.raw, `CREATE PROCEDURE next_key(wanted VARCHAR(40), n INT) BEGIN
			SELECT 5; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'failed after its answer'; END`)
		exec(t, s.raw, "CREATE PROCEDURE two_rows(wanted VARCHAR(40), n INT) SELECT 5 UNION ALL SELECT 6")
		exec(t, s.raw, "CREATE PROCEDURE two_columns(wanted VARCHAR(40), n INT) SELECT 5, 6")
		for name, want := range map[string]string{
			"next_key": "failed after its answer", "two_rows": "more than one row", "two_columns": "2 columns",
		} {
			q := orders
			q.Procedure = name
			r := storeOf(t, s).Reserver(q)
			if got, err := r.Reserve(context.Background(), 1, 0); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %+v, %v; want %q", name, got, err, want)
			}
			onConn(t, s, func(ctx context.Context, _ *sql.Conn, c driverConn) {
				for _, st := range []*store.Store{store.On(s.dialect, c), store.Within(s.dialect, c)} {
					if got, err := r.At(st).Reserve(ctx, 1, 0); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s on a connection: %+v, %v; want %q", name, got, err, want)
					}
				}
			})
		}
	})
}
