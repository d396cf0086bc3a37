package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestSQLiteRule: several goroutines insert outside of transactions, and in transactions
// that commit and that do not, begun by BeginTx and by text: no statement fails, no key
// comes twice, and the row of the state is above all that are stored.
func TestSQLiteRule(t *testing.T) {
	t.Parallel()
	eachSQLite(t, sqliteDatabases, func(t *testing.T, d harness.SQLiteDatabase, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
		db, m := s.Open(t, harness.Blocks("t", 7))
		db.SetMaxOpenConns(d.Conns)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 25 {
					if err := insertSQLite(db, (g+i)%len(sqliteWays), i%3+1); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		stored := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
		if top := stored[len(stored)-1]; int64(s.Next(t, "t.id")) <= top {
			t.Errorf("the row stands at %d, and %d is stored", s.Next(t, "t.id"), top)
		}
		if gone := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a <> 'kept'"); gone != 0 {
			t.Errorf("%d rows of transactions that were rolled back", gone)
		}
		if got := m.Stats().Tables["t"]; got.Suspects != 0 || int(got.Keys) < len(stored) {
			t.Errorf("%+v for %d rows", got, len(stored))
		}
	})
}

// sqliteWays are the ways to insert, with what begins a transaction and what
// ends it; "" is BeginTx.
var sqliteWays = []struct{ begin, end string }{
	{"-", "-"}, // none
	{"", "commit"},
	{"", "rollback"},
	{"BEGIN", "COMMIT"},
	{"BEGIN IMMEDIATE", "ROLLBACK"},
	{"SAVEPOINT a", "RELEASE a"},
	{"BEGIN DEFERRED", "ROLLBACK"},
}

func insertSQLite(db *sql.DB, way, rows int) error {
	ctx := context.Background()
	w := sqliteWays[way]
	word := "kept"
	if strings.EqualFold(w.end, "rollback") {
		word = "gone"
	}
	query := "INSERT INTO t (a) VALUES ('" + word + "')" + strings.Repeat(", ('"+word+"')", rows-1)
	switch w.begin {
	case "-":
		_, err := db.ExecContext(ctx, query)
		return err
	case "":
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for range 2 {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				return err
			}
		}
		if w.end == "commit" {
			return tx.Commit()
		}
		return tx.Rollback()
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, q := range []string{w.begin, query, query, w.end} {
		if _, err := c.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// TestSQLiteRollback: inside a transaction exactly the keys of the statement are
// reserved, and go with its rows; outside, a block. How the transaction was
// begun does not matter. After RELEASE it is not known whether one is open, so
// that is as inside.
//
//deviation:integer-keys | Inside a transaction keyfill reserves numbers in that transaction: other writers wait for its end, as for any writer. | SQLite | – | `store:` in another file
func TestSQLiteRollback(t *testing.T) {
	t.Parallel()
	for _, w := range []struct{ begin, rollback, commit string }{
		{"BEGIN", "ROLLBACK", "COMMIT"},
		{"BEGIN IMMEDIATE", "ROLLBACK", "END"},
		{"SAVEPOINT a", "ROLLBACK TO a; RELEASE a", "RELEASE a"},
		{"BEGIN; SAVEPOINT a; RELEASE a", "ROLLBACK", "COMMIT"},
	} {
		t.Run(w.begin, func(t *testing.T) {
			s := harness.WalFile.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
			db, _ := s.Open(t, harness.Blocks("t", 10))
			c := harness.ConnOf(t, db)
			insert := "INSERT INTO t (a) VALUES (1), (2), (3)"

			// The first one makes the row, which is undone with it.
			harness.Must(t, c, w.begin, insert, w.rollback)
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences"); n != 0 {
				t.Errorf("%d rows of states, want that of the transaction undone", n)
			}
			harness.Must(t, c, w.begin, insert, w.commit)
			if got := s.Next(t, "t.id"); got != 4 {
				t.Errorf("after a commit of 3 keys the row stands at %d", got)
			}
			harness.Must(t, c, w.begin, insert, insert, w.rollback)
			if got := s.Next(t, "t.id"); got != 4 {
				t.Errorf("after a rollback the row stands at %d, want 4", got)
			}
			harness.Must(t, c, w.begin, insert, w.commit)
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6}) {
				t.Errorf("stored %v: the rolled back keys are to come again", got)
			}
			if w.begin == "SAVEPOINT a" {
				harness.Must(t, c, insert)
				if got := s.Next(t, "t.id"); got != 10 {
					t.Errorf("after RELEASE the row stands at %d, want 10", got)
				}
				harness.Must(t, c, "BEGIN", "COMMIT", "DELETE FROM t WHERE id > 6", "UPDATE keyfill_sequences SET next_value = 7")
			}
			// Outside, a block of 10 commits, of which 3 are used; inside, what
			// is left is used and not reserved again.
			harness.Must(t, c, insert)
			if got := s.Next(t, "t.id"); got != 17 {
				t.Errorf("outside a transaction the row stands at %d, want 17", got)
			}
			harness.Must(t, c, w.begin, insert, w.rollback)
			harness.Must(t, c, w.begin, insert, w.commit)
			if got := harness.IntegersOf(t, s.Raw, "SELECT MAX(id) FROM t"); got[0] != 15 || s.Next(t, "t.id") != 17 {
				t.Errorf("the greatest key is %d, the row stands at %d; want 15 and 17", got[0], s.Next(t, "t.id"))
			}
		})
	}
}

// TestSQLiteBlockAfterCommit: a block is kept only once its reservation has committed: no
// process has the integers that a failed attempt may have reserved.
func TestSQLiteBlockAfterCommit(t *testing.T) {
	t.Parallel()
	s := harness.WalFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE other (a INT)")
	db, _ := s.Open(t, harness.Blocks("t", 10))
	c := harness.ConnOf(t, db)
	harness.Must(t, c, "INSERT INTO t (a) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)", "PRAGMA busy_timeout = 1")
	w := harness.ConnOf(t, s.Raw)
	harness.Must(t, w, "BEGIN IMMEDIATE", "INSERT INTO other VALUES (1)")
	if _, err := c.ExecContext(context.Background(), "INSERT INTO t (a) VALUES (11)"); err == nil {
		t.Error("an INSERT while another connection writes")
	}
	harness.Must(t, w, "COMMIT")
	harness.Must(t, c, "INSERT INTO t (a) VALUES (11)")
	if got := harness.IntegersOf(t, s.Raw, "SELECT MAX(id) FROM t"); got[0] != 11 || s.Next(t, "t.id") != 21 {
		t.Errorf("the greatest key is %d, the row stands at %d; want 11 and 21", got[0], s.Next(t, "t.id"))
	}
}

// firstWait is a policy, and what the process has done before its first INSERT in
// a transaction.
type firstWait struct {
	name string
	cfg  *policy.Config // nil: the raw driver
	warm func(t *testing.T, s *harness.Scratch, user *sql.Conn)
}

func firstWaits() []firstWait {
	flake := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSnowflake, Worker: harness.NewWorker()}})
	shared := harness.Blocks("u", 10)
	shared.Tables["u"], shared.Tables["t"] = policy.Table{Column: "id", Source: "numbers"}, policy.Table{Column: "id", Source: "numbers"}
	shared.Sources = map[string]policy.Source{"numbers": {Kind: policy.KindSequence, EnsureSchema: true}}
	rowless := harness.Blocks("t", 10)
	rowless.Tables["t"].InPlace.Create = new(false)
	return []firstWait{
		{"raw", nil, nil},
		{"sequence", harness.Blocks("t", 10), nil},
		{"sequence of two tables", shared, nil},
		{"snowflake", flake, nil},
		{"block used up", harness.Blocks("t", 1), func(t *testing.T, _ *harness.Scratch, user *sql.Conn) {
			harness.Must(t, user, "INSERT INTO t (a) VALUES (9)")
		}},
		{"table known, row not", rowless, func(t *testing.T, s *harness.Scratch, user *sql.Conn) {
			if _, err := user.ExecContext(context.Background(), "INSERT INTO t (a) VALUES (0)"); !errors.Is(err, store.ErrNoRow) {
				t.Fatalf("without a row: %v", err)
			}
			harness.Exec(t, s.Raw, "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('t.id', 1, 'main.t', 'id', '', 'x', '')")
		}},
	}
}

// TestSQLiteFirstWaits: the first INSERT of a process, the first statement of a
// DEFERRED transaction, while another connection writes: the plain driver's
// waits for it. A transaction that had read before fails instead, at once.
//
//deviation:integer-keys | With `ensure_schema`, a new connection creates missing tables, and waits for a writer. | SQLite | – | create them beforehand
func TestSQLiteFirstWaits(t *testing.T) {
	t.Parallel()
	for _, c := range firstWaits() {
		for _, d := range []harness.SQLiteDatabase{harness.WalFile, journalFile} {
			t.Run(c.name+"/"+d.Name, func(t *testing.T) {
				s := d.Scratch(t)
				harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
				harness.Exec(t, s.Raw, "CREATE TABLE u (id INTEGER PRIMARY KEY, a INT)")
				db := s.Raw
				if c.cfg != nil {
					db, _ = s.Open(t, c.cfg)
				}
				user := harness.ConnOf(t, db)
				if c.warm != nil {
					c.warm(t, s, user)
				}
				waitsForWriter(t, s, user)
				if err := errors.Join(user.Close(), db.Close()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// waitsForWriter inserts in a transaction while another connection writes.
func waitsForWriter(t *testing.T, s *harness.Scratch, user *sql.Conn) {
	t.Helper()
	writer := harness.ConnOf(t, s.Raw)
	harness.Must(t, writer, "BEGIN IMMEDIATE", "INSERT INTO u VALUES (1, 1)")
	done := make(chan error, 1)
	go func() {
		tx, err := user.BeginTx(context.Background(), nil)
		if err == nil {
			_, err = tx.Exec("INSERT INTO t (a) VALUES (1)")
			err = errors.Join(err, tx.Commit())
		}
		done <- err
	}()
	time.Sleep(100 * time.Millisecond)
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	harness.Must(t, writer, "COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestSQLiteReads: what the INSERT's own text asks of the statement before:
// last_insert_rowid() is still the parent's; changes() would be the reservation's, so the
// INSERT is refused if the reservation runs on its own connection.
//
//deviation:integer-keys | An INSERT whose own text reads `changes()` or `total_changes()` is refused. `last_insert_rowid()` still returns the application's own last row. | SQLite | `INSERT INTO t (n) VALUES (changes())` | `unsupported: unfilled`; a key of its own
func TestSQLiteReads(t *testing.T) {
	t.Parallel()
	for _, d := range []harness.SQLiteDatabase{sqliteDatabases[0], harness.WalFile} {
		t.Run(d.Name, func(t *testing.T) {
			s := d.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE parent (id INTEGER PRIMARY KEY, a INT)")
			harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, parent INT)")
			db, m := s.Open(t, harness.SequenceID("t"))
			for i := range 3 {
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				harness.Must(t, tx, fmt.Sprintf("INSERT INTO parent VALUES (%d, 1)", 700+i),
					"INSERT INTO t (parent) VALUES (last_insert_rowid())")
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			if got := harness.IntegersOf(t, s.Raw, "SELECT parent FROM t ORDER BY id"); !slices.Equal(got, []int64{700, 701, 702}) {
				t.Errorf("parents %v, want 700 to 702", got)
			}
			for _, q := range []string{
				"INSERT INTO t (parent) VALUES (changes())",
				"INSERT INTO t (parent) VALUES (total_changes())",
			} {
				var e *keyfill.Error
				_, err := db.Exec(q)
				if !errors.As(err, &e) || !errors.Is(err, rewrite.ErrReadsCount) || e.Table != "t" {
					t.Errorf("%s: %v, want a refusal", q, err)
				}
				if _, err := db.Prepare(q); !errors.Is(err, rewrite.ErrReadsCount) {
					t.Errorf("prepared %s: %v, want a refusal", q, err)
				}
			}
			if n := m.Stats().Tables["t"].Refused[keyfill.Reason(rewrite.ErrReadsCount)]; n != 4 {
				t.Errorf("%d counted, want 4", n)
			}
			// A key of its own needs no reservation.
			harness.Must(t, db, "INSERT INTO t (id, parent) VALUES (99, changes())")
		})
	}
	// The plain driver's answer, where no reservation runs on the connection.
	s := harness.WalFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id TEXT PRIMARY KEY, n INT)")
	db, _ := s.Open(t, harness.FillID("t", policy.Table{}))
	c := harness.ConnOf(t, db)
	harness.Must(t, c, "INSERT INTO t (id, n) VALUES ('a', 0), ('b', 0)", "INSERT INTO t (n) VALUES (changes())")
	if got := harness.IntegersOf(t, s.Raw, "SELECT MAX(n) FROM t"); got[0] != 2 {
		t.Errorf("changes() gave %d, want 2", got[0])
	}
}

// TestSQLiteOwnMemory: connections to :memory: have a database each, and a
// numbering each.
func TestSQLiteOwnMemory(t *testing.T) {
	t.Parallel()
	s := &harness.Scratch{Engine: harness.SQLiteMemory, Connector: harness.ConnectorOf(t, "sqlite", ":memory:")}
	db, m := harness.OpenConnector(t, s.Connector, harness.Blocks("t", 5))
	for range 2 {
		c := harness.ConnOf(t, db)
		harness.Must(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)", "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a) VALUES (3)")
		var next, top int
		if err := c.QueryRowContext(context.Background(), "SELECT next_value, (SELECT MAX(id) FROM t) FROM keyfill_sequences").Scan(&next, &top); err != nil {
			t.Fatal(err)
		}
		if next != 6 || top != 3 {
			t.Errorf("the row stands at %d, the greatest key is %d; want 6 and 3", next, top)
		}
	}
	if _, err := m.Reserve(context.Background(), "t", 1); !errors.Is(err, keyfill.ErrOwnMemory) {
		t.Errorf("Reserve: %v, want ErrOwnMemory", err)
	}
	if _, err := m.Keys(context.Background(), "t", 1); !errors.Is(err, keyfill.ErrOwnMemory) {
		t.Errorf("Keys: %v, want ErrOwnMemory", err)
	}
}

// TestSQLiteOwnMemoryLater is TestSQLiteOwnMemory for connections that were
// opened while nothing was filled.
func TestSQLiteOwnMemoryLater(t *testing.T) {
	t.Parallel()
	for _, mode := range []policy.Mode{policy.ModeOff, policy.ModeDryRun} {
		t.Run(mode.String(), func(t *testing.T) {
			db, m := harness.OpenConnector(t, harness.ConnectorOf(t, "sqlite", ":memory:"), harness.Blocks("t", 5))
			m.SetMode(mode)
			conns := []*sql.Conn{harness.ConnOf(t, db), harness.ConnOf(t, db)}
			for _, c := range conns {
				harness.Must(t, c, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)", "INSERT INTO t (a) VALUES (7)", "DELETE FROM t")
				var tables int
				if err := c.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM sqlite_master WHERE name LIKE 'keyfill%'").Scan(&tables); err != nil || tables != 0 {
					t.Errorf("%d tables were created under %v (%v)", tables, mode, err)
				}
			}
			m.SetMode(policy.ModeFill)
			for _, c := range conns {
				harness.Must(t, c, "INSERT INTO t (a) VALUES (1), (2)", "INSERT INTO t (a) VALUES (3)")
				var next, top int
				if err := c.QueryRowContext(context.Background(), "SELECT next_value, (SELECT MAX(id) FROM t) FROM keyfill_sequences").Scan(&next, &top); err != nil {
					t.Fatal(err)
				}
				if next != 6 || top != 3 {
					t.Errorf("the row stands at %d, the greatest key is %d; want 6 and 3", next, top)
				}
			}
		})
	}
}

// TestSQLiteNoTables: tables of states that are not there, and that may not be
// made, are an error that says so, in a transaction too, which goes on.
func TestSQLiteNoTables(t *testing.T) {
	t.Parallel()
	s := harness.WalFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	db, _ := s.Open(t, harness.FillID("t", policy.Table{Source: policy.KindSequence}))
	check := func(err error) {
		t.Helper()
		var e *keyfill.Error
		if !errors.Is(err, store.ErrTables) || !errors.As(err, &e) || !strings.Contains(err.Error(), "ensure_schema") {
			t.Errorf("the error is %v, want ErrTables", err)
		}
	}
	_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
	check(err)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec("INSERT INTO t (a) VALUES (1)")
	check(err)
	harness.Must(t, tx, "INSERT INTO t (id, a) VALUES (5, 1)")
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}

// TestSQLiteCancelled: a reservation that is cancelled while it waits for a
// writer leaves no transaction open on the connection, and nothing in hand.
func TestSQLiteCancelled(t *testing.T) {
	t.Parallel()
	s := harness.WalFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	harness.Exec(t, s.Raw, "CREATE TABLE other (a INT)")
	db, _ := s.Open(t, harness.Blocks("t", 1))
	c := harness.ConnOf(t, db)
	// SQLite waits to the end of this whatever the context.
	harness.Must(t, c, "INSERT INTO t (a) VALUES (1)", "PRAGMA busy_timeout = 200")
	w := harness.ConnOf(t, s.Raw)
	for _, inside := range []bool{false, true} {
		harness.Must(t, w, "BEGIN IMMEDIATE", "INSERT INTO other VALUES (1)")
		if inside {
			harness.Must(t, c, "BEGIN")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		if _, err := c.ExecContext(ctx, "INSERT INTO t (a) VALUES (2)"); err == nil {
			t.Error("an INSERT while another connection writes")
		}
		cancel()
		harness.Must(t, w, "COMMIT")
		if inside {
			harness.Must(t, c, "ROLLBACK")
		}
		harness.Must(t, c, "BEGIN", "INSERT INTO t (a) VALUES (2)", "COMMIT")
	}
	if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("keys %v, want 1, 2, 3", got)
	}
}

// TestSQLiteAttached: the table is in another file than the states; both commit
// and roll back together.
func TestSQLiteAttached(t *testing.T) {
	t.Parallel()
	s := journalFile.Scratch(t)
	cfg := harness.Blocks("aux.t", 5)
	db, _ := s.Open(t, cfg)
	c := harness.ConnOf(t, db)
	harness.Must(t, c, "ATTACH '"+filepath.Join(t.TempDir(), "aux.db")+"' AS aux",
		"CREATE TABLE aux.t (id INTEGER PRIMARY KEY, a INT)", "INSERT INTO aux.t (id, a) VALUES (40, 0)",
		"BEGIN", "INSERT INTO aux.t (a) VALUES (1)", "ROLLBACK",
		"BEGIN", "INSERT INTO aux.t (a) VALUES (2)", "COMMIT", "INSERT INTO aux.t (a) VALUES (3)")
	var keys string
	if err := c.QueryRowContext(context.Background(), "SELECT group_concat(id, ' ') FROM (SELECT id FROM aux.t ORDER BY id)").Scan(&keys); err != nil || keys != "40 41 42" {
		t.Errorf("keys %s, %v; want 40 41 42", keys, err)
	}
	if got := s.Next(t, "aux.t.id"); got != 47 {
		t.Errorf("the row stands at %d, want 47", got)
	}
}

// TestSQLiteSelectOpen: rows that are still being read on the same connection
// are no hindrance.
func TestSQLiteSelectOpen(t *testing.T) {
	t.Parallel()
	s := harness.WalFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)")
	harness.Exec(t, s.Raw, "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
	db, _ := s.Open(t, harness.Blocks("t", 2))
	c := harness.ConnOf(t, db)
	rows, err := c.QueryContext(context.Background(), "SELECT id FROM t WHERE a = 0")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	read := 0
	for rows.Next() {
		harness.Must(t, c, "INSERT INTO t (a) VALUES (1)")
		read++
	}
	if err := rows.Err(); err != nil || read != 3 {
		t.Errorf("%d rows were read, %v", read, err)
	}
	if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t WHERE a = 1 ORDER BY id"); !slices.Equal(got, []int64{4, 5, 6}) {
		t.Errorf("keys %v, want 4, 5, 6", got)
	}
}
