package table

import (
	"cmp"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/policy"
)

// Row returns the row of a key's state (its stored counter), which serves columns, the
// key's own column first. For a snowflake, whose state is no such row, only the columns
// are used.
func (k *Column) Row(state string, facts *Facts, columns []store.Column) sequence.Sequence {
	src := k.Rule.Source
	row := sequence.Sequence{
		Name: state, Columns: columns, Made: sequence.MadeRow{Start: src.Start}, Bounds: k.Bounds(), Exclusive: src.Exclusive,
		OfValue: len(k.Rule.Values) > 0,
		// The form of the row must not depend on how many tables now use the stored counter
		// in the policy.
		Shared: k.Rule.Shared || !k.Rule.Own && src.StartAt == 0 || OfWorkers(src),
		// The row is bound to a table, so it is made only if the table is known.
		Create: src.CreateRow() && (facts.Unseen == nil || facts.Made || k.Rule.Shared),
	}
	if facts.Made {
		row.Made.Start = cmp.Or(row.Made.Start, 1) // the text creates the table, which is empty
	}
	if src.Upstream != "" {
		row.Parameters = upstream.Parameters
	}
	keep(&row, src)
	if row.Shared && facts.Unseen != nil && !facts.Made {
		// The keys of a temporary table concern no other session, so its column is omitted.
		row.Columns = columns[1:]
	}
	return row
}

// keep sets which table has the row of a source's stored counter, and how the row is
// changed.
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
