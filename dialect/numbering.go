package dialect

// Numbering is how an engine numbers the rows of a query, for INSERT … SELECT whose keys
// are counted up from a first one. Number and Fail are expressions over all rows, without
// a placeholder.
type Numbering struct {
	// Number is the number of a row, from 1, as a 64-bit integer.
	Number string

	// Checked is the expression that must not be greater than the number of keys that
	// there are: Number, or the number of all rows where a statement that fails may
	// have stored the rows before (MyISAM).
	Checked string

	// Fail is an error when it is worked out for a row, and not before: whatever
	// the mode, so that no row gets a key that is not its own.
	Fail string

	// FailState and FailNumber are the SQLSTATE and the engine's number of that error,
	// empty and 0 if it has none. Failure is a part of Fail that the error repeats, in
	// lower case and in whatever language; empty if it repeats nothing.
	FailState  string
	FailNumber int
	Failure    string

	// Text is the expression of a number as text, with % for the number.
	Text string

	// First reports whether a WITH clause stands before INSERT, not before SELECT.
	First bool

	// Flat reports whether a WITH clause may not stand in another one.
	Flat bool

	// LooseNames reports whether a WITH clause may name fewer columns than its query has.
	LooseNames bool

	// ByTarget reports whether a string, a NULL or a placeholder in a plain select list
	// takes the type of the column that it goes to, and in a WITH clause does not;
	// NullByTarget whether only NULL does.
	ByTarget, NullByTarget bool

	// Writing reports whether functions of users may write when a query calls them;
	// Hidden whether a view may call them.
	Writing, Hidden bool

	// Ordered reports whether a query with ORDER BY in a WITH clause needs an OFFSET.
	Ordered bool

	// Unordered reports whether a query with ORDER BY in a WITH clause has no order.
	Unordered bool

	// Carries reports whether the rows are numbered in a temporary table, in which values
	// may change: 1/3 has fewer digits, 0x41 is a string.
	Carries bool

	// PerRow is an expression that gives each row of a query another number below 2⁴⁷
	// where it stands in the select list, so that the query needs no temporary table;
	// empty if the engine has no such expression.
	PerRow string

	// Tails make the keys of rows from the part that they share.
	Tails Tails

	// UUIDv4 and UUIDv7 make a UUID of that version.
	UUIDv4, UUIDv7 Function

	// Server holds expressions for the server's version and, where the server
	// can write a log for replicas, for whether it does and in which form.
	Server []string

	// Major and Minor are the oldest version that numbers rows; 0 where every
	// version does that keyfill works with.
	Major, Minor int

	// Where reports whether the query before ON CONFLICT needs a WHERE.
	Where bool
}

// Function is a function of the engine that makes a key.
type Function struct {
	Text         string // its call; empty if the engine has no such function
	Major, Minor int    // of the first version that has it
}

// Tails are the expressions that make the keys of the rows of a query, by the form in
// which the keys are sent: {prefix} is the part that all keys share, text of hexadecimal
// digits and hyphens, {before} the number before the first key's, and {row} the number of
// a row. The sum of both has 48 bits, highest byte first; see [Layout] for where they
// stand. An expression is empty if the engine cannot make such keys.
type Tails struct {
	UUID, Binary, AtEnd, ULID string

	// Major and Minor are the first version that has what Binary calls; 0 where all have.
	Major, Minor int
}

// Of returns the expression for keys of a layout, for text of a ULID with ulid.
func (t *Tails) Of(l Layout, ulid bool) string {
	switch {
	case l == SequentialAsBinary:
		return t.Binary
	case l == SequentialAtEnd:
		return t.AtEnd
	case ulid:
		return t.ULID
	}
	return t.UUID
}
