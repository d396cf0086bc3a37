package dbconn

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"strconv"
	"strings"
)

// writing is a connector whose connections write arguments into the text of a statement. A
// driver that prepares each statement with arguments needs two round trips for it, but one
// for a text without arguments.
type writing struct {
	driver.Connector
	dollar bool // whether placeholders are $1, $2, …; otherwise they are ?
}

// Writing returns a connector of the same database whose connections write the arguments
// that are integers, texts and nil into the text of a statement; for MySQL, texts of ASCII
// only. dollar reports whether placeholders are PostgreSQL's ($1); otherwise they are
// MySQL's (?). A statement must have as many question marks as arguments, and no literal
// with a backslash before a quote.
func Writing(c driver.Connector, dollar bool) driver.Connector { return writing{c, dollar} }

// Connect opens a connection.
func (w writing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, executes := c.(driver.ExecerContext)
	queryer, queries := c.(driver.QueryerContext)
	if !executes || !queries {
		return c, nil
	}
	return &writingConn{Conn: c, execer: execer, queryer: queryer, dollar: w.dollar}, nil
}

type writingConn struct {
	driver.Conn
	execer  driver.ExecerContext
	queryer driver.QueryerContext
	dollar  bool
}

// ExecContext executes a statement.
func (c *writingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	query, args = c.written(query, args)
	return c.execer.ExecContext(ctx, query, args)
}

// QueryContext executes a query.
func (c *writingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, args = c.written(query, args)
	return c.queryer.QueryContext(ctx, query, args)
}

// written returns a statement with its arguments in its text, or unchanged if an argument
// has another type. A text means the same under every setting of the session. An integer of
// PostgreSQL is written between quotes, since the engine then finds its type as it does for
// an argument.
func (c *writingConn) written(query string, args []driver.NamedValue) (string, []driver.NamedValue) {
	if len(args) == 0 || !c.dollar && strings.Count(query, "?") != len(args) {
		return query, args
	}
	texts := make([]string, len(args))
	for i, arg := range args {
		switch v := arg.Value.(type) {
		case nil:
			texts[i] = "NULL"
		case int64:
			texts[i] = strconv.FormatInt(v, 10)
			if c.dollar {
				texts[i] = "'" + texts[i] + "'"
			}
		case string:
			if texts[i] = c.text(v); texts[i] == "" {
				return query, args
			}
		default:
			return query, args
		}
	}
	var b strings.Builder
	var quote byte // the opening quote of the name or text that at is in; 0 outside of them
	for at, next := 0, 0; at < len(query); at++ {
		one := query[at]
		switch {
		case quote != 0 || one == '"' || one == '\'' || one == '`':
			if one == quote {
				quote = 0
			} else if quote == 0 {
				quote = one
			}
			b.WriteByte(one)
		case !c.dollar && one == '?':
			b.WriteString(texts[next])
			next++
		case c.dollar && one == '$':
			rest := query[at+1:]
			digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
			n, err := strconv.Atoi(rest[:digits])
			if err != nil || n < 1 || n > len(args) {
				return query, args // the dollar sign does not begin a placeholder here
			}
			b.WriteString(texts[n-1])
			at += digits
		default:
			b.WriteByte(one)
		}
	}
	return b.String(), nil
}

// quoting escapes a text of PostgreSQL for E'…'.
var quoting = strings.NewReplacer(`\`, `\\`, "'", "''")

// text returns v as a literal, or an empty text if v cannot be written as one.
func (c *writingConn) text(v string) string {
	if c.dollar {
		if strings.ContainsRune(v, 0) {
			return ""
		}
		return "E'" + quoting.Replace(v) + "'"
	}
	plain := true
	for i := range len(v) {
		switch b := v[i]; {
		case b >= 0x80:
			// Do not write it into the statement, which the engine reads in the session's
			// character set: the DSN may have chosen one that is not known here.
			return ""
		case b < ' ' || b > '~' || b == '\'' || b == '\\':
			plain = false
		}
	}
	if !plain {
		return "_utf8mb4 X'" + hex.EncodeToString([]byte(v)) + "'"
	}
	return "'" + v + "'"
}

// BeginTx begins a transaction.
func (c *writingConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if b, ok := c.Conn.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, o)
	}
	return c.Conn.Begin()
}

// PrepareContext prepares a statement.
func (c *writingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return prepare(ctx, c.Conn, query)
}

// CheckNamedValue checks a value by the connection, if the driver can.
func (c *writingConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// Ping pings the connection, if the driver can.
func (c *writingConn) Ping(ctx context.Context) error {
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// ResetSession resets the session, if the driver can.
func (c *writingConn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid reports whether the connection is valid; true if the driver cannot say it.
func (c *writingConn) IsValid() bool {
	v, ok := c.Conn.(driver.Validator)
	return !ok || v.IsValid()
}
