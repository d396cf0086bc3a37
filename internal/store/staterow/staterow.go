// Package staterow reads and makes the rows of keyfill_sequences by their names, and reads
// and writes the marks in their incarnation: where a row ends, and whether it has begun at
// a given start. Every package that keeps something in such a row stands on it.
package staterow

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// Row is a row as it was read.
type Row struct {
	Next                      int64
	Server                    string // as in keysource.Reservation
	Table, Column, Parameters string

	Incarnation string // "" in a key table

	Value   int64 // the value for next in a key table
	Version any   // as it is compared
}

// Read returns the row of a name, nil when there is none.
func Read(ctx context.Context, s *store.Store, name string) (*Row, error) {
	query, err := s.Server.PutInto(ctx, s.Engine.Rows.Read.Text)
	if err != nil {
		return nil, s.Failed(name, err)
	}
	args := s.Engine.Rows.Read.Bind(engine.Values{Name: name})
	row, err := s.Conn.Query(ctx, query, args)
	switch {
	case err != nil:
		return nil, s.Failed(name, s.Judge(ctx, store.ErrTables, err, query, args))
	case row == nil:
		return nil, nil
	}
	stored, err := Of([6]any(row))
	if err != nil {
		return nil, s.Failed(name, err)
	}
	return stored, nil
}

// Of returns the row in an answer: next_value, incarnation, server, table_name,
// column_name and parameters.
func Of(row [6]any) (*Row, error) {
	next, err := store.Integer(row[0])
	if err != nil {
		return nil, err
	}
	return &Row{
		Next:        next,
		Incarnation: store.Text(row[1]),
		Server:      Server(row[1], row[2]),
		Table:       store.Text(row[3]),
		Column:      store.Text(row[4]),
		Parameters:  store.Text(row[5]),
	}, nil
}

// Make makes a row, or raises the next value of one that is there.
func Make(ctx context.Context, s *store.Store, name string, next int64, table, column, parameters string) error {
	create := s.Engine.Rows.Create
	v := engine.Values{Name: name, Next: next, Table: table, Column: column, Parameters: parameters}
	_, err := s.Conn.Exec(ctx, create.Text, create.Bind(v))
	return err
}

// ErrRemoved is a row that is not there although it has just been made.
var ErrRemoved = errors.New("the row was removed as soon as it was made")

// SeenTries is how often to look for a row that has just been made: on MariaDB the next
// statement of another connection may not yet see the commit of another process.
const SeenTries = 5
