//go:build go1.27

package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
)

// scanningRows are rows of a driver that scans columns itself. Next may not be
// called.
type scanningRows struct {
	fakeRows
	row []driver.Value
}

func (r *scanningRows) Next([]driver.Value) error { panic("Next of rows that scan columns") }

func (r *scanningRows) NextRow() error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	r.row, r.rows = r.rows[0], r.rows[1:]
	return nil
}

func (r *scanningRows) ScanColumn(ctx driver.ScanContext, index int, dest any) error {
	if list, ok := dest.(*[]string); ok {
		*list = []string{fmt.Sprint(r.row[index])}
		return nil
	}
	return sql.ConvertAssign(ctx, dest, r.row[index])
}

// TestScannedColumns: rows that are watched scan columns as the driver's do, and their
// keys are noted, be they scanned or not. Rows that are not watched are the driver's own.
func TestScannedColumns(t *testing.T) {
	const returning = insert + " RETURNING b, id"
	for _, recorded := range []bool{false, true} {
		t.Run(fmt.Sprintf("recorded=%t", recorded), func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			d.query = func(_ string, args []driver.NamedValue) (driver.Rows, error) {
				key := args[len(args)-1].Value
				return &scanningRows{fakeRows: fakeRows{columns: []string{"b", "id"}, rows: [][]driver.Value{{"x", key}}}}, nil
			}
			db := open(t, d, keyfill.Options{Policy: config("sqlite")})
			ctx, rec := context.Background(), (*keyfill.Recorder)(nil)
			if recorded {
				ctx, rec = keyfill.Record(ctx)
			}
			rows, err := db.QueryContext(ctx, returning, 1, "x")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var list []string
			var id uuid.UUID
			for rows.Next() {
				if err := rows.Scan(&list, &id); err != nil {
					t.Fatal(err)
				}
			}
			if err := rows.Err(); err != nil || len(list) != 1 || list[0] != "x" {
				t.Errorf("the list is %q, error %v", list, err)
			}
			if !recorded {
				return
			}
			if key, ok := keyfill.Last[uuid.UUID](rec, "t"); !ok || key != id {
				t.Errorf("recorded is %v, %t, and the row has %v", key, ok, id)
			}
		})
	}
}
