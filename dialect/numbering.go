package dialect

// Numbering holds how an engine numbers the rows of a query, for an INSERT … SELECT
// whose keys are counted up from a first key. Number and Fail are expressions over all
// rows, without a placeholder.
type Numbering struct {
	// Number is the expression for the number of a row, from 1, as a 64-bit integer.
	Number string

	// Checked is the expression that must not be greater than the number of reserved
	// keys: Number, or the number of all rows if a statement that fails may have stored
	// some rows already (MyISAM).
	Checked string

	// Fail is an expression that fails when it is evaluated for a row, in every mode of
	// the engine, and not before. So no row gets a key that is not its own.
	Fail string

	// FailState and FailNumber are the SQLSTATE and the engine's number of the error that
	// Fail causes; FailState is empty, and FailNumber 0, if the error has none. Failure
	// is a part of Fail that the error repeats, in lower case and in whatever language;
	// empty if it repeats nothing.
	FailState  string
	FailNumber int
	Failure    string

	// Text is the expression for a number as text, with % for the number.
	Text string

	// First reports whether a WITH clause is written before INSERT, and not before
	// SELECT.
	First bool

	// Flat reports whether a WITH clause may not be inside another one.
	Flat bool

	// LooseNames reports whether a WITH clause may name fewer columns than its query has.
	LooseNames bool

	// ByTarget reports whether a string, a NULL or a placeholder takes the type of its
	// target column in a plain select list, but not in a WITH clause; NullByTarget
	// reports that for NULL alone.
	ByTarget, NullByTarget bool

	// Writing reports whether functions that users have defined may write when a query
	// calls them; Hidden reports whether a view may call such functions.
	Writing, Hidden bool

	// Ordered reports whether a query with ORDER BY in a WITH clause needs an OFFSET.
	Ordered bool

	// Unordered reports whether a query with ORDER BY in a WITH clause has no order.
	Unordered bool

	// Carries reports whether the engine numbers rows in a temporary table, in which
	// values may change: 1/3 has fewer digits, 0x41 is a string.
	Carries bool

	// PerRow is an expression in a select list that gives each row another number below
	// 2⁴⁷, so that the query needs no temporary table; empty if the engine has no such
	// expression.
	PerRow string

	// Tails are the expressions that make the keys of rows from the part that all keys
	// share.
	Tails Tails

	// UUIDv4 and UUIDv7 are functions that make a UUID of that version.
	UUIDv4, UUIDv7 Function

	// Server holds expressions for the server's version and, if the server can write a
	// log for replicas, for whether it does and in which form.
	Server []string

	// Major and Minor are the oldest version that can number rows; 0 if all versions
	// that keyfill supports can.
	Major, Minor int

	// Where reports whether a query before ON CONFLICT needs a WHERE clause.
	Where bool
}

// Function is a function of the engine that makes a key.
type Function struct {
	Text         string // its call; empty if the engine has no such function
	Major, Minor int    // the first version that has the function
}

// Tails are the expressions that make the keys of the rows of a query, by the form in
// which the keys are sent: {prefix} is the part that all keys share, text of hexadecimal
// digits and hyphens, or of the digits of ULIDs or the characters of TypeIDs, {before} the number before the first key's, and {row} the number of
// a row. The sum of both has 48 bits, highest byte first; see [Layout] for where they
// stand. An expression is empty if the engine cannot make such keys.
type Tails struct {
	UUID, Binary, AtEnd, ULID, TypeID string

	// Major and Minor are the first version that has the functions in Binary; 0 if all
	// versions have them.
	Major, Minor int
}

// Of returns the expression for UUIDs of a layout, or for ULIDs.
func (t *Tails) Of(l Layout, ulid bool) string {
	switch {
	case l.Bytes():
		return t.Binary
	case l == SequentialAtEnd:
		return t.AtEnd
	case ulid:
		return t.ULID
	}
	return t.UUID
}
