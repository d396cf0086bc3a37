package numbering

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// ScopeValue opens the normal form of a scope's value to tests.
func ScopeValue(d *dialect.Dialect, found *catalog.Column, kind string, v driver.Value) (any, error) {
	c := ScopeColumn{Rule: policy.ScopeColumn{Column: "parent", Type: kind}, Dialect: d, Found: found}
	return c.Normal(v)
}

// CheckScopeColumn opens what a scope's column has to be to tests.
func CheckScopeColumn(d *dialect.Dialect, found *catalog.Column, kind string) error {
	table := new(catalog.Table)
	if found != nil {
		column := *found
		column.Name = "parent"
		table.Columns = append(table.Columns, column)
	}
	_, err := NewScopeColumn(d, table, policy.ScopeColumn{Column: "parent", Type: kind})
	return err
}
