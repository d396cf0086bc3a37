package executor

import (
	"bytes"
	"database/sql/driver"
	"io"
	"reflect"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
)

// bufferedRows holds the rows that an INSERT returns whose keys belong to its
// transaction, or which raises a counter. All rows are read, and the transaction that
// was begun for them has ended, before the caller gets the first row. Otherwise the
// caller could get rows whose commit fails: database/sql closes rows when their context
// ends, and returns that error to no caller.
type bufferedRows struct {
	sets []resultSet // the result that is being read, and the results after it
}

// resultSet is one result that was read completely.
type resultSet struct {
	columns []string
	types   []columnType
	rows    [][]driver.Value
}

// columnType is the driver's description of a column, which is read while the rows are
// open.
type columnType struct {
	scan             reflect.Type
	name             string
	length           int64
	hasLength        bool
	nullable         bool
	tellsNullable    bool
	precision, scale int64
	isDecimal        bool
}

// readWhole reads all rows of a statement and closes them, and then calls end, which
// ends the transaction that was begun for the statement: end gets the rows and their
// error, and returns the error of the statement. The rows are closed first, since the
// connection accepts nothing else before.
func readWhole(c *execution.Conn, rows driver.Rows, end func([]resultSet, error) error) (driver.Rows, error) {
	panics := true
	defer giveUp(c, &panics)
	sets, err := readSets(outcome.ForwardedRows{Rows: rows})
	if closed := rows.Close(); err == nil {
		err = closed
	}
	err = end(sets, err)
	panics = false
	if err != nil {
		return nil, err
	}
	return &bufferedRows{sets: sets}, nil
}

// readSets reads all results of rows.
func readSets(rows outcome.ForwardedRows) (sets []resultSet, err error) {
	for {
		set := resultSet{columns: rows.Columns()}
		for i := range set.columns {
			set.types = append(set.types, typeOf(rows, i))
		}
		if set.rows, err = readRows(rows, len(set.columns)); err != nil {
			return nil, err
		}
		sets = append(sets, set)
		if !rows.HasNextResultSet() {
			return sets, nil
		}
		if err := rows.NextResultSet(); err == io.EOF {
			return sets, nil
		} else if err != nil {
			return nil, err
		}
	}
}

// readRows reads the rows of one result. It copies bytes, which the driver may reuse
// for the next row.
func readRows(rows driver.Rows, columns int) (read [][]driver.Value, err error) {
	for {
		row := make([]driver.Value, columns)
		if err := rows.Next(row); err == io.EOF {
			return read, nil
		} else if err != nil {
			return nil, err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = bytes.Clone(b)
			}
		}
		read = append(read, row)
	}
}

func typeOf(rows outcome.ForwardedRows, i int) columnType {
	t := columnType{scan: rows.ColumnTypeScanType(i), name: rows.ColumnTypeDatabaseTypeName(i)}
	t.length, t.hasLength = rows.ColumnTypeLength(i)
	t.nullable, t.tellsNullable = rows.ColumnTypeNullable(i)
	t.precision, t.scale, t.isDecimal = rows.ColumnTypePrecisionScale(i)
	return t
}

func (r *bufferedRows) Columns() []string { return r.sets[0].columns }

func (r *bufferedRows) Next(dest []driver.Value) error {
	set := &r.sets[0]
	if len(set.rows) == 0 {
		return io.EOF
	}
	copy(dest, set.rows[0])
	set.rows = set.rows[1:]
	return nil
}

func (r *bufferedRows) Close() error { return nil }

func (r *bufferedRows) HasNextResultSet() bool { return len(r.sets) > 1 }

func (r *bufferedRows) NextResultSet() error {
	if !r.HasNextResultSet() {
		return io.EOF
	}
	r.sets = r.sets[1:]
	return nil
}

func (r *bufferedRows) ColumnTypeScanType(i int) reflect.Type { return r.sets[0].types[i].scan }

func (r *bufferedRows) ColumnTypeDatabaseTypeName(i int) string { return r.sets[0].types[i].name }

func (r *bufferedRows) ColumnTypeLength(i int) (int64, bool) {
	t := &r.sets[0].types[i]
	return t.length, t.hasLength
}

func (r *bufferedRows) ColumnTypeNullable(i int) (nullable, ok bool) {
	t := &r.sets[0].types[i]
	return t.nullable, t.tellsNullable
}

func (r *bufferedRows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	t := &r.sets[0].types[i]
	return t.precision, t.scale, t.isDecimal
}
