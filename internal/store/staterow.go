package store

import "context"

// storedRow is a row as it was read.
type storedRow struct {
	next                      int64
	server                    string // as in keysource.Reservation
	table, column, parameters string

	incarnation string // "" in a key table

	value   int64 // what stands for next in a key table
	version any   // as it is compared
}

// stateRows are the rows of keyfill_sequences, by their names.
type stateRows struct{ run *runner }

// read returns the row of a name, nil when there is none.
func (s stateRows) read(ctx context.Context, name string) (*storedRow, error) {
	r := s.run
	query, err := r.server.in(ctx, r.engine.read.text)
	if err != nil {
		return nil, r.failed(name, err)
	}
	args := r.engine.read.bind(values{pName: name})
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
		server:      serverOf(row[1], row[2]),
		table:       toText(row[3]),
		column:      toText(row[4]),
		parameters:  toText(row[5]),
	}, nil
}

// make makes a row, or raises the next value of one that is there.
func (s stateRows) make(ctx context.Context, name string, next int64, table, column, parameters string) error {
	create := s.run.engine.create
	v := values{pName: name, pNext: next, pTable: table, pColumn: column, pParameters: parameters}
	_, err := s.run.conn.exec(ctx, create.text, create.bind(v))
	return err
}
