// Package staterow reads and makes rows of keyfill_sequences by their names, and reads
// and writes the marks in their incarnation (the random text that identifies a row):
// the end of the row, and whether its sequence was begun at a given start. Every
// package that stores something in such a row uses it.
package staterow

import (
	"context"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// Row is a row of keyfill_sequences or of a key table of the application, as it was
// read.
type Row struct {
	Next                      int64
	Server                    string // as in keysource.Reservation
	Table, Column, Parameters string

	Incarnation string // empty in a key table (an application's own table)

	Value   int64 // the value in a key table (an application's own table) from which Next is computed
	Version any   // the version column of a key table (an application's own table), in the form in which it is compared
}

// Answered returns the server of a reservation from the row: see the function Answered.
func (r *Row) Answered() string {
	identity, server, _ := strings.Cut(r.Server, "@")
	if r.Incarnation == "" {
		return store.ServerOf(identity, server)
	}
	return Answered(r.Incarnation, server)
}

// Read returns the row called name, nil if it does not exist.
func Read(ctx context.Context, s *store.Store, name string) (*Row, error) {
	return ReadOf(ctx, s, name, name)
}

// ReadOf returns the row called name as Read does. Its errors contain the name of the stored
// counter state instead: the name of a parent's row has values of the application.
func ReadOf(ctx context.Context, s *store.Store, name, state string) (*Row, error) {
	query, err := s.Server.PutInto(ctx, s.Engine.Rows.Read.Text)
	if err != nil {
		return nil, s.Failed(state, err)
	}
	args := s.Engine.Rows.Read.Bind(engine.Values{Name: name})
	row, err := s.Conn.Query(ctx, query, args)
	switch {
	case err != nil:
		return nil, s.Failed(state, s.Judge(ctx, store.ErrTables, err, query, args))
	case row == nil:
		return nil, nil
	}
	stored, err := Of([6]any(row))
	if err != nil {
		return nil, s.Failed(state, err)
	}
	return stored, nil
}

// Of converts an answer to a Row: next_value, incarnation, server, table_name,
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

// Make inserts a row, or raises the next value if the row exists.
func Make(ctx context.Context, s *store.Store, name string, next int64, table, column, parameters string) error {
	create := s.Engine.Rows.Create
	v := engine.Values{Name: name, Next: next, Table: table, Column: column, Parameters: parameters}
	_, err := s.Conn.Exec(ctx, create.Text, create.Bind(v))
	return err
}

// ErrRemoved is returned if a row does not exist although it has just been made.
var ErrRemoved = errors.New("the row was removed as soon as it was made")

// SeenTries is how often a row that has just been made is looked for: on MariaDB the
// next statement of another connection may not yet see the commit of another process.
const SeenTries = 5
