package joined_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/rewrite"
)

// ending is a way in which the engine ends a transaction, and no text that is
// followed says so.
type ending struct {
	name string
	end  func(t *testing.T, e *endedTest)
}

// endedTest is one transaction that ends so.
type endedTest struct {
	*harness.Scratch
	below driver.Conn // of the transaction
	db    *sql.DB
	tx    *sql.Tx
}

// mysqlAsMySQL is MariaDB that is taken for MySQL, of which no variable says that
// a transaction is open.
var mysqlAsMySQL = harness.Engine{Name: "as-mysql", Driver: "mysql", Dialect: dialect.MySQL(), Server: harness.MariaDB, Params: "multiStatements=true"}

// endings returns the ways of an engine.
func endings(e harness.Engine) []ending {
	all := []ending{{"below", func(t *testing.T, e *endedTest) {
		if _, err := dbconn.Exec(context.Background(), e.below, "COMMIT", nil); err != nil {
			t.Fatal(err)
		}
	}}}
	switch {
	case e.Server == harness.MariaDB:
		all = append(all,
			ending{"second result", endBySecondResult}, ending{"prepare", endByPrepare},
			ending{"comment", func(t *testing.T, e *endedTest) { harness.Must(t, e.tx, "/*M! COMMIT */") }},
		)
	case e.Dialect.Name == "sqlite":
		all = append(all,
			ending{"on conflict", func(t *testing.T, e *endedTest) { harness.MustFail(t, e.tx, "INSERT INTO l (id, a) VALUES (1, 1)") }},
			ending{"raise", func(t *testing.T, e *endedTest) { harness.MustFail(t, e.tx, "DELETE FROM l") }},
			ending{"or rollback", func(t *testing.T, e *endedTest) {
				harness.MustFail(t, e.tx, "INSERT OR ROLLBACK INTO n (id) VALUES (1)")
			}},
			ending{"interrupted", endByInterrupt},
		)
	}
	return all
}

// endBySecondResult has the transaction become a deadlock's victim in the second
// statement of a text.
func endBySecondResult(t *testing.T, e *endedTest) {
	harness.Must(t, e.tx, "UPDATE l SET a = a + 1 WHERE id = 1")
	other, err := e.Raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	harness.Must(t, other, "INSERT INTO l (id, a) VALUES (11, 0), (12, 0), (13, 0), (14, 0), (15, 0), (16, 0), (17, 0), (18, 0), (19, 0)", "UPDATE l SET a = a + 1 WHERE id = 2")
	rows, err := e.tx.Query("SELECT 1; SELECT SLEEP(0.2); SELECT a FROM l WHERE id = 2 FOR UPDATE")
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := other.Exec("UPDATE l SET a = a + 1 WHERE id = 1")
		waits <- err
	}()
	for rows.NextResultSet() {
		for rows.Next() {
		}
	}
	if rows.Err() == nil {
		t.Fatal("there was no deadlock")
	}
	if err := errors.Join(<-waits, rows.Close()); err != nil {
		t.Fatal(err)
	}
}

// endByPrepare has the transaction become the victim of a deadlock about the
// definitions of tables, which PREPARE waits for.
func endByPrepare(t *testing.T, e *endedTest) {
	harness.Must(t, e.tx, "DELETE FROM zl")
	other, err := e.Raw.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	waits := make(chan error, 1)
	go func() {
		_, err := other.ExecContext(context.Background(), "RENAME TABLE al TO al2, zl TO zl2")
		waits <- err
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if harness.Count(t, e.Raw, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock%'") > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nobody waits")
		}
	}
	if stmt, err := e.tx.Prepare("SELECT COUNT(*) FROM al WHERE id = ?"); err == nil {
		stmt.Close()
		t.Fatal("there was no deadlock")
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	harness.Must(t, other, "RENAME TABLE al2 TO al, zl2 TO zl")
}

// endByInterrupt has a context end in a write, which SQLite interrupts: the engine rolls
// back the transaction around it.
func endByInterrupt(t *testing.T, e *endedTest) {
	for wait := 5 * time.Millisecond; wait < time.Minute; wait *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		// The query in it takes seconds, and deletes nothing. It has an end, since an
		// interruption that comes before SQLite begins is lost.
		_, err := e.tx.ExecContext(ctx, "DELETE FROM n WHERE (WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 10000000) SELECT COUNT(*) FROM c) < 0")
		cancel()
		if err == nil {
			continue
		}
		// Where the context has ended before the write began, the transaction is open.
		if _, err := dbconn.Exec(context.Background(), e.below, "BEGIN", nil); err != nil {
			continue
		}
		if _, err := dbconn.Exec(context.Background(), e.below, "ROLLBACK", nil); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no write was interrupted")
}

// TestEnded: a transaction that the engine has ended without a visible sign gets no key,
// and the numbers that it has drawn are the numbers of the rows that are stored.
//
//deviation:keys-of-a-transaction | An INSERT with a key of its transaction is refused in a transaction that the engine has ended at an error, that a trigger or conflict clause has rolled back, or that was committed unseen. Otherwise the INSERT would be committed at once. | all | error 1213; `RAISE(ROLLBACK)`; `ON CONFLICT ROLLBACK` | roll back and begin again
//deviation:keys-of-a-transaction | The statements that draw a joined key fail unless the transaction is open, and so does the INSERT. Other lines of this table show how for each engine. | all | `ON CONFLICT ROLLBACK` | roll back and begin again
//deviation:keys-of-a-transaction | If a BEGIN as a text has begun the transaction, and an INSERT with `OR ROLLBACK` or with a key of its transaction has ended it, later INSERTs are committed at once, as without keyfill. | SQLite | `BEGIN`; `INSERT OR ROLLBACK …` | `BeginTx`
//deviation:keys-of-a-transaction | To prove an open transaction a BEGIN is sent, which fails. | SQLite, but for mattn/go-sqlite3 | – | –
func TestEnded(t *testing.T) {
	t.Parallel()
	multi := harness.MySQLDefault
	multi.Params = "multiStatements=true"
	harness.Each(t, []harness.Engine{multi, mysqlAsMySQL, harness.PgxDefault, harness.PQDefault, harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
		harness.Exec(t, s.Raw, "CREATE TABLE m (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.CreateLines(t, s)
		createEnding(t, s)
		cfg := allOfTransactions()
		if s.Dialect.Name == "mysql" {
			cfg.Dialect = "mysql"
		}
		db, _ := s.Open(t, cfg)
		for _, end := range endings(s.Engine) {
			for i, query := range insertsOf {
				for _, drawn := range []bool{false, true} {
					e := &endedTest{Scratch: s, db: db}
					t.Run(fmt.Sprintf("%s/%s/%v", end.name, []string{"t", "m", "lines"}[i], drawn), func(t *testing.T) { e.insert(t, end, query, drawn) })
				}
			}
		}
		for _, table := range []string{"t", "m"} {
			ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+table+" ORDER BY id")
			if !slices.Equal(ids, harness.UpTo(int64(len(ids)))) {
				t.Errorf("%s has %v: not without a hole", table, ids)
			}
		}
		wantNext(t, s, harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t")+1)
	})
}

// createEnding makes the tables that the endings are about.
func createEnding(t *testing.T, s *harness.Scratch) {
	t.Helper()
	if s.Dialect.Name == "sqlite" {
		harness.Must(t, s.Raw, "CREATE TABLE l (id INTEGER PRIMARY KEY ON CONFLICT ROLLBACK, a INT)", "CREATE TABLE n (id INTEGER PRIMARY KEY)",
			"INSERT INTO n (id) VALUES (1)", "INSERT INTO l (id, a) VALUES (1, 0), (2, 0)",
			"CREATE TRIGGER l_d BEFORE DELETE ON l BEGIN SELECT RAISE(ROLLBACK, 'none of it'); END")
		return
	}
	harness.Must(t, s.Raw, "CREATE TABLE l (id INT PRIMARY KEY, a INT)", "INSERT INTO l (id, a) VALUES (1, 0), (2, 0)",
		"CREATE TABLE al (id INT PRIMARY KEY)", "CREATE TABLE zl (id INT PRIMARY KEY)")
}

// insert has a transaction end, and go on with an INSERT.
func (e *endedTest) insert(t *testing.T, end ending, query string, drawn bool) {
	ctx := context.Background()
	literal, bound := fmt.Sprintf(query, "5"), e.Placeholders(fmt.Sprintf(query, "?"))
	harness.Must(t, e.db, literal)
	conn := harness.ConnOf(t, e.db)
	defer conn.Close()
	err := conn.Raw(func(dc any) error {
		e.below = keyfill.Unwrap(dc).(driver.Conn)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.tx, err = conn.BeginTx(ctx, nil); err != nil {
		t.Fatal(err)
	}
	defer e.tx.Rollback()
	if drawn {
		harness.Must(t, e.tx, literal)
	}
	end.end(t, e)
	for range 2 {
		if _, err := e.tx.ExecContext(ctx, bound, 5); err == nil {
			t.Errorf("%s is stored", bound)
		} else if !strings.Contains(err.Error(), "begin again") && !errors.Is(err, rewrite.ErrTransaction) {
			t.Error(err)
		}
		if _, err := e.tx.ExecContext(ctx, literal); err == nil {
			t.Errorf("%s is stored", literal)
		}
	}
	_ = e.tx.Rollback() // SQLite has none to roll back
	harness.Must(t, e.db, literal)
}
