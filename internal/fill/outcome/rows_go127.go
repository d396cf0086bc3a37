//go:build go1.27

package outcome

import (
	"database/sql"
	"database/sql/driver"
)

// scannedRows are observedRows of a driver that scans columns itself, as pgx does.
// database/sql asks such rows for no values, and calls no Next.
type scannedRows struct {
	*observedRows
	columns driver.RowsColumnScanner // the driver's rows
}

var _ driver.RowsColumnScanner = (*scannedRows)(nil)

// withColumns returns the rows with NextRow and ScanColumn where the driver's have
// them.
func withColumns(o *observedRows) driver.Rows {
	if c, ok := o.Rows.(driver.RowsColumnScanner); ok {
		return &scannedRows{o, c}
	}
	return o
}

// NextRow notes the key of the row: whether the caller will scan it is not known.
func (s *scannedRows) NextRow() error {
	err := s.columns.NextRow()
	if !s.advanced(err) || s.column < 0 {
		return err
	}
	var v columnValue
	if s.columns.ScanColumn(driver.ScanContext{}, s.column, &v) != nil {
		s.column = -1 // the number of rows has to decide
		return nil
	}
	s.key(v.value)
	return nil
}

func (s *scannedRows) ScanColumn(ctx driver.ScanContext, index int, dest any) error {
	return s.columns.ScanColumn(ctx, index, dest)
}

// columnValue takes the value of a column as the driver has it.
type columnValue struct{ value driver.Value }

var _ sql.Scanner = (*columnValue)(nil)

// Scan keeps the value until the next row, for which it may be the driver's own
// memory.
func (v *columnValue) Scan(value any) error {
	v.value = value
	return nil
}
