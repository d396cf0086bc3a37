package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// numbersDB is a driver for as much of SQLite as a numbering needs: a table t (id, a)
// and the row of its numbering, which go back with transactions and savepoints. It
// notes what is sent. One connection at a time is enough.
type numbersDB struct {
	bare  bool // connections have neither Exec nor Query
	skips bool // Exec and Query with arguments answer driver.ErrSkip

	// fails gives the error of what is sent; nil is none.
	fails func(what string) error

	// undoes says that the engine has undone the transaction before a text came; nil:
	// it never does.
	undoes func(query string) bool

	mu     sync.Mutex
	state  numbersState
	before []numbersState // of the transaction, and of its savepoints
	log    []string
}

type numbersState struct {
	next   int64 // 0: the row is not there
	stored []int64
}

func (n *numbersDB) Open(string) (driver.Conn, error)               { return nil, io.ErrUnexpectedEOF }
func (n *numbersDB) OpenConnector(string) (driver.Connector, error) { return n, nil }
func (n *numbersDB) Driver() driver.Driver                          { return n }
func (n *numbersDB) Connect(context.Context) (driver.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.back() // the connection before is gone
	if n.bare {
		return &numbersConn{n}, nil
	}
	return &numbersExecs{numbersConn{n}}, nil
}

// step notes a statement and returns its error.
func (n *numbersDB) step(what string) error {
	n.log = append(n.log, what)
	if n.fails != nil {
		return n.fails(what)
	}
	return nil
}

// keep notes what a transaction, or a savepoint, goes back to.
func (n *numbersDB) keep() {
	n.before = append(n.before, numbersState{n.state.next, slices.Clone(n.state.stored)})
}

// run does what a statement of the application or of keyfill says.
func (n *numbersDB) run(query string, args []driver.NamedValue) (rows [][]driver.Value, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	has := func(text string) bool { return strings.Contains(query, text) }
	if n.undoes != nil && n.undoes(query) {
		n.back()
	}
	switch {
	case has("pragma_table_xinfo") && has("sqlite_master"): // outside of a transaction
		return [][]driver.Value{
			{"column", "id", "INTEGER", int64(0), int64(1), nil, nil, int64(0)}, {"column", "a", "INT", int64(0), int64(0), nil, nil, int64(1)},
			{"table", "t", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)", nil, nil, nil, nil, int64(0)},
		}, nil
	case has("pragma_table_xinfo"):
		return [][]driver.Value{{"main", "id", "INTEGER", int64(0), int64(1), nil}, {"main", "a", "INT", int64(0), int64(0), nil}}, nil
	case has("sqlite_master"):
		return [][]driver.Value{{"table", "t", "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT)"}}, nil
	case has("pragma_database_list"):
		return [][]driver.Value{{"/a/file"}}, nil
	case has("pragma_index_list"), has("WHERE 1 = 0"), has("WHERE 0"), has("CREATE TABLE"):
		return nil, nil
	case has("SELECT MAX"), has("SELECT MIN"):
		return [][]driver.Value{{nil}}, nil
	case has("INSERT INTO keyfill_sequences"):
		n.state.next = 1
		return nil, n.step("make the row")
	case has("UPDATE keyfill_sequences") && n.state.next > 0:
		if err := n.step("reserve"); err != nil {
			return nil, err
		}
		n.state.next += args[0].Value.(int64)
		return [][]driver.Value{{n.state.next, "incarnation", ""}}, nil
	case has("FROM keyfill_sequences") && n.state.next > 0:
		return [][]driver.Value{{n.state.next, "incarnation", "", "main.t", "id", ""}}, nil
	case has(`SELECT "id" FROM t `):
		if n.fails != nil {
			return nil, n.fails("ask")
		}
		return nil, nil
	case has("INSERT INTO t"), has("INSERT OR IGNORE INTO t"):
		if err := n.step("insert"); err != nil {
			return nil, err
		}
		id := args[len(args)-1].Value.(int64)
		n.state.stored = append(n.state.stored, id)
		return [][]driver.Value{{id}}, nil
	case strings.HasPrefix(query, "SAVEPOINT"):
		n.keep()
		return nil, n.step(query)
	case strings.HasPrefix(query, "ROLLBACK TO"):
		n.state = n.before[len(n.before)-1]
		n.state.stored = slices.Clone(n.state.stored)
		return nil, n.step(query)
	case strings.HasPrefix(query, "RELEASE"):
		n.before = n.before[:len(n.before)-1]
		return nil, n.step(query)
	case query == "BEGIN" && len(n.before) > 0:
		return nil, errNested
	case query == "BEGIN":
		n.keep()
		return nil, n.step("begin by text")
	case query == "ROLLBACK":
		n.back()
		return nil, n.step("rollback by text")
	}
	return nil, nil
}

// back undoes the transaction.
func (n *numbersDB) back() {
	if len(n.before) > 0 {
		n.state, n.before = n.before[0], nil
	}
}

type numbersConn struct{ n *numbersDB }

func (c *numbersConn) Prepare(query string) (driver.Stmt, error) {
	return &numbersStmt{c.n, query}, nil
}
func (c *numbersConn) Close() error { return nil }
func (c *numbersConn) Begin() (driver.Tx, error) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if len(c.n.before) > 0 {
		return nil, errNested
	}
	if err := c.n.step("begin"); err != nil {
		return nil, err
	}
	c.n.keep()
	return c, nil
}

func (c *numbersConn) Commit() error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if err := c.n.step("commit"); err != nil {
		return err
	}
	c.n.before = nil
	return nil
}

func (c *numbersConn) Rollback() error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.n.back()
	return c.n.step("rollback")
}

type numbersExecs struct{ numbersConn }

func (c *numbersExecs) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.n.skips && len(args) > 0 {
		return nil, driver.ErrSkip
	}
	return (&numbersStmt{c.n, query}).ExecContext(context.Background(), args)
}

func (c *numbersExecs) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.n.skips && len(args) > 0 {
		return nil, driver.ErrSkip
	}
	return (&numbersStmt{c.n, query}).QueryContext(context.Background(), args)
}

type numbersStmt struct {
	n     *numbersDB
	query string
}

func (s *numbersStmt) Close() error                               { return nil }
func (s *numbersStmt) NumInput() int                              { return strings.Count(s.query, "?") }
func (s *numbersStmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *numbersStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }
func (s *numbersStmt) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	_, err := s.n.run(s.query, args)
	return driver.RowsAffected(1), err
}

func (s *numbersStmt) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.n.run(s.query, args)
	if err != nil {
		return nil, err
	}
	width := 1
	if len(rows) > 0 {
		width = len(rows[0])
	}
	columns := make([]string, width)
	columns[0] = "id"
	var last error
	if s.n.fails != nil && strings.Contains(s.query, "INSERT INTO t") {
		last = s.n.fails("end of rows")
	}
	return &fakeRows{columns: columns, rows: rows, err: last}, nil
}

// open opens a database over it, filled without gaps.
func (n *numbersDB) open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := keyfill.OpenDB(n, keyfill.Options{Policy: n.config()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// config is the policy for a table t that is numbered without gaps.
func (n *numbersDB) config() *policy.Config {
	return &policy.Config{
		Dialect: "sqlite",
		Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &policy.Source{
			Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Create: new(true),
		}}},
	}
}

// sent returns what was sent since the last call, one step after another.
func (n *numbersDB) sent() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := strings.Join(n.log, ", ")
	n.log = nil
	return all
}

// want compares what is stored.
func (n *numbersDB) want(t *testing.T, stored ...int64) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.state.stored, stored) || n.state.next != int64(len(stored))+1 {
		t.Errorf("stored %v, the next is %d; want %v", n.state.stored, n.state.next, stored)
	}
	if len(n.before) > 0 {
		t.Error("a transaction is open")
	}
}

// failing returns a function that gives an error the first times that a step is
// taken.
func failing(step string, times int, err error) func(string) error {
	return func(what string) error {
		if what == step && times > 0 {
			times--
			return err
		}
		return nil
	}
}

// stated is an error with an SQLSTATE.
type stated string

func (s stated) Error() string    { return "the engine says " + string(s) }
func (s stated) SQLState() string { return string(s) }

// numberedError is an error with the engine's number.
type numberedError int32

func (n numberedError) Error() string         { return fmt.Sprint("the engine says ", int32(n)) }
func (n numberedError) SQLErrorNumber() int32 { return int32(n) }

// errBusy is SQLITE_BUSY.
const errBusy = numberedError(5)

// errNested is SQLite's for a BEGIN inside a transaction.
var errNested = errors.New("cannot start a transaction within a transaction")

var errFake = fmt.Errorf("refused")
