package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// partsTables are what the texts of partsTexts find.
var partsTables = []string{
	"CREATE TABLE src (a INTEGER, s TEXT)",
	"INSERT INTO src VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, NULL)",
	"CREATE TABLE p (id INTEGER PRIMARY KEY, a INTEGER UNIQUE, s TEXT)",
	"INSERT INTO p VALUES (1001, 11, 'x'), (1002, 12, 'y')",
	"CREATE TABLE child (p INTEGER REFERENCES p(id) ON DELETE CASCADE)",
	"INSERT INTO child VALUES (1001), (1002)",
	"CREATE TABLE log (t TEXT)",
}

// partsTexts are texts of several statements in which rows of a query get keys. What each
// does besides is what the statements of a migration do, or what hides the end of one.
var partsTexts = []string{
	"INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a; UPDATE t SET s = 'x' WHERE a = 2",
	"DELETE FROM src WHERE a > 2; INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a DESC",
	"INSERT INTO src SELECT a + 10, s FROM src; INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a",
	"CREATE TABLE made AS SELECT a FROM src; INSERT INTO t (a) SELECT a FROM made ORDER BY a; DROP TABLE made",
	"ALTER TABLE src RENAME TO old; CREATE TABLE src (a INT); INSERT INTO t (a, s) SELECT a, s FROM old ORDER BY a; DROP TABLE old",
	"CREATE TEMP TABLE tt (a INT); INSERT INTO tt VALUES (8), (9); INSERT INTO t (a) SELECT a FROM tt ORDER BY a; DROP TABLE tt",
	"PRAGMA foreign_keys=OFF; CREATE TABLE p_new (id INTEGER PRIMARY KEY, a INTEGER UNIQUE, s TEXT, more INT); INSERT INTO t (a, s) SELECT a, s FROM p ORDER BY a; INSERT INTO p_new (id, a, s) SELECT id, a, s FROM p; DROP TABLE p; ALTER TABLE p_new RENAME TO p; PRAGMA foreign_keys=ON",
	"PRAGMA foreign_keys=OFF; BEGIN; DELETE FROM p WHERE a = 11; INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a; COMMIT; PRAGMA foreign_keys=ON",
	"PRAGMA foreign_keys=ON; DELETE FROM p WHERE a = 11; INSERT INTO t (a) SELECT p FROM child; PRAGMA foreign_keys=OFF",
	"BEGIN; INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a",
	"BEGIN; INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a; ROLLBACK; INSERT INTO t (a) SELECT a FROM src WHERE a = 1",
	"INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a; ROLLBACK",
	"SAVEPOINT s; INSERT INTO t (a) SELECT a FROM src WHERE a > 3; ROLLBACK TO s; INSERT INTO t (a) SELECT a FROM src WHERE a < 2; RELEASE s",
	"INSERT INTO t (a) SELECT a FROM src ORDER BY a; INSERT INTO missing VALUES (1); INSERT INTO t (a) SELECT a FROM src",
	"INSERT INTO t (a) SELECT a FROM src ORDER BY a; INSERT INTO p (a, s) SELECT 11, s FROM src; DELETE FROM src",
	"INSERT INTO t (a) VALUES (70); INSERT INTO t (a, s) SELECT a, s FROM src ORDER BY a; INSERT INTO t (a) VALUES (71), (72)",
	"INSERT INTO t (a) SELECT a FROM src WHERE a < 3 ORDER BY a; INSERT INTO t (a) SELECT a + 100 FROM t ORDER BY a; INSERT INTO t (a) SELECT a + 1000 FROM t ORDER BY a",
	"DELETE FROM src WHERE a < 3; INSERT INTO t (a) SELECT a FROM src ORDER BY a; INSERT INTO log SELECT changes()",
	"INSERT OR IGNORE INTO p (a, s) VALUES (11, 'again'); INSERT INTO t (a) SELECT a FROM src WHERE a > 100",
	"CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO log VALUES (CASE WHEN new.a > 2 THEN 'a;' ELSE 'b' END); DELETE FROM src WHERE a = 4; END; INSERT INTO t (a) SELECT a FROM src ORDER BY a; DROP TRIGGER r",
	"CREATE TEMP TRIGGER IF NOT EXISTS r INSTEAD OF INSERT ON v WHEN CASE new.a WHEN 1 THEN 0 ELSE 1 END BEGIN SELECT 1; INSERT INTO t (id, a) SELECT 5000, a FROM src WHERE a = 1; END; INSERT INTO t (a) SELECT a FROM src WHERE a = 2",
	"CREATE TRIGGER r AFTER UPDATE OF s ON src FOR EACH ROW BEGIN UPDATE p SET s = ';end;'; END -- ; END\n; INSERT INTO t (a) SELECT a FROM src ORDER BY a; UPDATE src SET s = ''",
	"CREATE TABLE [begin] (\"end\" INT, `case` INT); INSERT INTO [begin] VALUES (1, 2); INSERT INTO t (a) SELECT \"end\" FROM [begin]; DROP TABLE [begin]",
	"CREATE VIEW begins AS SELECT CASE WHEN a > 2 THEN a END AS a FROM src; INSERT INTO t (a) SELECT a FROM begins ORDER BY a; DROP VIEW begins",
	"/* ; */ INSERT INTO t (a) SELECT a FROM src ORDER BY a; -- ; INSERT\n;; /* ; */ DELETE FROM src; /* end */ ;",
	"WITH w(n) AS (VALUES (5), (6)) INSERT INTO log SELECT n FROM w; WITH w AS (SELECT a FROM src) INSERT INTO t (a) SELECT a FROM w ORDER BY a; REPLACE INTO p (a, s) VALUES (12, ';')",
	"EXPLAIN SELECT 1; ANALYZE; REINDEX; INSERT INTO t (a) SELECT a FROM src ORDER BY a",
	"VACUUM; INSERT INTO t (a) SELECT a FROM src ORDER BY a; PRAGMA user_version = 7",
	"INSERT INTO t (a) SELECT a FROM src; SELECT a FROM",
	"INSERT INTO t (a) SELECT b FROM src; DELETE FROM src",
}

// partsSources number the rows in ways that differ in what they ask besides.
var partsSources = map[string]policy.Source{
	"blocks": {Kind: policy.KindSequence, EnsureSchema: true},
	"joined": {Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined},
}

// TestParts: a text of several statements does what it does without keyfill, whichever of
// its statements count rows: what is stored and in which order, how many rows it reports,
// the error, what stays after an error, and whether a transaction is open.
//
//deviation:insert-select | A text of several statements with an `INSERT … SELECT` is executed one statement after the other, as the driver does. If the source has no number left, the INSERT fails, and the statements before it stay executed. With arguments or RETURNING, or prepared, keyfill refuses the text. | SQLite | `CREATE TABLE x_new …; INSERT INTO x_new (a) SELECT a FROM x; DROP TABLE x; ALTER TABLE x_new RENAME TO x` | –
func TestParts(t *testing.T) {
	t.Parallel()
	for name, source := range partsSources {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
				harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s TEXT)", "CREATE VIEW v AS SELECT 1 AS a")
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				harness.Must(t, db, "INSERT INTO t (a) VALUES (0)") // makes the states
				for _, text := range partsTexts {
					want := partsOutcome(t, s, s.Raw, text)
					got := partsOutcome(t, s, db, text)
					if !slices.Equal(got, want) {
						t.Errorf("%s:\n%q\nwithout keyfill\n%q", text, got, want)
					}
				}
			})
		})
	}
}

// partsOutcome executes a text on tables that are as at first, and returns what can be seen
// of it.
func partsOutcome(t *testing.T, s *harness.Scratch, db *sql.DB, text string) (seen []string) {
	t.Helper()
	harness.Must(t, s.Raw, "PRAGMA foreign_keys=OFF", "DELETE FROM t", "DROP TRIGGER IF EXISTS r")
	for _, table := range []string{"src", "child", "p", "log"} {
		harness.Must(t, s.Raw, "DROP TABLE IF EXISTS "+table)
	}
	harness.Must(t, s.Raw, partsTables...)
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, rec := keyfill.Record(context.Background())
	res, err := conn.ExecContext(ctx, text)
	seen = append(seen, fmt.Sprint("error ", err))
	if err == nil {
		changed, err := res.RowsAffected()
		seen = append(seen, fmt.Sprint("rows affected ", changed, err))
	}
	_, open := conn.ExecContext(context.Background(), "BEGIN")
	seen = append(seen, fmt.Sprint("transaction open: ", open != nil))
	if open == nil {
		harness.Must(t, conn, "ROLLBACK")
	}
	var kept int
	row := conn.QueryRowContext(context.Background(), "SELECT COUNT(*) - COUNT(DISTINCT id) FROM t")
	if err := row.Scan(&kept); err != nil || kept > 0 {
		t.Errorf("%s: %d rows without a key of their own, %v", text, kept, err)
	}
	for _, query := range []string{
		"SELECT a, s FROM t ORDER BY id", "SELECT * FROM p ORDER BY id", "SELECT * FROM child", "SELECT * FROM log", "SELECT * FROM src",
		"SELECT name FROM sqlite_master WHERE name NOT LIKE 'keyfill%' AND name NOT LIKE 'sqlite%' ORDER BY name", "PRAGMA foreign_keys",
	} {
		seen = append(seen, partsRows(t, conn, query)...)
	}
	if open != nil {
		harness.Must(t, conn, "COMMIT")
	}
	harness.Must(t, conn, "PRAGMA foreign_keys=OFF")
	for _, k := range rec.Keys("t") {
		if k.Outcome == keyfill.NotStored && harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id = %v", k.Key)) > 0 {
			t.Errorf("%s: key %v is called not stored", text, k.Key)
		}
	}
	return seen
}

// partsRows returns what a query gives on a connection, or that it fails.
func partsRows(t *testing.T, conn *sql.Conn, query string) []string {
	t.Helper()
	rows, err := conn.QueryContext(context.Background(), query)
	if err != nil {
		return []string{query + " fails"}
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPartsRefused: a text that gives rows, is prepared or has arguments is refused before
// anything of it runs, since drivers differ in how much of it they would execute.
func TestPartsRefused(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s TEXT)")
		harness.Must(t, s.Raw, partsTables...)
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		const text = "DELETE FROM src WHERE a = 1; INSERT INTO t (a) SELECT a FROM src RETURNING id"
		for path, send := range harness.SeveralPaths {
			if path == "exec" {
				continue
			}
			if err := send(context.Background(), db, text); !errors.Is(err, rewrite.ErrSelectSeveral) {
				t.Errorf("%s: %v", path, err)
			}
		}
		_, err := db.Exec("DELETE FROM src WHERE a = ?; INSERT INTO t (a) SELECT a FROM src", 1)
		if !errors.Is(err, rewrite.ErrSelectSeveral) {
			t.Errorf("with an argument: %v", err)
		}
		const counts = "DELETE FROM src WHERE a = 1; INSERT INTO t (a) SELECT a FROM src; INSERT INTO t (a) SELECT changes()"
		_, err = db.Exec(counts)
		if place := fmt.Sprintf("byte %d:", strings.LastIndex(counts, "INSERT")); !errors.Is(err, rewrite.ErrReadsCount) || !strings.Contains(err.Error(), place) {
			t.Errorf("of the third statement: %v", err)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM src"); n != 4 {
			t.Errorf("a text that was refused has left %d rows of 4", n)
		}
	})
}

// TestCommentBehind: a comment after the last statement does not change what keyfill reports,
// although mattn/go-sqlite3 answers for it with no rows.
//
//deviation:insert-select | If a comment follows the last semicolon of a text that gets keys, keyfill leaves the semicolon out: mattn/go-sqlite3 would report that no row was stored. | SQLite | `INSERT OR IGNORE INTO t (a) VALUES (1); -- x` | –
func TestCommentBehind(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 500}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER UNIQUE)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		for i, text := range []string{
			"INSERT OR IGNORE INTO t (a) VALUES (1); -- x",
			"INSERT OR IGNORE INTO t (a) VALUES (1), (2); /* x */ ;",
			"INSERT INTO t (a) VALUES (3); /* ; */",
			"INSERT INTO t (a) VALUES (?);; -- x",
			"INSERT INTO t (a) SELECT 5 WHERE NOT EXISTS (SELECT 1 FROM t WHERE a = 5); -- x",
		} {
			var args []any
			if i == 3 {
				args = append(args, 4)
			}
			ctx, rec := keyfill.Record(context.Background())
			res, err := db.ExecContext(ctx, text, args...)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			last, err := res.LastInsertId()
			if greatest := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); err != nil || last != greatest {
				t.Errorf("%s: LastInsertId is %d, %v, for %d", text, last, err, greatest)
			}
			if n, err := res.RowsAffected(); n != 1 || err != nil {
				t.Errorf("%s: %d rows affected, %v", text, n, err)
			}
			for _, k := range rec.Keys("t") {
				stored := harness.Count(t, s.Raw, fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id = %v", k.Key)) == 1
				if stored != (k.Outcome == keyfill.Stored) {
					t.Errorf("%s: key %v is called %v", text, k.Key, k.Outcome)
				}
			}
		}
	})
}

// TestJoinedSelectWaits: in a transaction that has not read before, SQLite's INSERT waits
// for the other writers, with keys of the transaction too: their rows are counted when the
// lock to write is held.
func TestJoinedSelectWaits(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, s TEXT)")
		harness.Must(t, s.Raw, partsTables...)
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		const insert = "INSERT INTO t (a) SELECT a FROM src"
		harness.Must(t, db, insert)
		const writers, times = 4, 10
		var all sync.WaitGroup
		for i := range writers {
			conn := harness.ConnOf(t, db)
			all.Go(func() {
				for range times {
					var err error
					if i%2 == 0 {
						_, err = conn.ExecContext(t.Context(), "BEGIN; "+insert+"; COMMIT")
					} else if _, err = conn.ExecContext(t.Context(), "BEGIN"); err == nil {
						if _, err = conn.ExecContext(t.Context(), insert); err == nil {
							_, err = conn.ExecContext(t.Context(), "COMMIT")
						}
					}
					if err != nil {
						t.Error(err)
						_, _ = conn.ExecContext(t.Context(), "ROLLBACK")
					}
				}
			})
		}
		all.Wait()
		want := int64(4 * (1 + writers*times))
		if n := harness.IntegersOf(t, s.Raw, "SELECT COUNT(*) FROM t"); n[0] != want {
			t.Errorf("%d rows, want %d", n[0], want)
		}
		if n := harness.IntegersOf(t, s.Raw, "SELECT MAX(id) FROM t"); n[0] != want {
			t.Errorf("the last key is %d, want %d", n[0], want)
		}
	})
}
