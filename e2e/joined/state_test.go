package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestJoinedUnknown: where it is not known whether a transaction is open, the
// INSERT is refused until BeginTx has made it known.
//
//deviation:keys-of-a-transaction | An INSERT with a key of its transaction is refused while it is not known whether a transaction is open: after a procedure (not PostgreSQL's), SET autocommit, XA, LOCK TABLES, a statement that may begin or end one, a failed BEGIN or COMMIT, and `keyfill.Unwrap`. | all | `conn.Exec("CALL p()")`; `db.Exec(insert)` | `BeginTx`, whose end makes it known
//deviation:keys-of-a-transaction | Where it is not known whether a transaction is open, SQLite is asked by a BEGIN, but not after `keyfill.Unwrap`. | SQLite | `COMMIT` that fails; `db.Exec(insert)` | `BeginTx`, whose end makes it known
//deviation:keys-of-a-transaction | Where it is not known whether a transaction is open, `@@TRANCOUNT` is asked. The INSERT is refused only with IMPLICIT_TRANSACTIONS on and no transaction open, and where a failed Commit has left one open. | SQL Server | `EXEC p; INSERT …` | `BeginTx`
func TestJoinedUnknown(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		ctx := context.Background()
		one := s.Placeholders("INSERT INTO t (a) VALUES (?)")
		ways := map[string]func(t *testing.T, c *sql.Conn){
			"Unwrap": func(t *testing.T, c *sql.Conn) {
				if err := c.Raw(func(dc any) error { keyfill.Unwrap(dc); return nil }); err != nil {
					t.Fatal(err)
				}
			},
		}
		if s.Dialect.Name != "sqlite" { // which is asked
			ways["BEGIN that fails"] = func(t *testing.T, c *sql.Conn) {
				harness.Must(t, c, "BEGIN")
				if _, err := c.ExecContext(ctx, "COMMIT nonsense"); err == nil {
					t.Fatal("nonsense was done")
				}
				_, _ = c.ExecContext(ctx, "ROLLBACK") // which is followed
				if _, err := c.ExecContext(ctx, "COMMIT nonsense"); err == nil {
					t.Fatal("nonsense was done")
				}
			}
		}
		if s.Dialect.Name == "mariadb" {
			harness.Must(t, s.Raw, "CREATE PROCEDURE p () START TRANSACTION")
			ways["procedure"] = func(t *testing.T, c *sql.Conn) { harness.Must(t, c, "CALL p()") }
			harness.Must(t, s.Raw, "CREATE PROCEDURE locks () BEGIN EXECUTE IMMEDIATE 'LOCK TABLES t WRITE'; END")
			// A BEGIN of keyfill's own would unlock the tables.
			ways["a procedure that locks tables"] = func(t *testing.T, c *sql.Conn) { harness.Must(t, c, "CALL locks()") }
			ways["autocommit"] = func(t *testing.T, c *sql.Conn) { harness.Must(t, c, "SET autocommit = 0") }
			ways["XA"] = func(t *testing.T, c *sql.Conn) {
				harness.Must(t, c, "XA START 'kf'", "XA END 'kf'", "XA ROLLBACK 'kf'")
			}
		}
		for name, way := range ways {
			t.Run(name, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DELETE FROM t")
				before := nextOr(t, s, 1)
				c, err := db.Conn(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				way(t, c)
				_, err = c.ExecContext(ctx, one, 1)
				harness.RefusedFor(t, "Exec", err, rewrite.ErrTransaction)
				_, err = c.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)")
				harness.RefusedFor(t, "Exec of a literal", err, rewrite.ErrTransaction)
				tx, err := c.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				harness.Must(t, tx, "INSERT INTO t (a) VALUES (2)")
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				if name != "autocommit" {
					harness.Must(t, c, "INSERT INTO t (a) VALUES (3)")
				} else {
					// A transaction that begins implicitly is the application's to
					// commit.
					harness.Must(t, c, "INSERT INTO t (a) VALUES (3)", "ROLLBACK", "INSERT INTO t (a) VALUES (3)", "COMMIT", "SET autocommit = 1")
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 2 || nextOr(t, s, 1) != before+2 {
					t.Errorf("%d rows, the next number went from %d to %d", n, before, nextOr(t, s, 1))
				}
			})
		}
	})
}

// nextOr returns what the row of t's numbering says, or what is given where there
// is none.
func nextOr(t *testing.T, s *harness.Scratch, none int) int {
	t.Helper()
	var next sql.NullInt64
	err := s.Raw.QueryRow("SELECT MAX(next_value) FROM keyfill_sequences WHERE name = 't.id'").Scan(&next)
	if err != nil || !next.Valid {
		return none
	}
	return int(next.Int64)
}

// TestJoinedTextBegin: a BEGIN in a text is the application's transaction, which
// keyfill neither commits nor begins anew.
func TestJoinedTextBegin(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		ctx := context.Background()
		c, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		harness.Must(t, c, "BEGIN", "INSERT INTO t (id, a) VALUES (500, 500)", "INSERT INTO t (a) VALUES (1)", "ROLLBACK")
		s.WantNumbers(t)
		harness.Must(t, c, "INSERT INTO t (a) VALUES (1)")
		s.WantNumbers(t, 1)
	})
}

// TestJoinedAutocommit: with autocommit off in the DSN every INSERT is in a
// transaction that the application ends.
func TestJoinedAutocommit(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	e.Params = "autocommit=0"
	s := e.Scratch(t)
	db, _ := joinedTable(t, s)
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	harness.Must(t, c, "INSERT INTO t (a, c) VALUES (1, 1)")
	if _, err := c.ExecContext(context.Background(), "INSERT INTO t (a, c) VALUES (1, 1)"); err == nil {
		t.Error("a duplicate was stored")
	}
	harness.Must(t, c, "INSERT INTO t (a, c) VALUES (2, 2)", "ROLLBACK", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (1)", "COMMIT")
	harness.Exec(t, s.Raw, "COMMIT")
	s.WantNumbers(t, 1, 2)
}

// TestJoinedChains: a session in which a transaction follows each commit has none
// of ours.
//
//deviation:keys-of-a-transaction | `@@autocommit` and `@@completion_type` are asked for once a connection, and again after a possible change. A completion_type other than NO_CHAIN is refused outside of transactions. | MySQL, MariaDB | `SET completion_type = 1` | –
func TestJoinedChains(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	e.Params = "completion_type=1"
	s := e.Scratch(t)
	db, _ := joinedTable(t, s)
	if _, err := db.Exec("INSERT INTO t (a) VALUES (1)"); err == nil || !strings.Contains(err.Error(), "completion_type") {
		t.Errorf("%v, want an error about completion_type", err)
	}
}

// TestJoinedReadOnly: the error of a transaction that may not write is the
// engine's, and nothing else goes wrong.
//
//deviation:keys-of-a-transaction | `pg_stat_activity`, logs and triggers on `keyfill_sequences` show statements on that table in the application's own transaction. A read-only transaction is an error of the engine. | all | – | –
func TestJoinedReadOnly(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec("INSERT INTO t (a) VALUES (2)")
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "read") || errors.As(err, new(*keyfill.Error)) {
			t.Errorf("%v, want the engine's error", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
		s.WantNumbers(t, 1, 2)
	})
}

// TestJoinedRefused: forms whose rows may be left out, texts that ask what the
// reservation changes, and what a connection cannot do, are refused.
//
//deviation:keys-of-a-transaction | An INSERT with a key of its transaction is refused if its own text reads `LAST_INSERT_ID()`, `ROW_COUNT()`, `lastval()`, `SCOPE_IDENTITY()` or the like. | all | `VALUES (LAST_INSERT_ID())` | pass the value as an argument
func TestJoinedRefused(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, m := joinedTable(t, s)
		harness.Exec(t, db, "INSERT INTO t (a, c) VALUES (1, 1)")
		cases := []struct {
			query  string
			on     string
			reason rewrite.Reason
		}{
			{"INSERT INTO t (a, c) VALUES (1, 1) ON CONFLICT DO NOTHING", "postgres sqlite", rewrite.ErrGap},
			{"INSERT INTO t (a, c) VALUES (1, 1) ON CONFLICT (c) DO UPDATE SET a = 2", "postgres sqlite", rewrite.ErrGap},
			{"INSERT OR IGNORE INTO t (a, c) VALUES (1, 1)", "sqlite", rewrite.ErrGap},
			{"INSERT IGNORE INTO t (a, c) VALUES (1, 1)", "mariadb", rewrite.ErrGap},
			{"INSERT INTO t (a, c) VALUES (1, 1) ON DUPLICATE KEY UPDATE a = 2", "mariadb", rewrite.ErrGap},
			{"MERGE INTO t USING (VALUES (1, 1)) AS s (a, c) ON t.c = s.c WHEN NOT MATCHED THEN INSERT (a, c) VALUES (s.a, s.c)", "postgres", rewrite.ErrGap},
			{"INSERT INTO t (a) VALUES (LAST_INSERT_ID())", "mariadb", rewrite.ErrReadsKey},
			{"INSERT INTO t (a) VALUES (ROW_COUNT())", "mariadb", rewrite.ErrReadsCount},
			{"INSERT INTO t (a) VALUES (lastval())", "postgres", rewrite.ErrReadsKey},
			{"INSERT INTO t (a) VALUES (changes())", "sqlite", rewrite.ErrReadsCount},
			{"INSERT INTO t (a) VALUES (last_insert_rowid())", "sqlite", rewrite.ErrReadsKey},
			{"INSERT OR IGNORE INTO t (a, c) SELECT a, c FROM t", "sqlite", rewrite.ErrGap},
			{"INSERT IGNORE INTO t (a, c) SELECT a, c FROM t", "mariadb", rewrite.ErrGap},
			{"INSERT INTO t (a, c) SELECT a, c FROM t ON CONFLICT DO NOTHING", "postgres", rewrite.ErrGap},
		}
		for _, c := range cases {
			if !strings.Contains(c.on, s.Dialect.Name) && c.on != "" {
				continue
			}
			_, err := db.Exec(c.query)
			harness.RefusedFor(t, c.query, err, c.reason)
			_, err = db.Prepare(c.query)
			harness.RefusedFor(t, "Prepare "+c.query, err, c.reason)
		}
		if _, err := m.Keys(context.Background(), "t", 1); !errors.Is(err, keyfill.ErrJoined) {
			t.Errorf("Keys: %v", err)
		}
		if _, err := m.Reserve(context.Background(), "t", 1); !errors.Is(err, keyfill.ErrJoined) {
			t.Errorf("Reserve: %v", err)
		}
		s.WantNumbers(t, 1)
		wantNext(t, s, 2)
	})
}

// TestJoinedTogether: other statements of a text would be in a transaction that is
// not theirs.
//
//deviation:keys-of-a-transaction | An INSERT with a key of its transaction is refused in one text with other statements, except in a transaction of PostgreSQL. | all | `INSERT …; SELECT 1` | send it alone
func TestJoinedTogether(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		const both = "INSERT INTO t (a) VALUES (1); INSERT INTO t (a) VALUES (2)"
		_, err := db.Exec(both)
		harness.RefusedFor(t, "outside", err, rewrite.ErrTogether)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for _, query := range []string{"INSERT INTO t (a) VALUES (1); COMMIT", "SAVEPOINT x; INSERT INTO t (a) VALUES (1); ROLLBACK TO SAVEPOINT x"} {
			_, err = tx.Exec(query)
			harness.RefusedFor(t, query, err, rewrite.ErrTogether)
		}
		_, err = tx.Exec(both)
		if s.IsPostgres() && err != nil {
			t.Errorf("inside: %v", err)
		} else if !s.IsPostgres() {
			harness.RefusedFor(t, "inside", err, rewrite.ErrTogether)
		}
	})
}

// TestJoinedCopy: a bulk load leaves its connection no room for a reservation.
//
//deviation:keys-of-a-transaction | An INSERT with a key of its transaction is refused in a bulk load, during which the connection takes no other statement. | all | `COPY` | send VALUES; another source
func TestJoinedCopy(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	db, _ := joinedTable(t, s)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	_, err = tx.Prepare(`COPY t (a) FROM STDIN`)
	harness.RefusedFor(t, "COPY", err, rewrite.ErrBulk)
}

// TestJoinedUnfilled: what is refused may be sent as it is.
func TestJoinedUnfilled(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, c INT UNIQUE)")
	cfg := harness.JoinedID("t")
	cfg.Unsupported = policy.Unfilled
	db, m := s.Open(t, cfg)
	harness.Exec(t, db, "INSERT OR IGNORE INTO t (a) VALUES (1)")
	if got := m.Stats().Tables["t"]; got.Keys != 0 || got.Refused[keyfill.Reason(rewrite.ErrGap)] != 1 {
		t.Errorf("counted %+v", got)
	}
}
