package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store/native"
)

// bindTo binds a counter's state to a column of a table that it is going to fill,
// unless that was done.
func (dr Drawing) bindTo(ctx context.Context, c *counter) error {
	if c.bound == nil || dr.on == nil && c.bound.row != nil {
		return nil
	}
	f, err := dr.tables.Facts(ctx, dr.on, dr.table)
	if err != nil || f.unseen != nil {
		return err
	}
	column := f.Columns[dr.index].StoreColumn(dr.table.Rule, dr.key, false)
	if _, done := c.bound.columns.Load(column.String()); done {
		return nil
	}
	stays := true
	switch {
	case c.bound.bind != nil:
		err = c.bound.bind(ctx, column)
	case c.bound.engine != nil:
		err = c.bound.engine.ask(ctx, dr.on, func(ctx context.Context, at *native.Reserver) error {
			return at.Bind(ctx, column)
		})
	default:
		dr.on.EnsureStates(ctx)
		stays, err = c.bound.row.bind(ctx, dr.on, column)
	}
	if err == nil && stays {
		c.bound.columns.Store(column.String(), true)
	}
	return err
}
