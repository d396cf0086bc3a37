package session

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
)

// TestColumnsUnwrapped: a program that has the driver's connection may change a table
// with it.
func TestColumnsUnwrapped(t *testing.T) {
	c, _ := newConn(dialect.SQLServer(), drivers.Facts{})
	for range 3 {
		since := c.Columns.Since()
		Unwrap(c)
		if c.Columns.Since() == since {
			t.Errorf("what was known of tables at %d is taken to be so still", since)
		}
	}
}
