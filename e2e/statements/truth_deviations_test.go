package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// seen is what a program sees on a connection, by the plain driver and through keyfill:
// docs/deviations.md says where that differs.
type seen struct {
	name   string
	engine harness.Engine
	source policy.Source // the zero value: a sequence
	texts  []string      // {t} is the table, whose keys the engine makes, or keyfill
	ask    string        // what the program asks after them
	plain  string        // the answer, or "error" where a text fails
	filled string
}

var latin1 = harness.Engine{Name: "mysql-latin1", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB, Params: "charset=latin1"}

var allSeen = []seen{
	{name: "warnings behind IGNORE", engine: harness.MySQLDefault,
		texts: []string{"INSERT IGNORE INTO {t} (a) VALUES (1), (1)"}, ask: "SELECT @@warning_count", plain: "1", filled: "0"},
	{name: "numbers that IGNORE leaves free", engine: harness.MySQLDefault,
		texts: []string{"INSERT IGNORE INTO {t} (a) VALUES (1), (2)", "INSERT INTO {t} (a) VALUES (3)"},
		ask:   "SELECT MAX(id) - MIN(id) FROM {t}", plain: "2", filled: "3"},
	{name: "zero under NO_AUTO_VALUE_ON_ZERO", engine: harness.MySQLDefault,
		texts: []string{"SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'", "INSERT INTO {t} (id, a) VALUES (0, 1)"},
		ask:   "SELECT id = 0 FROM {t}", plain: "1", filled: "0"},
	{name: "white space of another character set", engine: latin1,
		texts: []string{"INSERT\xa0INTO {t} (a) VALUES (1)"}, ask: "SELECT COUNT(*) FROM {t}", plain: "1", filled: "error"},
	{name: "FOUND_ROWS behind a question for the setting", engine: harness.MySQLDefault,
		texts: []string{"SET sql_mode = 'ANSI_QUOTES'", "SELECT SQL_CALC_FOUND_ROWS seq FROM seq_1_to_5 LIMIT 1", `INSERT INTO "{t}" (a) VALUES (1)`},
		ask:   "SELECT FOUND_ROWS()", plain: "5", filled: "1"},
	{name: "ROW_COUNT in an INSERT that needs the setting", engine: harness.MySQLDefault,
		texts: []string{"SET sql_mode = 'ANSI_QUOTES'", `INSERT INTO "{t}" (a) VALUES (ROW_COUNT())`},
		ask:   "SELECT COUNT(*) FROM {t}", plain: "1", filled: "error"},
	{name: "ROW_COUNT in an INSERT behind USE", engine: harness.MySQLDefault,
		texts: []string{"USE {db}", "INSERT INTO {t} (a) VALUES (ROW_COUNT())"},
		ask:   "SELECT COUNT(*) FROM {t}", plain: "1", filled: "error"},
	{name: "a COMMIT under the other setting", engine: harness.MySQLDefault, source: *harness.JoinedSource(),
		texts: []string{`SELECT '\'; COMMIT; --'`, "INSERT INTO {t} (a) VALUES (1)"},
		ask:   "SELECT COUNT(*) FROM {t}", plain: "1", filled: "error"},
	{name: "ROW_COUNT behind a number without gaps", engine: harness.MySQLDefault, source: *harness.JoinedSource(),
		texts: []string{"INSERT INTO {t} (a) VALUES (1)"}, ask: "SELECT ROW_COUNT()", plain: "1", filled: "0"},
	{name: "LAST_INSERT_ID behind INSERT … SELECT", engine: harness.MySQLDefault,
		texts: []string{"INSERT INTO {t} (a) VALUES (5)", "INSERT INTO {t} (a) SELECT 8 UNION SELECT 9"},
		ask:   "SELECT LAST_INSERT_ID() = (SELECT MIN(id) FROM {t})", plain: "0", filled: "1"},
	{name: "total_changes", engine: harness.SQLiteFile,
		texts: []string{"INSERT INTO {t} (a) VALUES (1)"}, ask: "SELECT total_changes() > 1", plain: "0", filled: "1"},
	{name: "OR FAIL of keys of a transaction", engine: harness.SQLiteFile, source: policy.Source{Kind: policy.KindMaxPlusOne},
		texts: []string{"INSERT OR FAIL INTO {t} (a) VALUES (1), (1)"}, ask: "SELECT COUNT(*) FROM {t}", plain: "1", filled: "0"},
}

// TestSeen: what a program sees by the plain driver and through keyfill, where that differs,
// is what is said here.
//
//deviation:filled-inserts | An INSERT after `USE` that reads `ROW_COUNT()` is refused, since keyfill's question would change the answer. An INSERT into another database of an SQL Server, or after `USE` of one, is refused too. | MySQL, MariaDB; SQL Server | `USE t2`, `INSERT INTO t (n) VALUES (ROW_COUNT())`; `INSERT INTO otherdb.dbo.t` | ask in a statement before; a DSN for that database
//deviation:insert-select | After an `INSERT … SELECT`, `SELECT LAST_INSERT_ID()` returns what it returned before. | MySQL, MariaDB | – | `LastInsertId`
//deviation:settings | `FOUND_ROWS()` is 1 after an INSERT whose meaning depends on a setting: it counts the row of keyfill's own query for the setting. | MySQL, MariaDB | `SELECT SQL_CALC_FOUND_ROWS …; INSERT INTO "t" …; SELECT FOUND_ROWS()` | `sql_mode:` in the policy
//deviation:settings | An INSERT that depends on a setting and whose own text reads `ROW_COUNT()` or `FOUND_ROWS()` is refused. | MySQL, MariaDB | `INSERT INTO "t" (a) VALUES (ROW_COUNT())` | `sql_mode:` in the policy
//deviation:settings | If a text begins or ends a transaction under one value of the setting and not under another, keyfill no longer knows whether a transaction is open. | MySQL, MariaDB, PostgreSQL, SQL Server | `SELECT '\'; COMMIT; --'` | `sql_mode:`, `standard_conforming_strings:`, `quoted_identifier:` in the policy
//deviation:settings | keyfill does not read the byte A0 as white space, as a server with latin1 does. | MySQL, MariaDB | `charset=latin1` with `INSERT\xa0INTO t` | `charset=utf8mb4`
//deviation:settings | An integer 0 in the key's place gets a key even if the session has NO_AUTO_VALUE_ON_ZERO, which keyfill does not ask for. | MySQL, MariaDB | `SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'` | `sql_mode: NO_AUTO_VALUE_ON_ZERO` in the policy, or `fill: [missing, null, default]`
//deviation:integer-keys | `total_changes()` and update hooks count reservations. | SQLite | – | `store:`
//deviation:keys-of-a-transaction | `INSERT OR FAIL` of several rows stores none of them if one fails. The plain driver keeps the rows before it. | SQLite | `INSERT OR FAIL INTO t (a) VALUES (1), (1)` | one row a statement; `transaction: autonomous`
//deviation:keys-of-a-transaction | `FOUND_ROWS()` afterwards belongs to keyfill's own query. Where keyfill made the transaction, `ROW_COUNT()` and `@@ROWCOUNT` belong to its COMMIT. `total_changes()` counts the row of the numbering. | MySQL, MariaDB; SQL Server; SQLite | `conn.Query("SELECT ROW_COUNT()")` | RowsAffected; `BeginTx`
//deviation:asked-afterwards | After keyfill's query for stored keys, `SHOW WARNINGS`, `@@warning_count`, `ROW_COUNT()` and `FOUND_ROWS()` belong to that query. | MySQL, MariaDB | `INSERT IGNORE …`; `SHOW WARNINGS` | `last_insert_id: off`, and no `Record`
//deviation:asked-afterwards | A statement of n rows takes n-1 numbers more, which are a gap: a program that counts up from LastInsertId, as GORM does, reaches no key of another statement. | MySQL, MariaDB; PostgreSQL with `last_insert_id: result` | `INSERT IGNORE INTO t (a) VALUES (1), (2)` | `last_insert_id: off`
func TestSeen(t *testing.T) {
	t.Parallel()
	for _, c := range allSeen {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{c.engine}, func(t *testing.T, s *harness.Scratch) {
				key := "BIGINT PRIMARY KEY"
				own := "BIGINT AUTO_INCREMENT PRIMARY KEY"
				if c.engine.Dialect.Name == "sqlite" {
					own = "INTEGER PRIMARY KEY"
				}
				harness.Must(t, s.Raw, "CREATE TABLE native (id "+own+", a INT UNIQUE)", "CREATE TABLE filled (id "+key+", a INT UNIQUE)")
				cfg := harness.SequenceID("filled")
				if c.source.Kind != "" {
					cfg = harness.FillID("filled", policy.Table{InPlace: &c.source})
				}
				db, _ := s.Open(t, cfg)
				for _, side := range []struct {
					table string
					db    *sql.DB
					want  string
				}{{"native", s.Raw, c.plain}, {"filled", db, c.filled}} {
					if got := c.see(t, side.db, side.table); got != side.want {
						t.Errorf("%s: the program sees %s, want %s", side.table, got, side.want)
					}
				}
			})
		})
	}
}

// see executes the texts on one connection and returns what it answers then.
func (c seen) see(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	conn := harness.ConnOf(t, db)
	ctx := context.Background()
	if c.source.Kind == "" && table == "filled" { // what is asked once a process is asked before
		if _, err := conn.ExecContext(ctx, "INSERT INTO filled (a) VALUES (0)"); err != nil {
			t.Fatal(err)
		}
		harness.Must(t, conn, "DELETE FROM filled")
	}
	in := ""
	if strings.Contains(c.texts[0], "{db}") {
		in = harness.Text(t, db, "SELECT DATABASE()")
	}
	var failed error
	for _, text := range c.texts {
		text = strings.NewReplacer("{t}", table, "{db}", in).Replace(text)
		if strings.HasPrefix(text, "SELECT") {
			rows, err := conn.QueryContext(ctx, text)
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
			continue
		}
		if _, failed = conn.ExecContext(ctx, text); failed != nil && !strings.Contains(c.name, "OR FAIL") {
			return "error"
		}
	}
	var answer any
	if err := conn.QueryRowContext(ctx, strings.ReplaceAll(c.ask, "{t}", table)).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	if b, ok := answer.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(answer)
}

// TestAttachedToMemory: a numbering of a database in memory would end with it, before the
// rows of a file that is attached to it do.
//
//deviation:integer-keys | A table in a file that is attached to a database in memory is refused. | SQLite | `ATTACH 'x.db' AS x` | `store:`
func TestAttachedToMemory(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteMemory}, func(t *testing.T, s *harness.Scratch) {
		cfg := harness.SequenceID("kept")
		db, _ := s.Open(t, cfg)
		conn := harness.ConnOf(t, db)
		harness.Must(t, conn, "ATTACH '"+strings.ReplaceAll(t.TempDir(), "'", "''")+"/x.db' AS x", "CREATE TABLE x.kept (id BIGINT PRIMARY KEY, a INT)")
		if _, err := conn.ExecContext(context.Background(), "INSERT INTO x.kept (a) VALUES (1)"); err == nil || !strings.Contains(err.Error(), `keyfill: table "x.kept"`) {
			t.Errorf("error %v, want keyfill's", err)
		}
	})
}

// TestDriverIsKeyfills: db.Driver() is keyfill's.
//
//deviation:wrapper | `db.Driver()` returns keyfill's driver. | all | `db.Driver().(*pq.Driver)` | –
func TestDriverIsKeyfills(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id"}}})
		if plain, filled := fmt.Sprintf("%T", s.Raw.Driver()), fmt.Sprintf("%T", db.Driver()); plain == filled {
			t.Errorf("both drivers are a %s", plain)
		}
	})
}
