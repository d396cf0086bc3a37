package keyfill

import (
	"context"
	"database/sql/driver"
	"io"
)

// joinedRows are the rows of an INSERT whose keys belong to its transaction. What
// was begun for them ends with the rows: at the last one, or when they are closed.
// The driver's are closed first, since its connection takes nothing else before.
type joinedRows struct {
	forwardedRows
	end   func(error) error
	ended bool
}

// joinedTo returns rows whose end is that of what join has begun.
func (x *execution) joinedTo(ctx context.Context, rows driver.Rows) driver.Rows {
	if x.own == nil && !x.marked {
		return rows
	}
	g := x.guard
	g.rowsOpen = x.own != nil
	return &joinedRows{forwardedRows: forwardedRows{rows}, end: func(err error) error {
		g.rowsOpen = false
		return x.leave(ctx, err)
	}}
}

// Next gives the error of the commit in the place of io.EOF.
func (r *joinedRows) Next(dest []driver.Value) error {
	if r.ended {
		return io.EOF
	}
	err := r.Rows.Next(dest)
	switch {
	case err == nil:
		return nil
	case err != io.EOF:
		_ = r.finish(err)
		return err
	case r.forwardedRows.HasNextResultSet():
		return err
	}
	if failed := r.finish(nil); failed != nil {
		return failed
	}
	return err
}

// finish closes the driver's rows and ends what was begun for them.
func (r *joinedRows) finish(err error) error {
	r.ended = true
	if closed := r.Rows.Close(); err == nil {
		err = closed
	}
	return r.end(err)
}

// Close commits what was read in part: the rows are stored when the driver has
// read on to the end.
func (r *joinedRows) Close() error {
	if r.ended {
		return nil
	}
	return r.finish(nil)
}

func (r *joinedRows) HasNextResultSet() bool {
	return !r.ended && r.forwardedRows.HasNextResultSet()
}

func (r *joinedRows) NextResultSet() error {
	if r.ended {
		return io.EOF
	}
	err := r.forwardedRows.NextResultSet()
	switch {
	case err == io.EOF:
		if failed := r.finish(nil); failed != nil {
			return failed
		}
	case err != nil:
		_ = r.finish(err)
	}
	return err
}
