package keyfill_test

import (
	"context"
	"database/sql/driver"
	"io"
	"strings"
	"sync"
)

// fakeDriver records what reaches it and stores nothing. What its connections
// and statements can do is chosen by strength, because the optional interfaces
// of a driver are where a wrapper goes wrong:
//
//   - bare: only what database/sql demands;
//   - contexts: Exec, Query, Prepare and BeginTx with contexts;
//   - checkers: the same, and both connection and statement check arguments.
type fakeDriver struct {
	strength strength
	numInput func(query string) int  // of a statement; nil: counts the placeholders
	skip     bool                    // Exec and Query with arguments answer ErrSkip
	skips    func(query string) bool // of a text with arguments; nil: skip says it
	converts bool                    // statements have a ColumnConverter
	exec     func(query string, args []driver.NamedValue) (driver.Result, error)
	query    func(query string, args []driver.NamedValue) (driver.Rows, error)
	check    func(nv *driver.NamedValue) error // of a connection that checks
	prepares func(query string) error
	commit   error // of each Commit

	mu     sync.Mutex
	calls  []call
	closed int // connectors
	conns  int // opened connections
	ended  int // closed connections
}

type strength int

const (
	bare strength = iota
	contexts
	checkers
)

// call is one thing that reached the driver.
type call struct {
	op    string // exec, query, prepare, stmtexec, stmtquery, begin, rollback, check, convert
	query string
	args  []driver.NamedValue
	index int // of convert
}

func (d *fakeDriver) note(c call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.args = append([]driver.NamedValue(nil), c.args...)
	d.calls = append(d.calls, c)
}

// took returns the calls of one kind and forgets none.
func (d *fakeDriver) took(op string) []call {
	d.mu.Lock()
	defer d.mu.Unlock()
	var calls []call
	for _, c := range d.calls {
		if c.op == op {
			calls = append(calls, c)
		}
	}
	return calls
}

// sent returns the executions that reached the driver, prepared or not.
func (d *fakeDriver) sent() []call {
	d.mu.Lock()
	defer d.mu.Unlock()
	var calls []call
	for _, c := range d.calls {
		switch c.op {
		case "exec", "query", "stmtexec", "stmtquery":
			calls = append(calls, c)
		}
	}
	return calls
}

func (d *fakeDriver) Open(string) (driver.Conn, error) {
	return nil, io.ErrUnexpectedEOF // opened through its connector
}

func (d *fakeDriver) OpenConnector(string) (driver.Connector, error) {
	return &fakeConnector{d}, nil
}

type fakeConnector struct{ d *fakeDriver }

func (c *fakeConnector) Driver() driver.Driver { return c.d }

func (c *fakeConnector) Close() error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.closed++
	return nil
}

func (c *fakeConnector) Connect(context.Context) (driver.Conn, error) {
	c.d.mu.Lock()
	c.d.conns++
	c.d.mu.Unlock()
	conn := bareConn{c.d}
	switch c.d.strength {
	case contexts:
		return &contextConn{conn}, nil
	case checkers:
		return &checkerConn{contextConn{conn}}, nil
	}
	return &conn, nil
}

type bareConn struct{ d *fakeDriver }

func (c *bareConn) Prepare(query string) (driver.Stmt, error) { return c.d.prepare(query) }
func (c *bareConn) Begin() (driver.Tx, error)                 { c.d.note(call{op: "begin"}); return fakeTx{c.d}, nil }
func (c *bareConn) Close() error {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	c.d.ended++
	return nil
}

type fakeTx struct{ d *fakeDriver }

func (t fakeTx) Commit() error   { return t.d.commit }
func (t fakeTx) Rollback() error { t.d.note(call{op: "rollback"}); return nil }

type contextConn struct{ bareConn }

// skipped notes that a text with arguments has come, and reports whether it is to be
// prepared.
func (d *fakeDriver) skipped(query string) bool {
	d.note(call{op: "tried", query: query})
	if d.skips != nil {
		return d.skips(query)
	}
	return d.skip
}

func (c *contextConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 && c.d.skipped(query) {
		return nil, driver.ErrSkip
	}
	return c.d.run("exec", query, args)
}

func (c *contextConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) > 0 && c.d.skipped(query) {
		return nil, driver.ErrSkip
	}
	return c.d.rows("query", query, args)
}

func (c *contextConn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return c.d.prepare(query)
}

func (c *contextConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return c.Begin()
}

type checkerConn struct{ contextConn }

func (c *checkerConn) CheckNamedValue(nv *driver.NamedValue) error {
	c.d.note(call{op: "check", args: []driver.NamedValue{*nv}})
	if c.d.check != nil {
		return c.d.check(nv)
	}
	return nil
}

func (d *fakeDriver) run(op, query string, args []driver.NamedValue) (driver.Result, error) {
	d.note(call{op: op, query: query, args: args})
	if d.exec != nil {
		return d.exec(query, args)
	}
	return driver.RowsAffected(1), nil
}

func (d *fakeDriver) rows(op, query string, args []driver.NamedValue) (driver.Rows, error) {
	d.note(call{op: op, query: query, args: args})
	if d.query != nil {
		return d.query(query, args)
	}
	return &fakeRows{columns: []string{"x"}}, nil
}

func (d *fakeDriver) prepare(query string) (driver.Stmt, error) {
	d.note(call{op: "prepare", query: query})
	if d.prepares != nil {
		if err := d.prepares(query); err != nil {
			return nil, err
		}
	}
	s := bareStmt{d, query}
	switch {
	case d.converts:
		return &convertingStmt{s}, nil
	case d.strength == bare:
		return &s, nil
	}
	return &contextStmt{s}, nil
}

type bareStmt struct {
	d     *fakeDriver
	query string
}

func (s *bareStmt) Close() error { return nil }

func (s *bareStmt) NumInput() int {
	if s.d.numInput != nil {
		return s.d.numInput(s.query)
	}
	return strings.Count(s.query, "?")
}

func (s *bareStmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.d.run("stmtexec", s.query, ordered(args))
}

func (s *bareStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.d.rows("stmtquery", s.query, ordered(args))
}

type contextStmt struct{ bareStmt }

func (s *contextStmt) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.d.run("stmtexec", s.query, args)
}

func (s *contextStmt) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.d.rows("stmtquery", s.query, args)
}

// convertingStmt has a ColumnConverter that marks what it converted.
type convertingStmt struct{ bareStmt }

func (s *convertingStmt) ColumnConverter(index int) driver.ValueConverter {
	s.d.note(call{op: "convert", index: index})
	return driver.DefaultParameterConverter
}

func ordered(values []driver.Value) []driver.NamedValue {
	args := make([]driver.NamedValue, len(values))
	for i, v := range values {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return args
}

// fakeRows gives its rows and no optional method.
type fakeRows struct {
	columns []string
	rows    [][]driver.Value
	err     error // instead of io.EOF
}

func (r *fakeRows) Columns() []string { return r.columns }
func (r *fakeRows) Close() error      { return nil }

func (r *fakeRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		if r.err != nil {
			return r.err
		}
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}
