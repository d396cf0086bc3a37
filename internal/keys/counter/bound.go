package counter

import (
	"context"
	"sync"

	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// Bound holds the columns that a shared state (a stored counter) is already bound to:
// those for which it was opened, and those that were bound later, because a glob
// matched them or their table is new.
type Bound struct {
	Bind    func(context.Context, store.Column) error // nil if Row or Engine binds instead
	Row     *numbering.ConnRow                        // binds a row that is read on the connection of each statement; nil for other rows
	Engine  *numbering.EngineSequence
	Columns sync.Map // the bound columns, by store.Column.String()
}

// newBound returns the Bound of a state (stored counter) that is opened for the columns
// of row. It returns nil for a state of one column, whose row names that column.
func newBound(row sequence.Sequence, bind func(context.Context, store.Column) error) *Bound {
	if !row.Shared {
		return nil
	}
	b := &Bound{Bind: bind}
	for _, c := range row.Columns {
		b.Columns.Store(c.String(), true)
	}
	return b
}

// newBoundOn returns the Bound of a state (stored counter) whose row is read on the
// connection of each statement.
func newBoundOn(row sequence.Sequence, on *numbering.ConnRow) *Bound {
	b := newBound(row, nil)
	if b != nil {
		b.Row = on
	}
	return b
}
