package session

import (
	"context"
	"database/sql/driver"
	"math"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
)

// link is the driver's connection, and its server.
type link struct {
	driverConn
	server *Server
}

// dialect returns the dialect of the server, as [Server.Dialect] does.
func (l *link) dialect() *dialect.Dialect { return l.server.Dialect() }

// QueryRow returns the last row of a query of keyfill's own, of which the session notes
// nothing. The error is [ErrNoNumber] if the query returns no row.
func (l *link) QueryRow(ctx context.Context, query string, args []driver.NamedValue) (row []any, err error) {
	given := make([]any, len(args))
	for i := range args {
		given[i] = args[i]
	}
	err = dbconn.Query(ctx, l.Own(), query, given, func(r []any) error {
		row = r
		return nil
	})
	if err == nil && row == nil {
		err = ErrNoNumber
	}
	return row, err
}

// TextOf returns a driver's value as text: a string or []byte; empty for any other value.
func TextOf(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	s, _ := v.(string)
	return s
}

// ErrNoNumber is returned when the driver's count of rows is not an integer.
var ErrNoNumber = anchor.Last("answer", "keyfill: the number of rows is not an integer")

// IntegerOf returns a driver's value as an integer: an int64, a uint64 or decimal digits.
// It reports false for any other value, and for an integer that does not fit into an int64.
func IntegerOf(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case []byte:
		return IntegerOf(string(v))
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// ExecSavepoint sends one of the dialect's statements for a savepoint, with % replaced by
// the savepoint's name. It sends nothing if the text is empty.
func (l *link) ExecSavepoint(ctx context.Context, text, savepoint string) error {
	if text == "" {
		return nil
	}
	_, err := dbconn.Exec(ctx, l.Own(), strings.Replace(text, "%", savepoint, 1), nil)
	return err
}
