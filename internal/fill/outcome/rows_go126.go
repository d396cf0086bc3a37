//go:build !go1.27

package outcome

import (
	"database/sql/driver"
)

// withColumns returns o: before Go 1.27 database/sql reads whole rows only.
func withColumns(o *observedRows) driver.Rows { return o }
