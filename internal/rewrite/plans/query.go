package plans

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// Counts reports whether the rows of a query must be counted before an execution: the query
// belongs to an INSERT that runs, and the engine numbers its rows.
func (pl *Plan) Counts() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.Counted && !in.Explained
	})
}

// ByFunction reports whether a function of the engine makes a key. keyfill does not know
// such a key.
func (pl *Plan) ByFunction() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Query != nil && !in.Query.Counted })
}

// Counted returns the indexes of the INSERTs whose rows must be counted before an
// execution.
func (pl *Plan) Counted() (inserts []int) {
	for i := range pl.Inserts {
		if in := &pl.Inserts[i]; in.Query != nil && in.Query.Counted && !in.Explained {
			inserts = append(inserts, i)
		}
	}
	return inserts
}

// Doubts returns the columns of the query of an INSERT whose values may change if the
// engine numbers the rows: see [Query.Survives]. It is nil if other values may change too,
// or none.
func (pl *Plan) Doubts(insert int) []selects.Doubt { return pl.Inserts[insert].Query.Doubts }

// MariaDB numbers the rows of an INSERT … SELECT itself, from a number that is set for
// the statement alone:
//
//	SET STATEMENT insert_id=first, auto_increment_increment=1 FOR INSERT INTO t (a) SELECT …
//
// The application's text stays as written, and so do the values of its rows: they do not
// go through the temporary table that ROW_NUMBER needs, in which a quotient of integers
// loses its digits. MariaDB Knowledge Base, "SET STATEMENT" and "insert_id". The number
// is for a column with AUTO_INCREMENT; the text does not show whether the key is one, and
// the engine does not stop at the last reserved number: the caller has to check both.

// Given says where in the text the first number of an INSERT … SELECT is set.
type Given struct {
	At      int  // the offset at which the settings are written
	Beside  bool // whether the statement has settings already; keyfill's are written before them
	IsFound bool
}

// TakesFirst reports whether the engine may number the rows of the text's only INSERT
// itself: see rowcount.TextFrom. The key is missing from its column list, its keys are
// consecutive integers, and its query calls no function that may change data.
func (pl *Plan) TakesFirst() bool {
	if len(pl.Inserts) != 1 || pl.Statements != 1 {
		return false
	}
	q := pl.Inserts[0].Query
	return q != nil && q.Given.IsFound && q.Counted && !q.Unsure
}

// NotNumbered returns a refusal if ROW_NUMBER() may change values of a query, judged by the
// query's text. The caller may still ask the engine about the [Plan.Doubts]. It returns nil
// if ROW_NUMBER() changes no value. The plan itself must not be refused.
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

// An INSERT whose rows come from a query gets its keys from the engine, since the number of
// rows is not known before: the engine numbers the rows from a first key that is sent. The
// query becomes a common table expression with names for its columns, so that DISTINCT, set
// operations and LIMIT come first:
//
//	INSERT INTO t (a, id) WITH kf (c1) AS (query)
//	SELECT c1, CASE WHEN ROW_NUMBER() OVER () <= rows
//	  THEN base + ROW_NUMBER() OVER () ELSE error END FROM kf
//
// rows is the number of keys that were reserved after base. An extra row is an error of the
// engine, so that no row gets a key that is not its own.

// Query is the query of an INSERT … SELECT whose rows get their keys from the engine: the
// engine numbers the rows, or calls one of its functions for each. For a column that is
// numbered, two values are sent: the number of keys, and the number before the first key.
type Query struct {
	// Unsure means that the query calls functions that may change data, so that counting its
	// rows has to be undone.
	Unsure bool

	// Survives means that each value of the query is known to be unchanged by a temporary
	// table, in which a dialect with Numbering.Carries holds the rows that ROW_NUMBER()
	// numbers; true in other dialects.
	Survives bool

	// Table is the table as the INSERT names it.
	Table TableName

	// SetRow means that the query is the only row of VALUES, which calls a function that
	// returns a set of rows: see [rewrite.ErrSet].
	SetRow bool

	// Constructed are the folded names of the columns whose value is a row constructor
	// without a type, if the query is a row of VALUES (SetRow).
	Constructed []string

	Parts QueryParts

	Name    string           // the name of the common table expression that holds the query
	Columns []string         // the names that the query's columns get in that expression; nil if they keep their own
	Order   selects.Ordering // the query's ORDER BY, written outside of the common table expression
	Lifts   []selects.Lift
	Suffix  string          // text that is added at the end of the query
	Counted bool            // whether a key is a number; if not, keys are made by functions, or end in a number (see Tailed)
	Tailed  bool            // whether a key ends in a number that the engine appends: its tail
	Merged  bool            // whether the query becomes a common table expression, whose rows are numbered
	Implied bool            // whether the INSERT has no column list
	Given   Given           // where the engine gets the first number
	Changes int             // the offset of the first value that numbering may change
	Doubts  []selects.Doubt // the columns that numbering may change; nil if it may change other values too
}

// QueryParts are the spans of a query and of its WITH clauses in the text.
type QueryParts struct {
	Outer selects.With // the WITH clause before INSERT; for an INSERT in a WITH clause, the definitions before it
	Near  selects.With // the WITH clause of an INSERT that is itself in a WITH clause
	Inner selects.With // the WITH clause before SELECT, if the engine does not accept it inside another clause
	Main  scan.Span    // the query after its WITH clause
	From  int          // how many of the caller's placeholders precede the query
	To    int          // how many of the caller's placeholders precede the text after the query
}

// Define appends to b the text that precedes the query in a WITH clause.
func (q *Query) Define(b []byte) []byte {
	if b = q.Named(b); q.SetRow {
		b = append(b, "SELECT "...)
	}
	return b
}

// Named appends to b the name of the query, the names of its columns, AS and a bracket.
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

// Tails reports whether a key for the rows of a query has a tail: keyfill makes its first
// part, and the engine appends the number of the row. An INSERT that is only explained does
// not count.
func (pl *Plan) Tails() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Query != nil && in.Query.Tailed && !in.Explained })
}

// Merges reports whether keys with tails (see [Plan.Tails]) are for a query that is written
// as a common table expression.
func (pl *Plan) Merges() bool {
	return slices.ContainsFunc(pl.Inserts, func(in Insert) bool {
		return in.Query != nil && in.Query.Tailed && in.Query.Merged && !in.Explained
	})
}
