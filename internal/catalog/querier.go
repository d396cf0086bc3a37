package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/dbconn"
)

// Querier runs a query and returns all its rows, which belong to the caller.
// Errors are the driver's own.
type Querier interface {
	Rows(ctx context.Context, query string, args ...any) ([][]any, error)
}

// DB returns a Querier on any connection of db. Each query may run on another connection:
// temporary tables, a search_path that was set, and whatever else belongs to a session are
// seen through [Conn] only.
func DB(db *sql.DB) Querier { return pool{db: db} }

// Writing returns a Querier as [DB] does, whose arguments are written into the texts of the
// queries by write, such as [dbconn.WriteDollar].
func Writing(db *sql.DB, write func(query string, args []any) (string, []any)) Querier {
	return pool{db, write}
}

// Conn returns a Querier on a connection of a driver, whichever optional interfaces it has.
// It is used by one goroutine at a time, as the connection is.
func Conn(c driver.Conn) Querier { return conn{c} }

type pool struct {
	db    *sql.DB
	write func(query string, args []any) (string, []any) // nil if arguments are bound
}

func (p pool) Rows(ctx context.Context, query string, args ...any) ([][]any, error) {
	if p.write != nil {
		query, args = p.write(query, args)
	}
	var all [][]any
	err := dbconn.QueryPool(ctx, p.db, query, args, func(row []any) error {
		all = append(all, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

type conn struct{ conn driver.Conn }

func (c conn) Rows(ctx context.Context, query string, args ...any) ([][]any, error) {
	var all [][]any
	err := dbconn.Query(ctx, c.conn, query, args, func(row []any) error {
		all = append(all, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
