package statements_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// errWithheld is the answer to an INSERT that is not executed.
var errWithheld = errors.New("the INSERT is withheld")

// withholding is a connector whose connections execute nothing of an application's text, and
// note what they were to execute.
type withholding struct {
	driver.Connector
	text *withheldText
}

type withheldText struct {
	dialect *dialect.Dialect

	mu    sync.Mutex
	query string // the application's
	parts bool   // it is sent in parts, each of which seems to succeed
	sent  string
}

// begin waits for another text of the application.
func (w *withheldText) begin(query string, parts bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.query, w.parts, w.sent = query, parts, ""
}

// noted returns what was to be executed of the text.
func (w *withheldText) noted() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

func (w *withheldText) note(query string) (driver.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent += query
	if w.parts {
		return driver.RowsAffected(1), nil
	}
	return nil, errWithheld
}

// holds reports whether a query is of the application's text, and no question of keyfill's.
func (w *withheldText) holds(query string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if query == w.query || w.parts && strings.Contains(w.query, query) {
		return true
	}
	if strings.Contains(query, ") SELECT COUNT(*) FROM kf") {
		return false
	}
	every := &plans.Target{Table: "t", Keys: []plans.Key{{Column: "no such column"}}}
	p := compile.Query(w.dialect, func(_, name string) *plans.Target {
		if strings.HasPrefix(name, "keyfill_") {
			return nil
		}
		return every
	}, query)
	return p.Action != plans.Pass
}

// Connect opens a connection.
func (w withholding) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &withholdingConn{conn, w.text}, nil
}

type withholdingConn struct {
	driver.Conn
	text *withheldText
}

// skips reports whether the driver wants a statement with arguments to be prepared.
func (c *withholdingConn) skips(ctx context.Context, args []driver.NamedValue) bool {
	if len(args) == 0 {
		return false
	}
	_, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, "SELECT 1", args)
	return err == driver.ErrSkip
}

func (c *withholdingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	switch {
	case !c.text.holds(query):
		return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	case c.skips(ctx, args):
		return nil, driver.ErrSkip
	}
	return c.text.note(query)
}

func (c *withholdingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	switch {
	case !c.text.holds(query):
		return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	case c.skips(ctx, args):
		return nil, driver.ErrSkip
	}
	_, err := c.text.note(query)
	return nil, err
}

func (c *withholdingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.text.holds(query) {
		return withheldStmt{c, query}, nil
	}
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c *withholdingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c *withholdingConn) CheckNamedValue(nv *driver.NamedValue) error {
	if c, ok := c.Conn.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(nv)
	}
	return driver.ErrSkip
}

func (c *withholdingConn) ResetSession(ctx context.Context) error {
	if c, ok := c.Conn.(driver.SessionResetter); ok {
		return c.ResetSession(ctx)
	}
	return nil
}

// withheldStmt is an INSERT that is prepared.
type withheldStmt struct {
	c     *withholdingConn
	query string
}

func (s withheldStmt) Close() error  { return nil }
func (s withheldStmt) NumInput() int { return -1 }

// Exec notes the INSERT.
func (s withheldStmt) Exec([]driver.Value) (driver.Result, error) { return s.c.text.note(s.query) }

// Query notes the INSERT.
func (s withheldStmt) Query([]driver.Value) (driver.Rows, error) {
	_, err := s.c.text.note(s.query)
	return nil, err
}
