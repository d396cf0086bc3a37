package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/counter"
	"github.com/keyfill/keyfill/internal/store/native"
)

// bindTo binds the state of a counter (its row in the store) to a column of a table
// that it is going to fill, unless it is bound already.
func (dr Drawing) bindTo(ctx context.Context, c *counter.Counter) error {
	if c.Bound == nil || dr.On == nil && c.Bound.Row != nil {
		return nil
	}
	f, err := dr.Tables.Facts(ctx, dr.On, dr.Table)
	if err != nil || f.Unseen != nil {
		return err
	}
	column := f.Columns[dr.Index].StoreColumn(dr.Table.Rule, dr.Key, false)
	if _, done := c.Bound.Columns.Load(column.String()); done {
		return nil
	}
	stays := true
	switch {
	case c.Bound.Bind != nil:
		err = c.Bound.Bind(ctx, column)
	case c.Bound.Engine != nil:
		err = c.Bound.Engine.Ask(ctx, dr.On, func(ctx context.Context, at *native.Reserver) error {
			return at.Bind(ctx, column)
		})
	default:
		dr.On.EnsureStates(ctx)
		stays, err = c.Bound.Row.Bind(ctx, dr.On, column)
	}
	if err == nil && stays {
		c.Bound.Columns.Store(column.String(), true)
	}
	return err
}
