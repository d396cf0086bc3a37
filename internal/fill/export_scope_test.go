package fill

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// ScopeValue opens the normal form of a scope's value to tests.
func ScopeValue(d *dialect.Dialect, found *catalog.Column, kind string, v driver.Value) (any, error) {
	c := scopeColumn{rule: policy.ScopeColumn{Column: "parent", Type: kind}, dialect: d, found: found}
	return c.normal(v)
}

// ScopeColumn opens what a scope's column has to be to tests.
func ScopeColumn(d *dialect.Dialect, found *catalog.Column, kind string) error {
	_, err := newScopeColumn(d, found, policy.ScopeColumn{Column: "parent", Type: kind})
	return err
}
