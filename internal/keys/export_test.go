package keys

import (
	"context"
	"database/sql/driver"
	"strconv"
	"time"

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
	table := new(catalog.Table)
	if found != nil {
		column := *found
		column.Name = "parent"
		table.Columns = append(table.Columns, column)
	}
	_, err := newScopeColumn(d, table, policy.ScopeColumn{Column: "parent", Type: kind})
	return err
}

// AskCatalog opens the wait for the catalog to tests.
var AskCatalog = askCatalog

// KeptCounters returns how many counters of as many tenants are kept.
func KeptCounters(tenants int) (int, error) {
	set := newCounters()
	for i := range tenants {
		_, err := set.get(context.Background(), strconv.Itoa(i), func() (*counter, error) {
			return &counter{ofValue: true, numbers: new(joinedRow)}, nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(set.all), nil
}

// OpenConfigured opens a store that a policy names, and closes it.
func OpenConfigured(c policy.Store) error {
	opened, err := openConfigured(c)
	if err != nil || opened.connector == nil && opened.plain == nil {
		return err
	}
	return opened.close()
}

// Paced is paced.
type Paced struct{ of paced }

// Note is note.
func (p *Paced) Note() int { return p.of.note() }

// Age makes the last line older.
func (p *Paced) Age(d time.Duration) { p.of.said = p.of.said.Add(-d) }

// ShownError is what the log says of a store's error.
func ShownError(err error) string { return shownError(err) }
