package store

import "fmt"

// binding returns the binding of a sequence to its columns.
func (q *Sequence) binding() *binding {
	return &binding{
		row: q.Name, state: q.Name, columns: q.Columns, exclusive: q.Exclusive, parameters: bindingParameters, fail: q.fail,
		ends: !q.foreign() && q.Parameters == "", alone: !q.Shared, startAt: q.StartAt,
	}
}

// lookedAt is binding for who changes nothing.
func (q *Sequence) lookedAt() *binding {
	b := q.binding()
	b.looks = true
	return b
}

// ForeignState returns the [Claim].State of a sequence that is in no table of this
// package. It names the key table or the procedure that knows the next integer: of two
// states that have the same one, neither gives what the other has given.
func (q *Sequence) ForeignState() string {
	if q.Table == nil {
		return fmt.Sprintf("%s (procedure %s)", q.Name, q.Procedure)
	}
	if q.Table.Key == "" {
		return fmt.Sprintf("table %s", q.Table.Name)
	}
	return fmt.Sprintf("table %s (%s)", q.Table.Name, q.Table.Row)
}
