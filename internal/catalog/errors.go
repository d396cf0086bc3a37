package catalog

import (
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Errors about a table or a column that is to be filled. All come in an [*Error], whose
// text names the remedy.
var (
	// ErrNoTable is returned when the session sees no table or view of that
	// name.
	ErrNoTable = anchor.New("no-table", "there is no such table or view that this user sees")

	// ErrAmbiguous is returned when the names of several tables differ from the given one
	// only by case, and none is spelled like it.
	ErrAmbiguous = anchor.New("no-table", "several tables differ by case only")

	// ErrNoColumn is returned when the table has no such column.
	ErrNoColumn = anchor.New("no-column", "there is no such column in the table")

	// ErrGenerated is returned when the engine computes the column.
	ErrGenerated = anchor.New("engine-column", "the engine computes the column")

	// ErrIdentityAlways is returned when the engine numbers the rows itself
	// and refuses keys.
	ErrIdentityAlways = anchor.New("engine-column", "the engine refuses a key from an INSERT")

	// ErrType is returned when the column's type does not take the keys.
	ErrType = anchor.New("column-type", "the column does not take such keys")

	// ErrNarrow is returned when the column holds fewer bits than the keys.
	ErrNarrow = anchor.New("column-narrow", "the column is too narrow")

	// ErrLive is returned when the engine fills the column too, and [Key].Exclusive is not
	// set.
	ErrLive = anchor.New("live-column", "the engine fills the column too")

	// ErrPartition is returned for a partition: the table that it belongs to has the same
	// column, and numbers of its own.
	ErrPartition = anchor.New("other-table", "the table is a partition of another one")

	// ErrView is returned for a view: its keys would be numbered by one state (stored
	// counter), and the keys of its table by another one.
	ErrView = anchor.New("other-table", "the policy names a view, and the view's table may be numbered too")

	// ErrChild is returned for a table that inherits from another one: the other table
	// shows these rows too, and has numbers of its own.
	ErrChild = anchor.New("other-table", "the table inherits from another one, which shows its rows too")

	// ErrAttached is returned for a table of SQLite whose file is another database of
	// the connection too.
	ErrAttached = anchor.New("other-table", "the table's file is attached under two names")

	// ErrCollation is returned when the column treats two keys as equal that differ only by
	// the case of a letter.
	ErrCollation = anchor.New("column-type", "the column compares without regard to case")

	// ErrCOMB is returned when the column would reject a COMB (a UUID with the time in it),
	// or store it out of order.
	ErrCOMB = anchor.New("column-type", "the column's type does not keep the order of a COMB")
)

// Error is a table or column that cannot be filled as the policy says.
// errors.Is finds Err.
type Error struct {
	Table  string // the table's name, with its schema if that is known
	Column string // the column's name in the catalog, or else as it was asked for; empty if the error concerns the table
	Err    error  // one of the errors of this package
	Detail string // the present state and the remedy; may be empty
}

// Error returns for example
//
//	orders.id: the column is too narrow: int(11) holds 31 bits: say max_bits: 31
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Table)
	if e.Column != "" {
		b.WriteString("." + e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
