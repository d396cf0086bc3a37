package keyfillpgx

import (
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// rowsOf returns the rows that the application gets for a query: pgx's own rows, if keyfill
// does not have to read them.
func rowsOf(a *answer, rows driver.Rows) pgx.Rows {
	a.keeps = false
	watched := &watchedRows{Rows: a.rows, watcher: rows, values: make([]driver.Value, len(a.fields))}
	switch {
	case a.closed:
		watched.Rows, watched.steps = newReadRows(a), true
	case rows == driver.Rows(a) && !a.ahead:
		return a.rows
	case rows == driver.Rows(a):
		return &aheadRows{a.rows, true}
	}
	return watched
}

// aheadRows are rows of pgx whose first row was read already.
type aheadRows struct {
	pgx.Rows
	ahead bool
}

func (r *aheadRows) Next() bool {
	if r.ahead {
		r.ahead = false
		return true
	}
	return r.Rows.Next()
}

// watchedRows are rows of pgx whose keys keyfill notes as the application reads them.
type watchedRows struct {
	pgx.Rows
	watcher driver.Rows // keyfill's rows, which read from the answer of pgx
	steps   bool        // whether Next has to advance Rows too, since watcher does not
	values  []driver.Value
	err     error
	closed  bool
}

func (r *watchedRows) Next() bool {
	if r.closed {
		return false
	}
	err := r.watcher.Next(r.values)
	if err == nil {
		return !r.steps || r.Rows.Next()
	}
	if !errors.Is(err, io.EOF) {
		r.err = err
	}
	r.Close()
	return false
}

func (r *watchedRows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	if err := r.watcher.Close(); r.err == nil {
		r.err = err
	}
	r.Rows.Close()
}

func (r *watchedRows) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.Rows.Err()
}

// Scan closes the rows after an error, as pgx does.
func (r *watchedRows) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	if err != nil {
		r.Close()
	}
	return err
}

// Values closes the rows after an error, as pgx does.
func (r *watchedRows) Values() ([]any, error) {
	values, err := r.Rows.Values()
	if err != nil {
		r.Close()
	}
	return values, err
}

// errRows are the rows of a query that was not sent because of an error.
type errRows struct{ err error }

func (errRows) Close()                                       {}
func (r errRows) Err() error                                 { return r.err }
func (errRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (errRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (errRows) Next() bool                                   { return false }
func (r errRows) Scan(...any) error                          { return r.err }
func (r errRows) Values() ([]any, error)                     { return nil, r.err }
func (errRows) RawValues() [][]byte                          { return nil }
func (errRows) Conn() *pgx.Conn                              { return nil }
func (errRows) TypeMap() *pgtype.Map                         { return nil }

// oneRow is what QueryRow returns.
type oneRow struct{ rows pgx.Rows }

// errDriverBytes is the error that pgx returns for a *pgtype.DriverBytes, whose bytes are
// only valid until the rows are closed.
var errDriverBytes = errors.New("cannot scan into *pgtype.DriverBytes from QueryRow")

// Scan does what the row of a QueryRow of pgx does.
func (r oneRow) Scan(dest ...any) error {
	if err := r.rows.Err(); err != nil {
		r.rows.Close()
		return err
	}
	defer r.rows.Close()
	for _, d := range dest {
		if _, is := d.(*pgtype.DriverBytes); is {
			return errDriverBytes
		}
	}
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// provingRows are rows of pgx whose error may show that a table's name now means another
// table than at the time when the key was made. meant returns the error that says so.
type provingRows struct {
	pgx.Rows
	meant func(error) error
}

func (r *provingRows) Err() error { return r.meant(r.Rows.Err()) }
