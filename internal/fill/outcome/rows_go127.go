//go:build go1.27

package outcome

import (
	"database/sql"
	"database/sql/driver"
)

// scannedRows are observedRows of a driver that scans single columns, as pgx does. For
// such rows database/sql does not call Next, and does not ask for values.
type scannedRows struct {
	*observedRows
	columns driver.RowsColumnScanner // the driver's rows
}

var _ driver.RowsColumnScanner = (*scannedRows)(nil)

// withColumns returns the rows with the methods NextRow and ScanColumn if the driver's
// rows have them.
func withColumns(o *observedRows) driver.Rows {
	if c, ok := o.Rows.(driver.RowsColumnScanner); ok {
		return &scannedRows{o, c}
	}
	return o
}

// NextRow records the key of the row, since the caller may not scan that column.
func (s *scannedRows) NextRow() error {
	err := s.columns.NextRow()
	if !s.advanced(err) || s.column < 0 {
		return err
	}
	var v columnValue
	if s.columns.ScanColumn(driver.ScanContext{}, s.column, &v) != nil {
		s.column = -1 // the key cannot be read, so the number of rows decides which keys were stored
		return nil
	}
	s.key(v.value)
	return nil
}

func (s *scannedRows) ScanColumn(ctx driver.ScanContext, index int, dest any) error {
	return s.columns.ScanColumn(ctx, index, dest)
}

// columnValue receives the value of a column as the driver has it.
type columnValue struct{ value driver.Value }

var _ sql.Scanner = (*columnValue)(nil)

// Scan stores the value until the next row; the driver may then reuse its memory.
func (v *columnValue) Scan(value any) error {
	v.value = value
	return nil
}
