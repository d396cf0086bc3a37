package store

import (
	"context"
	"errors"
)

// storedRow is a row as it was read.
type storedRow struct {
	next                      int64
	server                    string // as in keysource.Reservation
	table, column, parameters string

	incarnation string // "" in a key table

	value   int64 // what stands for next in a key table
	version any   // as it is compared
}

// readRow returns the row of a name, nil when there is none.
func readRow(ctx context.Context, r *Store, name string) (*storedRow, error) {
	query, err := r.server.in(ctx, r.engine.read.text)
	if err != nil {
		return nil, r.failed(name, err)
	}
	args := r.engine.read.bind(values{Name: name})
	row, err := r.conn.query(ctx, query, args)
	switch {
	case err != nil:
		return nil, r.failed(name, r.judge(ctx, ErrTables, err, query, args))
	case row == nil:
		return nil, nil
	}
	stored, err := storedRowOf([6]any(row))
	if err != nil {
		return nil, r.failed(name, err)
	}
	return stored, nil
}

// storedRowOf returns the row in an answer: next_value, incarnation, server, table_name,
// column_name and parameters.
func storedRowOf(row [6]any) (*storedRow, error) {
	next, err := toInteger(row[0])
	if err != nil {
		return nil, err
	}
	return &storedRow{
		next:        next,
		incarnation: toText(row[1]),
		server:      rowServer(row[1], row[2]),
		table:       toText(row[3]),
		column:      toText(row[4]),
		parameters:  toText(row[5]),
	}, nil
}

// makeRow makes a row, or raises the next value of one that is there.
func makeRow(ctx context.Context, r *Store, name string, next int64, table, column, parameters string) error {
	create := r.engine.create
	v := values{Name: name, Next: next, Table: table, Column: column, Parameters: parameters}
	_, err := r.conn.exec(ctx, create.text, create.bind(v))
	return err
}

// errRemoved is a row that is not there although it has just been made.
var errRemoved = errors.New("the row was removed as soon as it was made")

// seenTries is how often a row is looked for that has just been made: on MariaDB the next
// statement of another connection may not see yet what another process has committed.
const seenTries = 5
