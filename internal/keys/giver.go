package keys

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
)

// DrawingFor returns the Drawing for key column i of a table, on the connection.
func (g *Conn) DrawingFor(t *table.Table, i int) Drawing {
	return Drawing{Site: relation.Site{Tables: g.Tables, Table: t, Index: i, Key: &t.KeyColumns[i], On: &g.Session}, sources: g.sources, own: &g.own}
}

// Give appends n keys for a statement on the connection to room: see [Giver].
func (g *Conn) Give(ctx context.Context, room []driver.Value, t *table.Table, i, n int) ([]driver.Value, error) {
	if k := &t.KeyColumns[i]; k.Source != nil {
		return k.Source.Append(ctx, room, keysource.Request{N: n, Layout: k.Layout})
	}
	dr := g.DrawingFor(t, i)
	if g.InsertID.May {
		if key, err := pendingKey(ctx, dr, n); err != nil {
			return nil, err
		} else if key != 0 {
			return boxing.AppendIntegers(room, key, 1, dr.Key.Layout), nil
		}
	}
	if dr.Key.Shape != nil {
		room, err := dr.mapped(ctx, n)
		if err != nil {
			dr.NoteNoKey(ctx, err)
			return nil, g.Held(err)
		}
		return room, nil
	}
	_, first, err := dr.Reserve(ctx, int64(n))
	if err != nil {
		dr.NoteNoKey(ctx, err)
		return nil, g.Held(err)
	}
	return boxing.AppendIntegers(room, first, n, dr.Key.Layout), nil
}

// Reserve returns the first of n integers for a statement on the connection.
func (g *Conn) Reserve(ctx context.Context, t *table.Table, i int, n int64) (int64, error) {
	dr := g.DrawingFor(t, i)
	if g.InsertID.May {
		if key, err := pendingKey(ctx, dr, int(min(n, 2))); err != nil || key != 0 {
			return key, err
		}
	}
	_, first, err := dr.Reserve(ctx, n)
	if err != nil {
		dr.NoteNoKey(ctx, err)
	}
	return first, g.Held(err)
}

// OpenState opens the row of a counter whose numbers belong to transactions: it makes
// the row and compares it with the table. It does nothing if that needs the statement's
// own connection.
func (g *Conn) OpenState(ctx context.Context, t *table.Table, i int) error {
	c, err := g.DrawingFor(t, i).Counter(ctx)
	if err != nil {
		return t.KeyError(i, err)
	}
	if row, ok := c.Numbers.(*numbering.JoinedRow); ok && !row.IsOnConnection() {
		if err := row.Open(ctx, &g.Session); err != nil {
			return t.KeyError(i, err)
		}
	}
	return nil
}

// GiveWithin returns keys for a statement on the connection, whose rows have these
// parents: see [Giver].
func (g *Conn) GiveWithin(ctx context.Context, t *table.Table, i, _ int, parents Parents) ([]driver.Value, error) {
	rows, err := parents()
	if err != nil {
		return nil, err
	}
	if source, ok := t.KeyColumns[i].Source.(*keysource.UUIDv5); ok {
		columns, err := g.ColumnsOfKey(ctx, t, i)
		if err != nil {
			return nil, err
		}
		return fromRows(source, t.KeyColumns[i].Layout, columns, rows)
	}
	return g.DrawingFor(t, i).within(ctx, rows)
}

// Spares returns true: a statement may draw more keys than it stores, see [SpareKeys].
func (g *Conn) Spares() bool { return true }
