// Package simdb is a database of the simulator. It answers the statements by which keyfill
// keeps its own tables, so that the code which sends them runs in the simulator as it is.
//
// A statement is parsed and evaluated, including its WHERE. The package panics at syntax
// that it does not know. It knows only keyfill's tables and one table of the application,
// whose column is the key.
//
// Transactions come one after the other: each has the lock of all rows from its first
// statement to its end. The server's clock moves by a tenth of a second at a time, so
// that a lease ends at the very instants at which other sessions look.
//
// # Caveats
//
// There are no types, rights and limits of columns, and no other levels of isolation. The
// tests on real engines show how an engine executes a statement.
package simdb

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sim"
)

// Tick is how far the server's clock moves at a time.
const Tick = 100 * time.Millisecond

// MaxKey is the note of a transaction that has read the greatest key of the application's
// table.
const MaxKey = "max key"

// Names of functions that no engine has, and that this package adds.
const (
	serverName = "sim_server"      // a function that returns the identity of the server
	clientTime = "sim_client_time" // a function that returns the time of the process's clock; for mutants
	seriesEnd  = "sim_series_end"  // a function that returns one more than the last integer of the present series; for mutants
)

// servers replaces the texts by which engines identify a server, by a call of sim_server.
// The longest texts come first.
var servers = strings.NewReplacer(
	"(SELECT system_identifier FROM pg_control_system()) || '/' || "+timeline, serverName+"()",
	timeline, serverName+"()",
	"CASE WHEN @@wsrep_on = 1 AND @@wsrep_cluster_address <> '' THEN CONCAT('cluster/', @@wsrep_cluster_name) ELSE "+variables+" END", serverName+"()",
	variables, serverName+"()",
	"@@binlog_format", "'ROW'",
)

const (
	timeline  = "CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"
	variables = "CONCAT_WS('/', @@server_id, @@hostname, @@port)"
)

// current matches the expression that asks PostgreSQL whether a statement sees all that was
// committed before it: in the simulator every statement does, so the expression is replaced
// by 1.
var current = regexp.MustCompile(`(?s)CASE WHEN current_setting\('transaction_isolation'\).*?NOT LIKE '%-YB-%' THEN 1 ELSE 0 END`)

// DB is the database of one kind of engine. It holds no rows: the [sim.Server] holds them.
// It is safe for concurrent use.
type DB struct {
	dialect *dialect.Dialect
	texts   bool     // whether the client writes arguments into the texts, so that each text differs
	known   sync.Map // parsed statements, by their texts
	columns map[string]func(key int64) int64
}

// New returns a database for a dialect: MariaDB's, PostgreSQL's or SQLite's.
func New(d *dialect.Dialect) *DB { return &DB{dialect: d, texts: d.Name == dialect.MariaDB().Name} }

// NewColumns does what New does, for an application's table whose columns are computed from
// the key by the functions in columns.
func NewColumns(d *dialect.Dialect, columns map[string]func(key int64) int64) *DB {
	db := New(d)
	db.columns = columns
	return db
}

// Dialect returns the dialect.
func (db *DB) Dialect() *dialect.Dialect { return db.dialect }

// statement parses a statement. If its arguments are in the text, it returns them.
func (db *DB) statement(text string) (s *statement, args []any) {
	if strings.Contains(text, "@@") || strings.Contains(text, "pg_") {
		text = current.ReplaceAllString(servers.Replace(text), "1")
	}
	if db.texts && !strings.Contains(text, " LIKE ") && !strings.HasPrefix(text, "SET ") {
		text, args = arguments(text)
	}
	if s, ok := db.known.Load(text); ok {
		return s.(*statement), args
	}
	s = parse(text, db.columns)
	db.known.Store(text, s)
	return s, args
}

// answer is the server's answer to a statement.
type answer struct {
	rows             [][]driver.Value
	affected, lastID int64
	err              error
}

// env holds the values for the evaluation of an expression.
type env struct {
	tx     *sim.Tx
	args   []any
	client time.Time // the time that the process's clock shows
	row    *Row
	old    *Row  // the existing row that an INSERT has found
	key    int64 // the key of the application's row, if the statement is about the application's table
	lastID int64
}

func (e *env) now() time.Time { return e.tx.Now().Truncate(Tick) }

// made returns a text that no other call returns.
func (e *env) made() string {
	return fmt.Sprint(e.tx.Server(), " ", e.tx.Now().UnixNano(), " ", e.tx.Count())
}

func (e *env) seriesEnd() int64 {
	next := int64(1)
	for _, r := range Rows(e.tx, "keyfill_series") {
		next = max(next, r.Int("series_last")+1)
	}
	return next
}

// run executes a statement.
func (db *DB) run(tx *sim.Tx, s *statement, args []any, client time.Time) answer {
	e := &env{tx: tx, args: args, client: client}
	switch {
	case s.look != nil:
		return s.look.answer(e)
	case s.verb == "set":
		return answer{}
	case s.table == "":
		return answer{rows: [][]driver.Value{s.answer(e)}}
	case s.of == nil:
		return s.keys(e)
	}
	switch s.verb {
	case "select":
		return s.selectRows(e)
	case "insert":
		return s.insertRow(e)
	}
	return db.change(s, e)
}

// matching returns the rows that the statement is about.
func (s *statement) matching(e *env) (all []*Row) {
	if s.key == nil {
		for _, value := range e.tx.Each() {
			r, ok := value.(*Row)
			if !ok || r.of != s.of {
				continue
			}
			if e.row = r; s.where == nil || isTrue(s.where(e)) {
				all = append(all, r)
			}
		}
		return all
	}
	var key [most]any
	for i, value := range s.key {
		key[i] = value(e)
	}
	r, ok := e.tx.Load(s.of.place(key)).(*Row)
	if e.row = r; ok && isTrue(s.where(e)) {
		return []*Row{r}
	}
	return nil
}

func (s *statement) selectRows(e *env) (a answer) {
	all := s.matching(e)
	if s.outputs[0].most || s.outputs[0].least {
		row := make([]driver.Value, len(s.outputs))
		for _, r := range all {
			e.row = r
			for i, o := range s.outputs {
				row[i] = o.better(row[i], o.value(e))
			}
		}
		a.rows = [][]driver.Value{row}
		return a
	}
	for _, r := range all {
		e.row = r
		a.rows = append(a.rows, s.answer(e))
	}
	return a
}

// better returns a or b, whichever MAX or MIN would return.
func (o output) better(a, b any) any {
	order, known := compare(a, b)
	if !known || o.most && order < 0 || o.least && order > 0 {
		return cmp.Or(b, a)
	}
	return a
}

// keys executes a SELECT of the application's table.
func (s *statement) keys(e *env) answer {
	if s.verb != "select" || !s.outputs[0].most {
		panic("simdb: an unknown statement about " + s.table + ": " + s.text)
	}
	var greatest int64
	for key := range e.tx.Keys() {
		if e.key = key; key > greatest && (s.where == nil || isTrue(s.where(e))) {
			greatest = key // a column that is computed from the key has its greatest value at the greatest key
		}
	}
	e.tx.Note(MaxKey, greatest)
	e.key = greatest
	row := s.answer(e)
	if greatest == 0 {
		row[0] = nil
	}
	return answer{rows: [][]driver.Value{row}}
}

// answer returns the values that the statement returns for a row.
func (s *statement) answer(e *env) []driver.Value {
	row := make([]driver.Value, len(s.outputs))
	for i, o := range s.outputs {
		row[i] = o.value(e)
	}
	return row
}

// errDuplicate is the error of a row whose key exists already.
var errDuplicate = errors.New("simdb: duplicate key")

func (s *statement) insertRow(e *env) answer {
	made := &Row{of: s.of}
	for i, column := range s.columns {
		made.values[column] = s.values[i](e)
	}
	name := s.of.place(made.values)
	found, there := e.tx.Load(name).(*Row)
	switch {
	case !there:
		e.tx.Store(name, made)
		return answer{affected: 1}
	case !s.conflicts:
		return answer{err: errDuplicate}
	}
	changed := *found
	e.row, e.old = made, found
	for _, set := range s.sets {
		changed.values[set.column] = set.to(e)
	}
	if changed != *found {
		e.tx.Store(name, &changed)
	}
	return answer{affected: 1}
}

// change executes an UPDATE or a DELETE.
func (db *DB) change(s *statement, e *env) (a answer) {
	inOrder := db.dialect.Family == dialect.FamilyMySQL
	for _, r := range s.matching(e) {
		name := s.of.place(r.values)
		if s.verb == "delete" {
			e.tx.Store(name, nil)
			a.affected++
			continue
		}
		changed := *r
		e.row = r
		if inOrder {
			// "UPDATE Statement" of MySQL's manual: assignments are evaluated from left to
			// right, each with the values that the assignments before it have set.
			e.row = &changed
		}
		for _, set := range s.sets {
			changed.values[set.column] = set.to(e)
		}
		switch same := changed == *r; {
		case !same:
			e.tx.Store(name, &changed)
			a.affected++
		case !inOrder: // MySQL's drivers count only rows that have changed; the other drivers count all matching rows
			a.affected++
		}
		if s.outputs != nil {
			e.row = &changed
			a.rows = append(a.rows, s.answer(e))
		}
	}
	a.lastID = e.lastID
	return a
}
