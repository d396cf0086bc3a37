package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// TestStoreRowOfAnother: a row that serves another column, or was made with
// other parameters, is not used.
func TestStoreRowOfAnother(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		st := harness.OpenOrders(t, s)
		harness.Exec(t, s.Raw, "CREATE TABLE parts (no INT NOT NULL PRIMARY KEY)")
		parts := store.Column{Table: "parts", Name: "no"}
		for _, c := range []struct {
			name   string
			change func(q *sequence.Sequence)
			want   error
		}{
			{"same", func(q *sequence.Sequence) {}, nil},
			{"column", func(q *sequence.Sequence) { q.Columns = []store.Column{parts} }, store.ErrBound},
			{"shared", func(q *sequence.Sequence) { q.Shared = true; q.Columns = append(q.Columns, parts) }, nil},
			{"parameters", func(q *sequence.Sequence) { q.Parameters = "n=62" }, store.ErrParameters},
			{"another row", func(q *sequence.Sequence) { q.Name = "orders2" }, store.ErrTaken},
			{"exclusive", func(q *sequence.Sequence) { q.Name, q.Exclusive = "orders2", true }, nil},
			{"another row, later", func(q *sequence.Sequence) {}, store.ErrTaken},
			{"a new shared row", func(q *sequence.Sequence) { q.Name, q.Shared = "all", true }, store.ErrTaken},
			{"an exclusive shared row", func(q *sequence.Sequence) { q.Name, q.Shared, q.Exclusive = "all", true, true }, nil},
			{"a shared row, bound", func(q *sequence.Sequence) { q.Name = "all" }, store.ErrBound},
			{"a shared row of no column of its", func(q *sequence.Sequence) { q.Shared, q.Columns = true, []store.Column{parts} }, store.ErrBound},
			{"no table", func(q *sequence.Sequence) { q.Name = "x"; q.Columns = []store.Column{{Table: "nosuch", Name: "id"}} }, store.ErrColumn},
			{"no start", func(q *sequence.Sequence) {
				q.Name = "x"
				q.Columns = []store.Column{{Table: "texts", Name: "id", Unranked: true}}
			}, store.ErrStart},
			{"start", func(q *sequence.Sequence) {
				q.Name = "texts.id"
				q.Columns, q.Made.Start = []store.Column{{Table: "texts", Name: "id", Unranked: true}}, 500
			}, nil},
			{"no name", func(q *sequence.Sequence) { q.Name = "" }, store.ErrName},
			{"spaces", func(q *sequence.Sequence) { q.Name = "x " }, store.ErrName},
			{"long name", func(q *sequence.Sequence) { q.Name = strings.Repeat("ö", 191) }, store.ErrName},
			{"longest name", func(q *sequence.Sequence) { q.Name, q.Exclusive = strings.Repeat("ö", 190), true }, nil},
			{"many columns", func(q *sequence.Sequence) { q.Columns = append(q.Columns, parts) }, keysource.ErrOptions},
			{"bad start", func(q *sequence.Sequence) { q.Made.Start = -1 }, keysource.ErrOptions},
			{"long parameters", func(q *sequence.Sequence) { q.Parameters = strings.Repeat("ö", 1001) }, keysource.ErrOptions},
		} {
			q := harness.Orders
			q.Columns = append([]store.Column(nil), harness.Orders.Columns...)
			c.change(&q)
			if _, err := reserver.Open(ctx, st, q); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.name, err, c.want)
			}
		}
		// Names compare by their bytes, and the row that was there first is
		// the one that is found.
		for i, name := range []string{"Straße", "straße", "STRASSE", "Straße\u0301"} {
			q := harness.Orders
			q.Name, q.Exclusive, q.Made.Start = name, true, int64(100*(i+1))
			if row, err := reserver.Open(ctx, st, q); err != nil || row.Next != q.Made.Start || !row.Created {
				t.Errorf("%q: %+v, %v; want a new row at %d", name, row, err, q.Made.Start)
			}
		}
		if next := harness.CountInt(t, s.Raw, "SELECT next_value FROM keyfill_sequences WHERE name = 'texts.id'"); next != 500 {
			t.Errorf("the next value is %d, want 500", next)
		}
	})
}

// TestStoreInsertText: if the columns are in another database, the text names the start
// in words, since no error holds a key.
func TestStoreInsertText(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		elsewhere := s.Engine.Scratch(t)
		harness.OpenOrders(t, elsewhere)
		harness.Exec(t, elsewhere.Raw, "INSERT INTO orders (id) VALUES (76)")
		st := harness.StoreOf(t, s)
		if err := schema.Of(st).Ensure(ctx); err != nil {
			t.Fatal(err)
		}
		q := harness.Orders
		q.Create, q.At = false, harness.StoreOf(t, elsewhere)
		_, err := reserver.Open(ctx, st, q)
		var e *store.Error
		if !errors.As(err, &e) || e.Err != store.ErrNoRow {
			t.Fatalf("Open: %v, want %v", err, store.ErrNoRow)
		}
		const words = "<the greatest key and one>"
		if strings.Contains(e.SQL, "77") || strings.Count(e.SQL, words) != 1 {
			t.Fatalf("the text is %s, want it with %s once, and without the key", e.SQL, words)
		}
		harness.Exec(t, s.Raw, strings.Replace(e.SQL, words, "77", 1))
		if row, err := reserver.Open(ctx, st, q); err != nil || row.Next != 77 {
			t.Errorf("Open: %+v, %v; want the next to be 77", row, err)
		}
	})
}

// TestStoreSchema: tables are created once, need no right when they are there,
// and hold what DDL says.
func TestStoreSchema(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		st := harness.StoreOf(t, s)
		for range 2 {
			for _, statement := range store.DDL(s.Dialect) {
				harness.Exec(t, s.Raw, statement)
			}
			if err := schema.Of(st).Ensure(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT (SELECT COUNT(*) FROM keyfill_sequences) + (SELECT COUNT(*) FROM keyfill_workers)"); n != 0 {
			t.Errorf("%d rows in new tables", n)
		}
	})
}

// TestStoreWithoutRights: a user who may only read and change the tables can
// use them, with EnsureSchema set, and is known by the same server.
func TestStoreWithoutRights(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		s := harness.PgxDefault.Scratch(t)
		withoutRights(t, s, []string{
			"CREATE ROLE kf_ID LOGIN",
			"REVOKE CREATE ON SCHEMA public FROM PUBLIC",
			"GRANT SELECT, INSERT, UPDATE ON keyfill_sequences, keyfill_workers TO kf_ID",
			"GRANT SELECT ON orders TO kf_ID",
		}, "DROP OWNED BY kf_ID; DROP ROLE kf_ID", func(dsn, user string) string {
			return strings.Replace(dsn, "postgres@", user+"@", 1)
		})
	})
	t.Run("mysql", func(t *testing.T) {
		s := harness.MySQLDefault.Scratch(t)
		withoutRights(t, s, []string{
			"CREATE USER kf_ID",
			"GRANT SELECT, INSERT, UPDATE ON keyfill_sequences TO kf_ID",
			"GRANT SELECT, INSERT, UPDATE ON keyfill_workers TO kf_ID",
			"GRANT SELECT ON orders TO kf_ID",
		}, "DROP USER kf_ID", func(dsn, user string) string {
			return strings.Replace(dsn, "root@", user+"@", 1)
		})
	})
}

func withoutRights(t *testing.T, s *harness.Scratch, grants []string, drop string, dsnOf func(dsn, user string) string) {
	t.Helper()
	ctx := context.Background()
	admin := harness.OpenOrders(t, s)
	dsn := s.Server.DSN(harness.DatabaseOf(t, s))
	id := strings.ToLower(strings.TrimPrefix(harness.DatabaseOf(t, s), "keyfill_"))
	for _, grant := range grants {
		harness.Exec(t, s.Raw, strings.ReplaceAll(grant, "ID", id))
	}
	t.Cleanup(func() { harness.Exec(t, s.Raw, strings.ReplaceAll(drop, "ID", id)) })

	changed := dsnOf(dsn, "kf_"+id)
	if changed == dsn {
		harness.Skip(t, "the server is one whose users are not ours to make")
	}
	db := store.Pool(s.Dialect, harness.ConnectorOf(t, s.Driver, changed))
	defer db.Close()
	q := harness.Orders
	q.EnsureSchema = true
	r := reserver.New(store.New(s.Dialect, db), q)
	got, err := r.Reserve(ctx, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := sequence.Reserve(ctx, admin, harness.Orders, 5, 0)
	if err != nil || got.Server != want.Server || want.First != 6 {
		t.Errorf("%+v and, as administrator, %+v, %v", got, want, err)
	}
	t.Logf("the server is %q", got.Server)
}

// TestStoreMaxKeyUsesIndex: the greatest key is found at the end of the index.
func TestStoreMaxKeyUsesIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		harness.Engine
		query, want string
	}{
		{harness.SQLiteFile, `EXPLAIN QUERY PLAN SELECT MAX("id") FROM "orders"`, "SEARCH orders USING"},
		{harness.MySQLDefault, "EXPLAIN SELECT MAX(`id`) FROM `orders`", "Select tables optimized away"},
		{harness.PgxDefault, `EXPLAIN SELECT MAX("id"), CASE WHEN row_security_active(E'"orders"') THEN 1 ELSE 0 END FROM "orders"`, "Index Only Scan Backward"},
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := c.Engine.Scratch(t)
			harness.OpenOrders(t, s)
			for i := range 100 {
				harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO orders (id) VALUES (%d)", i))
			}
			if s.IsPostgres() {
				harness.Exec(t, s.Raw, "ANALYZE orders")
				harness.Exec(t, s.Raw, "SET enable_seqscan = off") // 100 rows are read as fast
				s.Raw.SetMaxOpenConns(1)
			}
			if plan := allText(t, s.Raw, c.query); !strings.Contains(plan, c.want) {
				t.Errorf("%s: %s, want %q", c.query, plan, c.want)
			}
			if key, err := keycolumn.Of(harness.StoreOf(t, s), harness.Orders.Columns[0]).MaxKey(context.Background()); key != 99 || err != nil {
				t.Errorf("MaxKey: %d, %v; want 99", key, err)
			}
		})
	}
}

// allText returns all that a query gives, as text.
func allText(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	return strings.Join(harness.RowsOf(t, db, query), " ")
}

// overtakenConn is a connection on which another session is faster: before it looks for
// keys in the table orders, rival runs, once.
type overtakenConn struct {
	driver.Conn
	rival func()
}

func (c *overtakenConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if rival := c.rival; rival != nil && strings.Contains(query, "EXISTS") {
		c.rival = nil
		rival()
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *overtakenConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// TestStoreFreshTogether: where keys are not the integers themselves a row is only
// made beside an empty column. Of two processes that begin at once, one may have
// filled it when the other looks.
func TestStoreFreshTogether(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		ctx := context.Background()
		if err := schema.Of(harness.StoreOf(t, s)).Ensure(ctx); err != nil {
			t.Fatal(err)
		}
		q := harness.Orders
		q.Fresh, q.Parameters = true, "k=7"
		harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, c driver.Conn) {
			overtaken := &overtakenConn{c, func() {
				if got, err := reserver.New(harness.StoreOf(t, s), q).Reserve(ctx, 3, 0); err != nil || got.First != 1 {
					t.Errorf("%+v, %v; want 1", got, err)
				}
				harness.Exec(t, s.Raw, "INSERT INTO orders VALUES (4711)")
			}}
			row, err := reserver.Open(ctx, store.On(s.Dialect, overtaken), q)
			if err != nil || row.Next != 4 {
				t.Errorf("%+v, %v; want the row of the other, at 4", row, err)
			}
			if overtaken.rival != nil {
				t.Error("nobody was faster")
			}
		})
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		if _, err := reserver.Open(ctx, harness.StoreOf(t, s), q); !errors.Is(err, store.ErrFresh) {
			t.Errorf("%v, want %v", err, store.ErrFresh)
		}
	})
}
