package catalog

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/nearest"
)

// Meant adds names of tables that were probably meant to an [ErrNoTable] of [Read], and
// returns any other error as it is. It reads all names of the schema.
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
		return err // err says more: that the table does not exist
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
