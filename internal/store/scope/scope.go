// Package scope numbers the rows of a table separately for each value of other columns,
// such as the lines of each order from 1 on. Each of these values has a row of
// keyfill_sequences, which is made, locked and raised in the transaction that inserts.
package scope

//row:changes | the row of a period: its name, when it is made, the clock, closing | `internal/store/scope`: `periods.go`, `periodrows.go`, `periodmake.go`, `periodclose.go`; the statements in `internal/store/engine/periodstatements.go`

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// Scope numbers the rows of a table separately for each value of other columns, such as
// the lines of each order from 1 on. Each such value (a parent) has a row of
// keyfill_sequences, besides the row of the state itself, which says which column is
// numbered:
//
//	name            "lines.no[7]", of the state "lines.no"; several values have
//	                commas between them, texts are in quotes; a name of more than
//	                190 characters ends in a hash of the whole instead
//	next_value      the next number of that parent
//	table_name      empty, as column_name
//	parameters      [ParentParameters]
//
// A parent's row is made when it is first needed, in the transaction that needs it,
// wherever the row of the state itself exists: new parents appear all the time.
type Scope struct {
	Name   string       // the name of the stored counter
	Column store.Column // the key column, whose values are the numbers
	Within []string     // the columns whose values are the parents, as they are stored, without quotes

	// Start is the least number of a parent (such as an order); zero means 1. The numbers
	// of a parent that has rows go on above them.
	Start int64

	// Max is the greatest number of a parent, as in [sequence.Bounds].
	Max int64

	// Latest is another store of the same database, which sees the last committed rows
	// even if the transaction sees older ones, as under REPEATABLE READ. It is nil if a
	// transaction that writes always sees them, as on SQLite. The rows of Periods are made
	// there.
	Latest *store.Store

	// Periods makes the numbers of each parent begin again with each period; nil if they
	// never do. Then Within may be empty.
	Periods *Periods
}

// Parameters returns the [sequence.Sequence].Parameters that the row of the stored
// counter must have: with other columns or periods, the rows of the parents would stand for
// other parents. types are the types of the columns. The text has one of these forms:
//
//	scope "branch" text, "kind" integer
//	period year from 04-01 by clock in Europe/Berlin
//	scope "branch" text period month from 01-01 by "issued_on"
func (q *Scope) Parameters(types []string) string {
	var b strings.Builder
	if len(q.Within) > 0 || q.Periods == nil {
		b.WriteString("scope")
	}
	for i, c := range q.Within {
		fmt.Fprintf(&b, "%s %q %s", []string{"", ","}[min(i, 1)], c, types[i])
	}
	if q.Periods != nil {
		b.WriteString([]string{"", " "}[min(b.Len(), 1)] + q.Periods.words())
	}
	return b.String()
}

// RowFor returns the name under which keyfill_sequences keeps the counter of a parent, such as
// the order 7. values are the parent's values in the columns. Each value is an int64, a uint64 that does not fit into
// an int64, or a string. Equal values have the same name, different values have
// different names.
func (q *Scope) RowFor(values []any) string {
	return shortened(q.longName(values)+"]", "")
}

// PeriodRowFor returns the name of the row of a parent in the period of a name, such as
// "2026". values are as for RowFor; there are none if the scope has no columns, and in the
// row that only says that a period is closed: see [Periods].
func (q *Scope) PeriodRowFor(values []any, period string) string {
	end := "[" + period + "]"
	if len(values) > 0 {
		end = "," + period + "]"
	}
	return shortened(q.longName(values), end)
}

// longName returns the name of a parent's row without the closing bracket.
func (q *Scope) longName(values []any) string {
	var b strings.Builder
	b.WriteString(q.Name)
	for i, v := range values {
		b.WriteString([]string{"[", ","}[min(i, 1)])
		switch v := v.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case uint64:
			b.WriteString(strconv.FormatUint(v, 10))
		case string:
			b.WriteString("'" + strings.ReplaceAll(v, "'", "''") + "'")
		default:
			panic(fmt.Sprintf("store: a %T in a scope", v))
		}
	}
	return b.String()
}

// shortened returns a name that fits into a row: begin and end, or as much of begin as
// there is room for, a hash of the whole, and end.
func shortened(begin, end string) string {
	name := begin + end
	if utf8.RuneCountInString(name) <= store.MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := "-" + hex.EncodeToString(sum[:hashBytes]) + end // no name without a hash ends in this way
	return string([]rune(name)[:store.MaxName-len(hash)]) + hash
}

// hashBytes is how many bytes of a hash end the name of a parent's row that is too long.
const hashBytes = 16

// namesInFull reports whether the names of all parents' rows begin with the name of the
// state and a bracket.
func (q *Scope) namesInFull() bool {
	return utf8.RuneCountInString(q.Name) < store.MaxName-1-2*hashBytes
}

// ParentParameters is the text in the column parameters of a parent's row.
const ParentParameters = "scope of one parent"

// behind returns the error of a parent (such as an order) whose next number is not
// above the greatest number in the table.
func (q *Scope) behind() *store.Error {
	state := sequence.Sequence{Name: q.Name, Columns: []store.Column{q.Column}}
	return state.Fail(keysource.ErrStoreBehind, "the next number of a parent is not above the greatest one in the table: raise next_value in its row of keyfill_sequences, or say on_behind: advance")
}

// exhausted returns the error of a parent (such as an order) that has too few numbers
// left.
func (q *Scope) exhausted(next int64) *store.Error {
	state := sequence.Sequence{Name: q.Name, Columns: []store.Column{q.Column}, Bounds: sequence.Bounds{Max: q.Max}}
	e := state.Fail(keysource.ErrExhausted, "a parent has no number left up to the limit of %d: make the column wider and raise max_bits", state.Greatest())
	if q.Column.Texts != nil {
		e = state.Fail(keysource.ErrExhausted, "a parent has no number left up to the limit of %d; the remedy is %s", state.Greatest(), store.TextRemedy)
	}
	e.Next = next
	return e
}
