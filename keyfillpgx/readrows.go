package keyfillpgx

import (
	"bytes"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// readRows are rows that keyfill has read to their end, since their transaction had to end
// before the application saw the first row.
type readRows struct {
	conn   *pgx.Conn
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	tag    pgconn.CommandTag
	rest   [][][]byte // the rows after the current row
	row    [][]byte
	closed bool
	err    error
}

var _ pgx.Rows = (*readRows)(nil)

func newReadRows(a *answer) *readRows {
	return &readRows{conn: a.rows.Conn(), types: a.types, fields: a.fields, tag: a.rows.CommandTag(), rest: a.kept}
}

func (r *readRows) Close()                                       { r.closed = true }
func (r *readRows) Err() error                                   { return r.err }
func (r *readRows) CommandTag() pgconn.CommandTag                { return r.tag }
func (r *readRows) FieldDescriptions() []pgconn.FieldDescription { return r.fields }
func (r *readRows) RawValues() [][]byte                          { return r.row }
func (r *readRows) Conn() *pgx.Conn                              { return r.conn }
func (r *readRows) TypeMap() *pgtype.Map                         { return r.types }

func (r *readRows) Next() bool {
	if r.closed || len(r.rest) == 0 {
		r.Close()
		return false
	}
	r.row, r.rest = r.rest[0], r.rest[1:]
	return true
}

// fail sets the error of the rows, closes them, and returns the error.
func (r *readRows) fail(err error) error {
	if err != nil {
		r.err = err
		r.Close()
	}
	return err
}

func (r *readRows) Scan(dest ...any) error {
	if len(dest) == 1 {
		if s, ok := dest[0].(pgx.RowScanner); ok {
			return r.fail(s.ScanRow(r))
		}
	}
	return r.fail(pgx.ScanRow(r.types, r.fields, r.row, dest...))
}

// errClosed is the error that pgx returns for the values of rows that have ended.
var errClosed = errors.New("rows is closed")

// Values decodes the current row as pgx does: a value of an unknown type becomes a string,
// or its bytes.
func (r *readRows) Values() ([]any, error) {
	if r.closed {
		return nil, errClosed
	}
	values := make([]any, len(r.row))
	for i, raw := range r.row {
		f := &r.fields[i]
		known, ok := r.types.TypeForOID(f.DataTypeOID)
		switch {
		case raw == nil:
		case ok:
			v, err := known.Codec.DecodeValue(r.types, f.DataTypeOID, f.Format, raw)
			if err != nil {
				return nil, r.fail(err)
			}
			values[i] = v
		case f.Format == pgtype.TextFormatCode:
			values[i] = string(raw)
		default:
			values[i] = bytes.Clone(raw)
		}
	}
	return values, nil
}
