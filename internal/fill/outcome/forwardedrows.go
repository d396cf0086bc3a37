package outcome

import (
	"database/sql/driver"
	"io"
	"reflect"
)

// ForwardedRows are a driver's rows for a type that watches them. They have every
// optional method; where the driver's lack one they answer as database/sql assumes
// then, so nothing is lost or gained.
type ForwardedRows struct{ driver.Rows }

// HasNextResultSet reports whether the driver says that another result follows.
func (r ForwardedRows) HasNextResultSet() bool {
	n, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && n.HasNextResultSet()
}

// NextResultSet goes on to the next result; io.EOF if the driver has no such method.
func (r ForwardedRows) NextResultSet() error {
	if n, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return n.NextResultSet()
	}
	return io.EOF
}

// ColumnTypeScanType returns the type for a column; any if the driver does not know it.
func (r ForwardedRows) ColumnTypeScanType(i int) reflect.Type {
	if n, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return n.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

// ColumnTypeDatabaseTypeName returns the type of a column; empty if the driver does not
// know it.
func (r ForwardedRows) ColumnTypeDatabaseTypeName(i int) string {
	if n, ok := r.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return n.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

// ColumnTypeLength returns the length of a column, and whether the driver knows it.
func (r ForwardedRows) ColumnTypeLength(i int) (int64, bool) {
	if n, ok := r.Rows.(driver.RowsColumnTypeLength); ok {
		return n.ColumnTypeLength(i)
	}
	return 0, false
}

// ColumnTypeNullable reports whether a column may be NULL, and whether the driver knows
// it.
func (r ForwardedRows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if n, has := r.Rows.(driver.RowsColumnTypeNullable); has {
		return n.ColumnTypeNullable(i)
	}
	return false, false
}

// ColumnTypePrecisionScale returns the precision and scale of a column, and whether the
// driver knows them.
func (r ForwardedRows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if n, has := r.Rows.(driver.RowsColumnTypePrecisionScale); has {
		return n.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}
