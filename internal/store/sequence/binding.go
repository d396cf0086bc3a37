package sequence

import (
	"fmt"

	"github.com/keyfill/keyfill/internal/store/binding"
)

// Binding returns the binding of the sequence to its columns: which rows of
// keyfill_sequences name them.
func (q *Sequence) Binding() *binding.Binding {
	return &binding.Binding{
		Row: q.Name, State: q.Name, Columns: q.Columns, Exclusive: q.Exclusive, OfValue: q.OfValue, Parameters: binding.Parameters, Fail: q.Fail,
		Ends: !q.IsForeign() && q.Parameters == "", Alone: !q.Shared, StartAt: q.Bounds.StartAt,
	}
}

// LookedAt returns the [Sequence.Binding] for a caller that must change no row.
func (q *Sequence) LookedAt() *binding.Binding {
	b := q.Binding()
	b.Looks = true
	return b
}

// ForeignState returns the [binding.Claim].State of a sequence that is in none of
// keyfill's tables. It names the key table of the application or the procedure that
// knows the next integer: two sequences with the same table or procedure never give the
// same integers.
func (q *Sequence) ForeignState() string {
	if q.Table == nil {
		return fmt.Sprintf("%s (procedure %s)", q.Name, q.Procedure)
	}
	if q.Table.Key == "" {
		return fmt.Sprintf("table %s", q.Table.Name)
	}
	return fmt.Sprintf("table %s (%s)", q.Table.Name, q.Table.Row)
}
