package outcome

import (
	"database/sql/driver"
	"io"
	"reflect"
)

// ForwardedRows forwards the optional methods of a driver's rows, for a type that
// watches the rows. If the driver's rows lack a method, it returns what database/sql
// assumes in that case, so the caller sees no difference.
type ForwardedRows struct{ driver.Rows }

// HasNextResultSet reports whether the driver has another result.
func (r ForwardedRows) HasNextResultSet() bool {
	n, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && n.HasNextResultSet()
}

// NextResultSet advances to the next result. It returns io.EOF if the driver's rows
// have no such method.
func (r ForwardedRows) NextResultSet() error {
	if n, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return n.NextResultSet()
	}
	return io.EOF
}

// ColumnTypeScanType returns the Go type for a column; any if the driver does not know
// it.
func (r ForwardedRows) ColumnTypeScanType(i int) reflect.Type {
	if n, ok := r.Rows.(driver.RowsColumnTypeScanType); ok {
		return n.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

// ColumnTypeDatabaseTypeName returns the name of a column's type; it is empty if the
// driver does not know it.
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
