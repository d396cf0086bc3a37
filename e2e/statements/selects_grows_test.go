package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// beforehand calls a function before every numbered INSERT that is sent.
type beforehand struct {
	sqlmw.NullInterceptor
	call func()
}

func (b *beforehand) before(query string) {
	if strings.Contains(query, "INSERT INTO t") && (strings.Contains(query, "FROM kf") || strings.Contains(query, "insert_id")) {
		b.call()
	}
}

func (b *beforehand) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	b.before(query)
	return conn.ExecContext(ctx, query, args)
}

func (b *beforehand) ConnQueryContext(ctx context.Context, conn driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	b.before(query)
	rows, err := conn.QueryContext(ctx, query, args)
	return ctx, rows, err
}

func (b *beforehand) StmtExecContext(ctx context.Context, stmt driver.StmtExecContext, query string, args []driver.NamedValue) (driver.Result, error) {
	b.before(query)
	return stmt.ExecContext(ctx, args)
}

func (b *beforehand) StmtQueryContext(ctx context.Context, stmt driver.StmtQueryContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	b.before(query)
	rows, err := stmt.QueryContext(ctx, args)
	return ctx, rows, err
}

// unexecuting is a connector whose connections do nothing but prepare and begin, as
// go-mssqldb's do: a text without arguments is prepared too.
type unexecuting struct{ driver.Connector }

func (c unexecuting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return unexecutingConn{conn, conn.(driver.ConnPrepareContext), conn.(driver.ConnBeginTx)}, nil
}

type unexecutingConn struct {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
}

// TestSelectGrows: rows that come between the count and the INSERT are inserted
// with keys of their own, or not at all, and an open transaction goes on.
//
//deviation:insert-select | If the query of an `INSERT … SELECT` has more rows than keyfill counted, three times in a row, the INSERT is an error. | all | other sessions insert into the query's table meanwhile | a transaction that keeps other sessions from adding rows
//deviation:insert-select | The rows that an `INSERT … SELECT` with integer keys returns are in memory when Query returns. | MariaDB | `INSERT INTO t (a) SELECT a FROM s RETURNING id` | UUIDs
//deviation:insert-select | In an open transaction keyfill does not send an `INSERT … SELECT` through Query again if the query had more rows than counted: the caller gets the engine's error. | PostgreSQL | `tx.Query("INSERT … SELECT … RETURNING id")` | Exec
func TestSelectGrows(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE seen (a INT)")
		eachSelectKey(t, s, func(t *testing.T) {
			b := &beforehand{}
			spied := harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, b))
			for name, connector := range map[string]driver.Connector{"executing": spied, "preparing": unexecuting{spied}} {
				t.Run(name, func(t *testing.T) {
					selectGrows(t, s, harness.AsDriver{Connector: connector, As: harness.Registered(t, s.Driver)}, b)
				})
			}
		})
	})
}

// growth is how often rows come before an INSERT, and its outcome.
type growth struct {
	name  string
	grows int // how often rows come
	by    int // how many at a time
	rows  int // in t afterwards; -1: the INSERT fails
}

var growths = []growth{
	{"once", 1, 1, 7},
	{"twice by many", 2, 5, 16},
	{"always by one", 100, 1, 8}, // the second count has room for one more
	{"always by many", 100, 500, -1},
}

// selectGrows has rows come between count and INSERT on a database of the connector.
func selectGrows(t *testing.T, s *harness.Scratch, connector driver.Connector, b *beforehand) {
	t.Helper()
	db, _ := harness.OpenConnector(t, connector, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
	for _, c := range growths {
		for _, form := range []string{"direct", "prepared", "transaction", "query"} {
			if s.Server == nil && form == "transaction" {
				continue // no other session writes then
			}
			for _, v := range []struct {
				name, query string
				args        []any
			}{
				{"", "INSERT INTO t (a, b) SELECT a, b FROM s", nil},
				{"/arguments", "INSERT INTO t (a, b) SELECT a, ? FROM s", []any{"x"}},
				{"/RETURNING", "INSERT INTO t (a, b) SELECT a, b FROM s RETURNING id", nil},
			} {
				name, query, args := c.name+"/"+form+v.name, s.Placeholders(v.query), v.args
				if form == "query" && (v.name != "/RETURNING" || s.Dialect.Name != "mariadb") {
					continue // on PostgreSQL it is not sent again
				}
				t.Run(name, func(t *testing.T) {
					for _, table := range []string{"t", "seen", "s"} {
						harness.Exec(t, s.Raw, "DELETE FROM "+table)
					}
					harness.Exec(t, s.Raw, "INSERT INTO s (a) VALUES (1), (2), (3), (4), (5), (6)")
					left := c.grows
					b.call = func() {
						if left--; left >= 0 {
							harness.Exec(t, s.Raw, "INSERT INTO s (a) VALUES (7)"+strings.Repeat(", (7)", c.by-1))
						}
					}
					err := growing(t, s, db, form, query, args)
					ids := idsOf(t, s.Raw)
					if len(slices.Compact(slices.Clone(ids))) != len(ids) {
						t.Errorf("a key twice: %d", ids)
					}
					if c.rows < 0 {
						if err == nil || !strings.Contains(err.Error(), "more rows than keyfill counted") || len(ids) != 0 {
							t.Fatalf("%d rows, error %v", len(ids), err)
						}
						return
					}
					// If the driver has the statement prepared, rows come before that,
					// too.
					if err != nil || len(ids) < c.rows || len(ids) > c.rows+c.by {
						t.Fatalf("%d rows, want %d: %v", len(ids), c.rows, err)
					}
				})
			}
		}
	}
}

// growing executes the query; in a transaction another statement follows, which
// has to be stored whatever became of the query.
func growing(t *testing.T, s *harness.Scratch, db *sql.DB, form, query string, args []any) error {
	t.Helper()
	ctx := context.Background()
	if form == "query" {
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	}
	if form != "transaction" {
		_, err := harness.SendOnce(ctx, db, form, query, args)
		return err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, failed := tx.ExecContext(ctx, query, args...)
	if _, err := tx.Exec("INSERT INTO seen VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM seen"); n != 1 {
		t.Errorf("%d rows of the other statement", n)
	}
	return failed
}

// TestSelectSideEffects: what a query's functions do is done once.
//
//deviation:insert-select | The query of an `INSERT … SELECT` runs twice: once to count its rows, once to insert them. If the query may change something, the count runs in a transaction of its own, or after a savepoint, and is rolled back. Effects outside of the database stay. | all; the count is rolled back on PostgreSQL, and on MySQL and MariaDB with functions that keyfill does not know; functions of SQLite and views of MySQL run twice | `INSERT INTO t (a) SELECT f(a) FROM s`; a sequence, a file, an advisory lock | name the key column; `unsupported: unfilled`
func TestSelectSideEffects(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLMulti, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		harness.Exec(t, s.Raw, "CREATE TABLE done (a INT)")
		if s.IsPostgres() {
			harness.Exec(t, s.Raw, "CREATE FUNCTION twice(x INT) RETURNS INT LANGUAGE sql AS 'INSERT INTO done VALUES (x); SELECT 2 * x'")
		} else {
			harness.Exec(t, s.Raw, "CREATE FUNCTION twice(x INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO done VALUES (x); RETURN 2 * x; END")
		}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
		for i, form := range []string{"direct", "prepared", "transaction"} {
			if _, err := harness.SendOnce(context.Background(), db, form, "INSERT INTO t (a) SELECT twice(a) FROM s", nil); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if n, m := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM done"), harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 6*(i+1) || m != n {
				t.Errorf("%s: %d done, %d stored", form, n, m)
			}
		}
	})
}

// TestSelectLastInsertID: LastInsertId is the first key of an INSERT … SELECT,
// on SQLite the last one, if every row is stored.
//
//deviation:insert-select | `LastInsertId` is 0 if not all counted rows are stored. Where the INSERT may leave rows out or change some, it is the first stored key, on SQLite the last one. | MySQL, MariaDB, SQLite | another session deletes rows between the count and the INSERT | `last_insert_id: off`
func TestSelectLastInsertID(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		createSelectTables(t, s)
		db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
		ignore := "INSERT IGNORE INTO t (a) SELECT a FROM s"
		if s.Server == nil {
			ignore = "INSERT OR IGNORE INTO t (a) SELECT a FROM s"
		}
		for _, form := range []string{"direct", "prepared", "transaction"} {
			harness.Exec(t, s.Raw, "DELETE FROM t")
			for query, want := range map[string]string{
				"INSERT INTO t (a) SELECT a FROM s":             "MIN",
				"INSERT INTO t (a) SELECT a FROM s WHERE a < 0": "",
				ignore: "MIN",
			} {
				before := harness.Count(t, s.Raw, "SELECT COALESCE(MAX(id), 0) FROM t")
				res, err := harness.SendOnce(context.Background(), db, form, query, nil)
				if err != nil {
					t.Fatal(err)
				}
				id, err := res.LastInsertId()
				if err != nil {
					t.Fatal(err)
				}
				stored := 0
				if want != "" {
					if s.Server == nil {
						want = "MAX"
					}
					stored = harness.Count(t, s.Raw, "SELECT "+want+"(id) FROM t WHERE id > ?", before)
				}
				if id != int64(stored) {
					t.Errorf("%s: %s: LastInsertId %d, stored %d", form, query, id, stored)
				}
			}
		}
		if got := m.Stats().Tables["t"].Keys; got < 18 {
			t.Errorf("%d keys are counted", got)
		}
	})
}

// TestSelectNumberTaken: where rows come between the count and the INSERT, and the number
// after those that were reserved is another row's, all rows are stored. With IGNORE the row
// would be left out without an error: such an INSERT is refused if its values may change.
func TestSelectNumberTaken(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, b DOUBLE)", "CREATE TABLE s (a INT)", "INSERT INTO s VALUES (1), (2), (3)")
		b := &beforehand{}
		spied := harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, b))
		connector := harness.AsDriver{Connector: spied, As: harness.Registered(t, s.Driver)}
		db, _ := harness.OpenConnector(t, connector, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}}))
		taken := 0
		b.call = func() {
			if taken++; taken == 1 {
				harness.Must(t, s.Raw, "INSERT INTO s VALUES (4)")
				harness.Must(t, db, "INSERT INTO t (a) VALUES (9)")
			}
		}
		for _, verb := range []string{"INSERT IGNORE", "REPLACE"} {
			_, err := db.Exec(verb + " INTO t (a, b) SELECT a, a / 3 FROM s")
			harness.RefusedFor(t, verb, err, rewrite.ErrSelectValues)
		}
		harness.Must(t, db, "INSERT INTO t (a, b) SELECT a, a / 3 FROM s ORDER BY a")
		if got := harness.IntegersOf(t, s.Raw, "SELECT a FROM t ORDER BY a"); !slices.Equal(got, []int64{1, 2, 3, 4, 9}) || taken != 2 {
			t.Errorf("stored %v, in %d attempts", got, taken)
		}
		harness.Must(t, s.Raw, "ALTER TABLE t ADD UNIQUE (a)")
		if _, err := db.Exec("INSERT INTO t (a, b) SELECT a, a / 3 FROM s ORDER BY a"); err == nil || !strings.Contains(err.Error(), "Duplicate entry '1'") {
			t.Errorf("a duplicate of the application's own: %v", err)
		}
		harness.Must(t, s.Raw, "DELETE FROM s", "INSERT INTO s VALUES (500)", "INSERT INTO t (id, a) VALUES (900000, 500)")
		if _, err := db.Exec("INSERT INTO t (a, b) SELECT a, a / 3 FROM s"); err == nil || !strings.Contains(err.Error(), "Duplicate entry '500'") {
			t.Errorf("a duplicate that could be a number: %v", err)
		}
	})
}
