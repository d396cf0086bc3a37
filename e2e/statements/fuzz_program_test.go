package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
)

// storedRun is one program on both sides.
type storedRun struct {
	t             testing.TB
	twin          *twin
	number        string // of the program
	input         []byte
	at            int
	ctx           context.Context
	plain, filled side
	tag           int      // of the row that was written last
	was           stored   // what was compared last, as the plain side had it
	texts         []string // what was sent, for a finding
	failed        bool
	ddl           bool             // the tables may have changed
	other         bool             // there may be the table other
	altered       map[string]bool  // tables that may have other columns or indexes
	touched       map[string]bool  // tables into which an INSERT was sent
	temporaries   bool             // there may be temporary relations
	elsewhere     bool             // the second schema may have been the current one
	replaced      bool             // a row of j may have gone
	written       int              // rows that another connection has inserted into the facts
	had           stored           // what the filled side's tables held when they were last compared
	begun         bool             // a text has begun a transaction, as far as the program knows
	settings      bool             // settings of the session may be others
	autocommit    bool             // one of them may be autocommit
	oneShot       bool             // SET TRANSACTION was sent, on MariaDB, and no transaction since
	discarded     bool             // PostgreSQL has forgotten what pgx has prepared
	last          *storedStatement // the last INSERT
	ended         bool             // an INSERT has rolled back a transaction of database/sql
}

// maxStored is how many steps a program has at most.
const maxStored = 20

func (r *storedRun) sides() []*side { return []*side{&r.plain, &r.filled} }

// pick returns the next choice of k.
func (r *storedRun) pick(k int) int {
	if r.at >= len(r.input) {
		return 0
	}
	r.at++
	return int(r.input[r.at-1]) % k
}

// one returns one of some texts.
func (r *storedRun) one(of ...string) string { return of[r.pick(len(of))] }

// program runs the steps that the input says, and compares all tables at the end.
func (r *storedRun) program() {
	for range maxStored {
		if r.at >= len(r.input) || r.failed {
			break
		}
		r.step()
	}
	if r.failed {
		return
	}
	r.finish()
}

func (r *storedRun) step() {
	switch r.pick(46) {
	case 18, 19, 20, 21:
		r.insertSelect()
	case 22, 23, 24, 25:
		r.transaction()
	case 26:
		r.temporary()
	case 27:
		r.schema()
	case 28:
		r.define()
	case 29:
		table := r.one(storedTables[0], storedTables[1], storedTables[3], storedTables[5])
		r.both(r.one(
			fmt.Sprintf("UPDATE %s SET a = a + 1 WHERE u = 1", table),
			fmt.Sprintf("DELETE FROM %s WHERE u = 2", table)))
	case 30:
		r.several()
	case 31:
		r.both("SELECT count(*) FROM src")
	case 32, 33, 34, 35, 36:
		r.insertTyped()
	case 37:
		r.write()
	case 38, 39, 40:
		r.setting()
	case 41, 42, 43:
		r.retry()
	case 44:
		r.remake()
	case 45:
		r.define()
	default:
		r.insertValues()
	}
}

// both sends a text that does not concern keyfill on both sides.
func (r *storedRun) both(text string) { r.send(&storedStatement{text: text}) }

// transaction begins or ends one, by a text or by database/sql.
func (r *storedRun) transaction() {
	if r.plain.tx != nil {
		switch r.pick(8) {
		case 0, 1:
			r.end1(func(tx *sql.Tx) error { return tx.Commit() }, "Commit")
		case 2:
			r.end1(func(tx *sql.Tx) error { return tx.Rollback() }, "Rollback")
		case 3:
			r.both("COMMIT")
		default:
			r.savepoint()
		}
		return
	}
	switch {
	case r.begun && r.pick(3) == 0:
		r.savepoint()
	case r.begun:
		r.both(r.one("COMMIT", "ROLLBACK", "COMMIT"))
		r.begun = false
	case r.pick(2) == 0:
		r.both(r.begins())
		r.begun = true
	default:
		r.beginTx()
	}
}

// beginTx begins transactions of database/sql.
func (r *storedRun) beginTx() {
	options := r.options()
	r.texts = append(r.texts, fmt.Sprintf("BeginTx %v", options))
	r.renew()
	var errs [2]error
	for i, s := range r.sides() {
		s.tx, errs[i] = s.conn.BeginTx(r.ctx, options)
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		r.finding("BeginTx: plain %v, filled %v", errs[0], errs[1])
	}
}

// end1 ends the transactions of database/sql.
func (r *storedRun) end1(end func(*sql.Tx) error, name string) {
	r.texts = append(r.texts, name)
	r.ended = false
	var errs [2]error
	for i, s := range r.sides() {
		errs[i] = end(s.tx)
		s.tx = nil
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		r.finding("%s: plain %v, filled %v", name, errs[0], errs[1])
	}
}

func (r *storedRun) savepoint() {
	r.both(r.one("SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s", "SAVEPOINT s"))
}

// temporary makes or drops relations that stand before others of their name. The
// keys of the temporary table are far from all others: see isTemporary.
func (r *storedRun) temporary() {
	if r.discarded {
		return // see forget: the filled side would miss statements that the plain one has closed
	}
	r.temporaries = true
	rest := "u INT UNIQUE, a INT DEFAULT 7, b VARCHAR(20) DEFAULT 'd', tag INT"
	w := r.twin
	table := r.one("t", "t", "j")
	switch {
	case w.IsPostgres():
		r.both(r.one(
			"CREATE TEMP TABLE "+table+" (id BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 5000000000) PRIMARY KEY, "+rest+")",
			"CREATE TEMP VIEW t AS SELECT * FROM p",
			"DROP TABLE IF EXISTS pg_temp."+table,
			"DISCARD TEMP"))
	case w.Server != nil:
		r.both(r.one(
			"CREATE TEMPORARY TABLE "+table+" (id BIGINT AUTO_INCREMENT PRIMARY KEY, "+rest+") AUTO_INCREMENT = 5000000000",
			"DROP TEMPORARY TABLE IF EXISTS "+table))
	default:
		columns := " (id INTEGER PRIMARY KEY, " + rest + ")"
		if r.pick(3) == 0 {
			r.both("DROP TABLE IF EXISTS temp." + table)
			return
		}
		r.both(r.one("CREATE TEMP TABLE ", "CREATE TABLE temp.", "CREATE TABLE 'temp'.") + table + columns)
		r.both("INSERT OR IGNORE INTO temp." + table + " (id, tag) VALUES (5000000000, -1)")
	}
}

// forget closes the statements that pgx keeps prepared for the plain driver. PostgreSQL
// sends them to the table of before, where a temporary one of its name has come since;
// keyfill, which asks, has another text for it. In a transaction that has failed none is
// executed.
func (r *storedRun) forget() {
	r.twin.forgot = true
	err := r.plain.conn.Raw(func(conn any) error {
		if c, ok := conn.(*stdlib.Conn); ok && c.Conn().PgConn().TxStatus() != 'E' {
			return c.Conn().DeallocateAll(r.ctx)
		}
		return nil
	})
	if err != nil {
		r.finding("plain: closing the statements that pgx keeps: %v", err)
	}
}

// isTemporary reports whether the engine numbered a row of a temporary table.
func isTemporary(id int64) bool { return id >= 5000000000 }

// schema goes to the second schema, or back.
func (r *storedRun) schema() {
	w := r.twin
	if w.Server == nil {
		return
	}
	r.elsewhere = true
	if w.IsPostgres() {
		r.both(r.one("SET search_path = s2", "SET search_path = public", "SET LOCAL search_path = s2, public",
			"RESET search_path", "SELECT set_config('search_path', 's2', false)"))
		return
	}
	r.both(r.one("USE {second}", "USE {first}"))
}

// define changes a table, or makes one.
func (r *storedRun) define() {
	r.ddl = true
	table := r.one("t", "j", "p")
	if r.twin.IsPostgres() && (r.begun || r.plain.tx != nil) {
		r.other = true
		r.both("CREATE TABLE other (n INT)") // a changed table of ours would be locked
		return
	}
	text := r.one(
		"CREATE TABLE other (n INT)",
		"ALTER TABLE "+table+" ADD COLUMN x INT",
		"ALTER TABLE "+table+" DROP COLUMN x",
		"CREATE INDEX "+table+"_a ON "+table+" (a)",
		"DROP INDEX "+table+"_a"+onlyIf(r.twin.Dialect.Name == "mariadb", " ON "+table),
		"DROP TABLE IF EXISTS other")
	r.other = r.other || strings.HasPrefix(text, "CREATE TABLE")
	r.altered[table] = r.altered[table] || strings.HasPrefix(text, "ALTER") || strings.Contains(text, " INDEX ")
	r.both(text)
}

// several sends several statements in one text.
func (r *storedRun) several() {
	if !r.twin.IsPostgres() && r.twin.Server != nil || r.twin.Server == nil {
		f := &storedInsert{table: r.one("t", "p", "v"), several: true}
		first := r.values(f, 1, false)
		r.send(&storedStatement{
			text:   r.one("SELECT 1; ", "UPDATE src SET z = z; ") + first.text,
			insert: f,
			way:    r.pick(2), // Exec or Query
		})
		return
	}
	f := &storedInsert{table: r.one("t", "p", "v"), several: true}
	first := r.values(f, 1, false)
	r.send(&storedStatement{text: first.text + "; UPDATE src SET z = z", insert: f})
}

// finish ends what is open and compares everything.
func (r *storedRun) finish() {
	for _, s := range r.sides() {
		if s.tx != nil {
			s.tx.Rollback()
			s.tx = nil
		}
	}
	// A transaction of a text may be open, or not: both sides are equal in it.
	for _, s := range r.sides() {
		s.conn.ExecContext(r.ctx, "ROLLBACK")
	}
	r.renew()
	tables := append(slices.Clone(storedTables), "log")
	for _, table := range r.twin.typed() {
		if r.touched[table.name] {
			tables = append(tables, table.name)
		}
	}
	if filled, err := r.compare(tables...); err == nil && !r.failed && !r.replaced {
		r.holes("j", filled["j"])
		r.holes("joined", filled["joined"])
	}
}

// finding fails the test with what was sent before.
func (r *storedRun) finding(format string, args ...any) {
	r.t.Helper()
	r.failed = true
	r.t.Errorf("%s, program %s\n%s\nafter:\n\t%s", r.twin.Name, r.number, fmt.Sprintf(format, args...), strings.Join(r.texts, "\n\t"))
}
