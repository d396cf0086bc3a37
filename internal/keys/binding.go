package keys

import (
	"cmp"
	"context"
	"sync"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/policy"
)

// bound holds the columns that a shared state is already bound to: those it was opened
// for, and those bound since, because a glob matched them or their table is new.
type bound struct {
	bind    func(context.Context, store.Column) error // nil: by one of the next two
	row     *connRow                                  // on the statements' connections
	engine  *engineSequence
	columns sync.Map // of store.Column.String()
}

// newBound returns the columns of a state that is opened for the columns of row. It
// returns nil for a state of one column, whose row names that column.
func newBound(row sequence.Sequence, bind func(context.Context, store.Column) error) *bound {
	if !row.Shared {
		return nil
	}
	b := &bound{bind: bind}
	for _, c := range row.Columns {
		b.columns.Store(c.String(), true)
	}
	return b
}

// row returns the row of a key's state, which serves columns, the key's own first. For a
// snowflake, whose state is no such row, only the columns are used.
func (k *Column) row(state string, facts *Facts, columns []store.Column) sequence.Sequence {
	src := k.Rule.Source
	row := sequence.Sequence{
		Name: state, Columns: columns, Start: src.Start, Max: k.Limit(), Below: src.Below, StartAt: src.StartAt, Skip: skipped(src), Exclusive: src.Exclusive,
		// The form of the row must not depend on how many tables the policy has for
		// the state just now.
		Shared: k.Rule.Shared || !k.Rule.Own && src.StartAt == 0 || ofWorkers(src),
		// A row is bound to the table as it is found.
		Create: src.CreateRow() && (facts.unseen == nil || facts.made || k.Rule.Shared),
	}
	if facts.made {
		row.Start = cmp.Or(row.Start, 1) // it is empty
	}
	if src.Upstream != "" {
		row.Parameters = upstream.Parameters
	}
	keep(&row, src)
	if row.Shared && facts.unseen != nil && !facts.made {
		// A temporary table's keys are nobody else's business.
		row.Columns = columns[1:]
	}
	return row
}

// keep sets where the row of a source's state is, and how it is changed.
func keep(row *sequence.Sequence, src policy.Source) {
	if src.Lock == policy.LockOptimistic {
		row.Lock = sequence.LockOptimistic
	}
	if src.Via == policy.ViaProcedure {
		row.Procedure, row.Lock = cmp.Or(src.Procedure, store.ReserveProcedure), ""
	}
	if src.Table == nil {
		return
	}
	row.Table = &sequence.KeyTable{
		Name: src.Table.Name, Key: src.Table.Key, Value: src.Table.Value,
		Last: src.Table.Stored == policy.StoredLast, Version: src.Table.Version,
	}
	if row.Table.Key != "" {
		row.Table.Row = cmp.Or(src.Table.Row, row.Name)
	}
}

// newBoundOn is newBound for a row on the connection of each statement.
func newBoundOn(row sequence.Sequence, on *connRow) *bound {
	b := newBound(row, nil)
	if b != nil {
		b.row = on
	}
	return b
}

// bindTo binds a counter's state to a column of a table that it is going to fill,
// unless that was done.
func (dr Drawing) bindTo(ctx context.Context, c *counter) error {
	if c.bound == nil || dr.on == nil && c.bound.row != nil {
		return nil
	}
	f, err := dr.db.Facts(ctx, dr.on, dr.table)
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

// bind binds the state of a row to one more column, and reports whether that
// stays whatever becomes of the statement's transaction.
func (r *connRow) bind(ctx context.Context, g *Session, c store.Column) (stays bool, err error) {
	bind := func(st *store.Store) error {
		if r.series != nil {
			return r.series.At(st).Bind(ctx, c)
		}
		return r.rows.At(st).Bind(ctx, c)
	}
	if g.Tx == session.Outside {
		if err = (committing{row: r, on: g}).transact(ctx, bind); err != errInside {
			return true, err
		}
	}
	return false, bind(store.Within(r.dialect, g.Own()))
}
