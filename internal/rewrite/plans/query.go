package plans

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// Counts reports whether the rows of a query are to be counted before an
// execution: an INSERT of the plan is numbered, and runs.
func (pl *Plan) Counts() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.Counted && !in.Explained
	})
}

// ByFunction reports whether a function of the engine makes a key, which is not known
// here.
func (pl *Plan) ByFunction() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Query != nil && !in.Query.Counted })
}

// Counted returns the indices of the INSERTs whose rows are to be counted.
func (pl *Plan) Counted() (inserts []int) {
	for i := range pl.Inserts {
		if in := &pl.Inserts[i]; in.Query != nil && in.Query.Counted && !in.Explained {
			inserts = append(inserts, i)
		}
	}
	return inserts
}

// Doubts returns the columns of the query of an INSERT whose values may not survive: see
// [Query.Survives]. It is nil where more is in doubt, or nothing.
func (pl *Plan) Doubts(insert int) []selects.Doubt { return pl.Inserts[insert].Query.Doubts }

// MariaDB numbers the rows of an INSERT … SELECT itself, from a number that the
// statement is given for itself:
//
//	SET STATEMENT insert_id=first, auto_increment_increment=1 FOR INSERT INTO t (a) SELECT …
//
// The application's text stays as it came, and so do the values of its rows: nothing
// of it goes through the temporary table that ROW_NUMBER needs, in which a quotient of
// integers loses its digits. MariaDB Knowledge Base, "SET STATEMENT" and "insert_id".
// The number is of a column with AUTO_INCREMENT; the text does not tell whether the key
// is one, and the engine does not stop at the last number that was reserved: both are
// up to the caller.

// Given is where an INSERT … SELECT is given its first number.
type Given struct {
	At      int  // the offset of the settings
	Beside  bool // the statement has settings already, and ours stand in front of them
	IsFound bool
}

// TakesFirst reports whether the engine may number the rows of the text's only INSERT
// itself: see rowcount.TextFrom. The key is missing from its column list, its keys are
// consecutive integers, and its query calls nothing that may change something.
func (pl *Plan) TakesFirst() bool {
	if len(pl.Inserts) != 1 || pl.Statements != 1 {
		return false
	}
	q := pl.Inserts[0].Query
	return q != nil && q.Given.IsFound && q.Counted && !q.Unsure
}

// NotNumbered returns a refusal where ROW_NUMBER() may change the values of a query, as far
// as the text tells: [Plan.Doubts] may still be settled. It is nil where it does not. The
// plan must not be refused itself.
func (pl *Plan) NotNumbered() *Refusal {
	for i := range pl.Inserts {
		in := &pl.Inserts[i]
		if q := in.Query; q != nil && q.Counted && !q.Survives && !in.Explained {
			r := pl.Refused(rewrite.ErrSelectValues)
			r.Offset = q.Changes
			return r
		}
	}
	return nil
}

// An INSERT whose rows come from a query gets its keys from the engine, which
// numbers the rows from a first key that is sent: how many there are is not
// known before. The query becomes a common table expression with names for its
// columns, so that DISTINCT, set operations and LIMIT come first:
//
//	INSERT INTO t (a, id) WITH kf (c1) AS (query)
//	SELECT c1, CASE WHEN ROW_NUMBER() OVER () <= rows
//	  THEN base + ROW_NUMBER() OVER () ELSE error END FROM kf
//
// rows is the number of keys that were reserved behind base. A row too many is
// an error of the engine, so that no row gets a key that is not its own.

// Query is the query of an INSERT … SELECT whose rows get their keys from the
// engine: it numbers them, or calls a function of its own. A column that is
// numbered takes two values of its draw: the number of keys, and the number
// before the first key.
type Query struct {
	// Unsure says that the query calls functions that may change something, so
	// that a count of its rows has to be undone.
	Unsure bool

	// Survives says that each value of the query is known to be the same after a
	// temporary table, in which a dialect with Numbering.Carries holds the rows that
	// ROW_NUMBER() numbers; true elsewhere.
	Survives bool

	// Table is the table as the INSERT names it.
	Table TableName

	// SetRow says that the query is the only row of VALUES, which calls a function that
	// returns a set: see [rewrite.ErrSet].
	SetRow bool

	// Constructed are the folded names of the columns whose value in such a row is a row
	// constructor without a type.
	Constructed []string

	Outer   selects.With     // in front of INSERT; for an INSERT in a WITH clause, the definitions in front of it
	Near    selects.With     // in front of such an INSERT itself
	Inner   selects.With     // in front of SELECT, where it may not stand in another one
	Main    scan.Span        // the query behind it
	From    int              // the caller's placeholders in front of the query
	To      int              // and in front of what follows it
	Name    string           // of the common table expression that it becomes
	Columns []string         // the names of its columns; nil where they keep their own
	Order   selects.Ordering // what it is ordered by outside of its expression
	Lifts   []selects.Lift
	Suffix  string          // what the query needs behind it
	Counted bool            // a key is a number; else all are made by functions or have tails
	Tailed  bool            // a key has a tail
	Merged  bool            // the query is a common table expression, whose rows are numbered
	Implied bool            // the INSERT has no column list
	Given   Given           // where the engine is given the first number
	Changes int             // the offset of the first value that may not survive
	Doubts  []selects.Doubt // the columns that may not survive; nil: more is in doubt
}

// Define appends the text in front of the query.
func (q *Query) Define(b []byte) []byte {
	if b = q.Named(b); q.SetRow {
		b = append(b, "SELECT "...)
	}
	return b
}

// Named appends the name of the query, the names of its columns, AS and a
// bracket.
func (q *Query) Named(b []byte) []byte {
	b = append(b, q.Name...)
	for i, c := range q.Columns {
		sep := ", "
		if i == 0 {
			sep = " ("
		}
		b = append(append(b, sep...), c...)
	}
	for _, c := range q.Order.Names {
		b = append(append(b, ", "...), c...)
	}
	if q.Columns != nil {
		b = append(b, ')')
	}
	return append(b, " AS ("...)
}

// Tails reports whether keyfill and the engine make a key together, for a row of a query
// of an INSERT that runs.
func (pl *Plan) Tails() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Query != nil && in.Query.Tailed && !in.Explained })
}

// Merges reports whether the rows of a query that is written as a common table expression
// get such keys.
func (pl *Plan) Merges() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.Tailed && in.Query.Merged && !in.Explained
	})
}
