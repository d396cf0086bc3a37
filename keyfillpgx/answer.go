package keyfillpgx

import (
	"bytes"
	"database/sql/driver"
	"io"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// answer gives the rows of pgx to keyfill as driver.Rows. The application reads the rows of
// pgx directly. If keyfill has to read all rows before the application does, the answer
// keeps them for the application.
type answer struct {
	rows   pgx.Rows
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	early  error // the error that pgx's Query returned before any row was read

	ahead  bool // whether pgx has read a row that Next has not returned yet
	ended  bool
	keeps  bool // whether the rows that are read are kept for the application
	closed bool
	kept   [][][]byte
}

var _ driver.Rows = (*answer)(nil)

func newAnswer(conn *pgx.Conn, rows pgx.Rows) *answer {
	return &answer{rows: rows, types: conn.TypeMap()}
}

// first reads the first row. err is the error that pgx's Query has returned.
func (a *answer) first(err error) error {
	if err != nil {
		a.rows.Close()
		return err
	}
	// Clone the descriptions, because pgx reuses their memory.
	a.fields = slices.Clone(a.rows.FieldDescriptions())
	a.ahead = a.rows.Next()
	a.ended = !a.ahead
	if a.ended && a.fields == nil {
		a.fields = slices.Clone(a.rows.FieldDescriptions())
	}
	if a.ended {
		return a.rows.Err()
	}
	return nil
}

func (a *answer) Columns() []string {
	names := make([]string, len(a.fields))
	for i := range a.fields {
		names[i] = a.fields[i].Name
	}
	return names
}

func (a *answer) Next(dest []driver.Value) error {
	switch {
	case a.ahead:
		a.ahead = false
	case a.ended, !a.rows.Next():
		a.ended = true
		if err := a.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	raw := a.rows.RawValues()
	if a.keeps {
		row := make([][]byte, len(raw))
		for i := range raw {
			row[i] = bytes.Clone(raw[i])
		}
		a.kept = append(a.kept, row)
	}
	for i := range dest {
		dest[i] = a.value(i, raw[i])
	}
	return nil
}

// Close closes the rows. It returns the error that the server has sent after the last row
// that was read.
func (a *answer) Close() error {
	a.closed = true
	a.rows.Close()
	return a.rows.Err()
}

// value returns a value in the types of database/sql/driver, as package stdlib of pgx does.
func (a *answer) value(i int, raw []byte) driver.Value {
	if raw == nil {
		return nil
	}
	switch f := &a.fields[i]; f.DataTypeOID {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.XIDOID:
		return scanned[int64](a.types, f, raw)
	case pgtype.BoolOID:
		return scanned[bool](a.types, f, raw)
	case pgtype.Float4OID, pgtype.Float8OID:
		return scanned[float64](a.types, f, raw)
	case pgtype.ByteaOID:
		return scanned[[]byte](a.types, f, raw)
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return scanned[time.Time](a.types, f, raw)
	default:
		return scanned[string](a.types, f, raw)
	}
}

// scanned decodes a value as a T. If the value is not a T, it returns the value's bytes.
func scanned[T any](m *pgtype.Map, f *pgconn.FieldDescription, raw []byte) driver.Value {
	var v T
	if m.Scan(f.DataTypeOID, f.Format, raw, &v) != nil {
		return bytes.Clone(raw)
	}
	return v
}
