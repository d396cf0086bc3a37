package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// The table t (a, id, b) of these tests becomes t (id, b, a).
var moveA = []string{"ALTER TABLE t DROP COLUMN a", "ALTER TABLE t ADD COLUMN a INT"}

const (
	beforeMove = "INSERT INTO t VALUES (1, NULL, 2)"
	afterMove  = "INSERT INTO t VALUES (NULL, 2, 1)"
)

// moving is an empty table t (a, id, b), opened through keyfill.
type moving struct {
	*harness.Scratch
	t    *testing.T
	db   *sql.DB
	conn *sql.Conn // through keyfill
}

func newMoving(t *testing.T, s *harness.Scratch) *moving {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE t (a INT, id CHAR(36) NOT NULL PRIMARY KEY, b INT)")
	m := &moving{Scratch: s, t: t}
	m.db, _ = s.Open(t, harness.FillID("t", policy.Table{}))
	var err error
	if m.conn, err = m.db.Conn(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.conn.Close() })
	return m
}

// run executes on the connection.
func (m *moving) run(query string, args ...any) {
	m.t.Helper()
	if _, err := m.conn.ExecContext(context.Background(), query, args...); err != nil {
		m.t.Fatalf("%s: %v", query, err)
	}
}

// check wants so many rows whose b is 2, whose a is 1 unless it was dropped, and
// whose id is a key.
func (m *moving) check(rows int) {
	m.t.Helper()
	if n := harness.Count(m.t, m.Raw, "SELECT COUNT(*) FROM t WHERE COALESCE(a, 1) = 1 AND b = 2 AND LENGTH(id) = 36"); n != rows {
		m.t.Errorf("%d rows are right, want %d", n, rows)
	}
}

// TestUnlistedMoved: a column that is dropped and added again by this connection
// in any way, or by another one before a checkout, moves no key.
func TestUnlistedMoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ways := map[string]func(*moving){
		"executed": func(m *moving) {
			for _, query := range moveA {
				m.run(query)
			}
		},
		"queried": func(m *moving) {
			for _, query := range moveA {
				rows, err := m.conn.QueryContext(ctx, query)
				if err != nil {
					m.t.Fatal(err)
				}
				rows.Close()
			}
		},
		"prepared before": nil, // see below
		"past keyfill": func(m *moving) {
			if err := m.conn.Raw(func(dc any) error {
				keyfill.Unwrap(dc)
				return nil
			}); err != nil {
				m.t.Fatal(err)
			}
			for _, query := range moveA {
				harness.Exec(m.t, m.Raw, query)
			}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
				m := newMoving(t, s)
				m.run(beforeMove)
				if way == nil {
					stmts := make([]*sql.Stmt, len(moveA))
					for i, query := range moveA {
						var err error
						if stmts[i], err = m.conn.PrepareContext(ctx, query); err != nil {
							if i == 1 {
								// SQLite and PostgreSQL look at the table first.
								stmts = stmts[:1]
								break
							}
							t.Fatal(err)
						}
						defer stmts[i].Close()
					}
					m.run(beforeMove)
					for _, stmt := range stmts {
						if _, err := stmt.ExecContext(ctx); err != nil {
							t.Fatal(err)
						}
					}
					if len(stmts) == 1 {
						m.run(moveA[1])
					}
				} else {
					way(m)
				}
				m.run(afterMove)
				m.run(afterMove)
				m.check(harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"))
			})
		})
	}
	t.Run("between checkouts", func(t *testing.T) {
		harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
			m := newMoving(t, s)
			m.conn.Close()
			m.db.SetMaxOpenConns(1)
			harness.Exec(t, m.db, beforeMove)
			for _, query := range moveA {
				harness.Exec(t, s.Raw, query)
			}
			harness.Exec(t, m.db, afterMove)
			m.check(2)
		})
	})
}

// TestUnlistedRolledBack: what a transaction has altered is as it was when it
// was rolled back.
func TestUnlistedRolledBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		m := newMoving(t, s)
		for _, textual := range []bool{false, true} {
			var (
				tx  *sql.Tx
				err error
			)
			if textual {
				m.run("BEGIN")
			} else if tx, err = m.conn.BeginTx(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			send := func(query string) {
				t.Helper()
				if textual {
					m.run(query)
				} else if _, err := tx.Exec(query); err != nil {
					t.Fatal(err)
				}
			}
			for _, query := range append(slices.Clone(moveA), afterMove) {
				send(query)
			}
			if textual {
				m.run("ROLLBACK")
			} else if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			m.run(beforeMove)
		}
		m.check(2)
	})
}

// TestUnlistedPrepared: the list is written at Prepare. A column that moves
// afterwards takes neither the key nor a value along.
//
//deviation:no-column-list | A prepared statement keeps the columns of its Prepare. A column added later gets its default; a column dropped later is an error of the engine. | all | `ALTER TABLE t ADD …` after `db.Prepare` | name the columns
func TestUnlistedPrepared(t *testing.T) {
	t.Parallel()
	harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
		m := newMoving(t, s)
		m.conn.Close()
		m.db.SetMaxOpenConns(1)
		stmt, err := m.db.Prepare(s.Placeholders("INSERT INTO t VALUES (?, ?, ?)"))
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		insert := func() {
			t.Helper()
			if _, err := stmt.Exec(1, nil, 2); err != nil {
				t.Fatal(err)
			}
		}
		insert()
		for _, query := range moveA {
			harness.Exec(t, s.Raw, query)
		}
		insert()
		m.check(2)
		harness.Exec(t, s.Raw, "ALTER TABLE t DROP COLUMN b")
		if _, err := stmt.Exec(1, nil, 2); err == nil {
			t.Error("a column of the statement is gone, and there is no error")
		}
	})
}

// TestUnlistedAsked counts the queries for columns below keyfill: one for each
// checkout.
//
//deviation:no-column-list | After a checkout keyfill asks for the columns before the first INSERT without a column list, and before such an INSERT after a statement that may have changed the columns: any but INSERT, REPLACE, UPDATE, DELETE and SELECT, or one of the last three with a function. `dry_run` asks too. | all | `SHOW COLUMNS FROM t`; `pg_attribute`; `pragma_table_xinfo` | `columns:`; name the columns
func TestUnlistedAsked(t *testing.T) {
	t.Parallel()
	harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (a INT, id CHAR(36) NOT NULL PRIMARY KEY, b INT)")
		seen := new(harness.Spy)
		below := harness.WrapSqlmw(t, s.Connector, seen)
		db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: below, As: s.Connector.Driver()}, harness.FillID("t", policy.Table{}))
		asked := func() (n int) {
			for _, query := range seen.All() {
				if strings.Contains(query, "SHOW COLUMNS") || strings.Contains(query, "pg_attribute") || strings.Contains(query, "pragma_table_xinfo") {
					n++
				}
			}
			seen.Take()
			return n
		}
		ctx := context.Background()
		query, args := s.Placeholders("INSERT INTO t VALUES (?, NULL, ?)"), []any{1, 2}
		conn, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range 5 {
			if _, err := conn.ExecContext(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(ctx, beforeMove); err != nil {
				t.Fatal(err)
			}
		}
		if n := asked(); n != 1 {
			t.Errorf("asked %d times in one checkout", n)
		}
		conn.Close()
		for range 3 {
			if _, err := db.ExecContext(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
		}
		if n := asked(); n != 3 {
			t.Errorf("asked %d times in 3 checkouts", n)
		}
		stmt, err := db.Prepare(query)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		for range 3 {
			if _, err := stmt.Exec(args...); err != nil {
				t.Fatal(err)
			}
		}
		if n := asked(); n != 1 {
			t.Errorf("asked %d times for a prepared statement", n)
		}
	})
}

// TestUnlistedSession: the session's temporary tables, its search path and its
// limits.
//
//deviation:no-column-list | An INSERT without a column list whose text reads `ROW_COUNT()`, `FOUND_ROWS()` or `changes()` is refused. | MySQL, MariaDB, SQLite | `INSERT INTO t VALUES (ROW_COUNT(), NULL)` | `columns:`; name the columns
//deviation:no-column-list | keyfill does not see a column on which the user has no privilege, nor columns beyond a `sql_select_limit`: it may fill an INSERT with too few values, which the engine refuses. | MySQL; the first MariaDB too | `GRANT INSERT (a) ON t` | `columns:`; name the columns
func TestUnlistedSession(t *testing.T) {
	t.Parallel()
	t.Run("temporary", func(t *testing.T) {
		harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
			m := newMoving(t, s)
			m.run(beforeMove)
			m.run("CREATE TEMPORARY TABLE t (id CHAR(36), b INT, a INT)")
			m.run(afterMove) // which is not the configured table
			var n int
			if err := m.conn.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2 AND id IS NULL").Scan(&n); err != nil || n != 1 {
				t.Errorf("%d rows, %v", n, err)
			}
			m.run("DROP TABLE t")
			m.run(beforeMove)
			m.check(2)
		})
	})
	t.Run("search path", func(t *testing.T) {
		harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
			m := newMoving(t, s)
			m.run(beforeMove)
			m.run("CREATE SCHEMA other")
			m.run("CREATE TABLE other.t (id CHAR(36) NOT NULL, b INT, a INT)")
			m.run(beforeMove)
			for _, path := range []string{"SET search_path = other", "SELECT set_config('search_path', 'other', false)"} {
				m.run(path)
				m.run(afterMove)
				m.run("SET search_path = public")
				m.run(beforeMove)
			}
			m.check(4)
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM other.t WHERE a = 1 AND b = 2"); n != 2 {
				t.Errorf("%d rows in the other schema", n)
			}
		})
	})
	t.Run("limit", func(t *testing.T) {
		harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
			m := newMoving(t, s)
			m.run("SET sql_select_limit = 1")
			m.run(beforeMove)
			if _, err := m.conn.ExecContext(context.Background(), "INSERT INTO t VALUES (1)"); !errors.Is(err, rewrite.ErrColumnCount) {
				t.Errorf("one value: %v", err)
			}
			m.check(1)
		})
	})
	t.Run("last key", func(t *testing.T) {
		harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
			m := newMoving(t, s)
			m.run("SET @a = LAST_INSERT_ID(77)")
			m.run("INSERT INTO t VALUES (LAST_INSERT_ID(), NULL, 2)")
			if n := harness.Count(t, s.Raw, "SELECT a FROM t"); n != 77 {
				t.Errorf("LAST_INSERT_ID() was %d", n)
			}
			_, err := m.conn.ExecContext(context.Background(), "INSERT INTO t VALUES (ROW_COUNT(), NULL, 2)")
			if !errors.Is(err, rewrite.ErrNoColumnList) {
				t.Errorf("ROW_COUNT(): %v", err)
			}
		})
	})
}

// TestUnlistedFoundRows pins what docs/deviations.md says of FOUND_ROWS(), on
// MariaDB 10.11.
//
//deviation:no-column-list | `FOUND_ROWS()` after an INSERT without a column list counts the table's columns. | MySQL, MariaDB | `SELECT SQL_CALC_FOUND_ROWS …; INSERT INTO t VALUES (…); SELECT FOUND_ROWS()` | `columns:`; name the columns
func TestUnlistedFoundRows(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		m := newMoving(t, s)
		ctx := context.Background()
		for want, columns := range map[int]string{5: " (a, id, b)", 3: ""} {
			rows, err := m.conn.QueryContext(ctx, "SELECT SQL_CALC_FOUND_ROWS seq FROM seq_1_to_5 LIMIT 1")
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
			m.run("INSERT INTO t" + columns + " VALUES (1, NULL, 2)")
			var n int
			if err := m.conn.QueryRowContext(ctx, "SELECT FOUND_ROWS()").Scan(&n); err != nil || n != want {
				t.Errorf("FOUND_ROWS() is %d, %v behind an INSERT INTO t%s; want %d", n, err, columns, want)
			}
		}
		m.check(2)
	})
}

// TestUnlistedErrors: of a table that is not there and of a transaction that is
// aborted.
//
//deviation:no-column-list | An INSERT without a column list into a table that is not there, into another database or over a link is an error of keyfill. | all; the first not on MySQL and MariaDB | `INSERT INTO t@far VALUES (1)` | `columns:`; name the columns
func TestUnlistedErrors(t *testing.T) {
	t.Parallel()
	harness.Each(t, columnsEngines, func(t *testing.T, s *harness.Scratch) {
		db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
		_, plain := s.Raw.Exec(beforeMove)
		_, err := db.Exec(beforeMove)
		switch {
		case plain == nil || err == nil:
			t.Fatalf("%v, %v: there is no such table", plain, err)
		case s.Dialect.Name == "mariadb" && err.Error() != plain.Error():
			t.Errorf("%v, want the server's own %v", err, plain)
		case s.Dialect.Name != "mariadb" && !errors.Is(err, rewrite.ErrNoColumnList):
			t.Errorf("%v", err)
		}
		if !s.IsPostgres() {
			return
		}
		harness.Exec(t, s.Raw, "CREATE TABLE t (a INT, id CHAR(36) NOT NULL PRIMARY KEY, b INT)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("SELECT 1/0"); err == nil {
			t.Fatal("1/0 is no error")
		}
		var state interface{ SQLState() string }
		if _, err := tx.Exec(beforeMove); !errors.As(err, &state) || state.SQLState() != "25P02" {
			t.Errorf("in an aborted transaction: %v", err)
		}
	})
}
