package demo

import (
	"context"
	"database/sql/driver"
)

// recorder is a connector between keyfill and the SQLite driver: it records the statements
// that reach the driver. Only one goroutine may use it.
type recorder struct {
	driver.Connector
	messages []message
}

// message is one statement as it reached the driver.
type message struct {
	query string
	args  []any
}

func (r *recorder) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return recordedConn{conn, r}, nil
}

func (r *recorder) note(query string, args []driver.NamedValue) {
	m := message{query: query}
	for _, a := range args {
		m.args = append(m.args, a.Value)
	}
	r.messages = append(r.messages, m)
}

// recordedConn has only those methods of a driver's connection that the demo uses: the demo
// prepares no statements and begins no transactions.
type recordedConn struct {
	driver.Conn
	recorder *recorder
}

var (
	_ driver.ExecerContext  = recordedConn{}
	_ driver.QueryerContext = recordedConn{}
)

func (c recordedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.recorder.note(query, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c recordedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.recorder.note(query, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}
