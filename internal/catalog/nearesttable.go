package catalog

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/nearest"
)

// Meant adds to an [ErrNoTable] of [Read] the names of tables that were likely meant, and
// returns any other error as it is. It asks for all names of the schema.
func Meant(ctx context.Context, d *dialect.Dialect, q Querier, schema, table string, err error) error {
	var missing *Error
	e := engines[d.Family]
	if e.names == "" || !errors.As(err, &missing) || !errors.Is(err, ErrNoTable) {
		return err
	}
	within := e.anySchema
	if schema != "" {
		within = schema
	}
	rows, failed := q.Rows(ctx, e.names, within)
	if failed != nil {
		return err // that the table is not there counts
	}
	var names []string
	for _, row := range rows {
		c := cells{row: row}
		if name := c.text(0); c.err == nil {
			names = append(names, name)
		}
	}
	said := *missing
	said.Detail += nearest.DidYouMean(table, names)
	return &said
}
