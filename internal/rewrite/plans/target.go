package plans

import (
	"database/sql/driver"
	"strings"
)

// Lookup returns the rule for a table by its folded names; schema is empty if the text
// has none. It returns nil if the table is not configured. It must be a pure function,
// since plans are cached.
type Lookup func(schema, table string) *Target

// Target describes a configured table to the rewriter.
type Target struct {
	Table   string   // as reports and errors name it
	Keys    []Key    // the key columns to fill, at least one
	Columns []string // all columns in order, folded or as the table has them; nil if not known
	Owner   any      // any value for which the lookup's caller has a use
}

// Key is a column to fill.
type Key struct {
	Column  string // folded
	Fill    FillOn // what counts as "no key"
	Integer bool   // the source makes integers, so that 0 is the zero value

	// Counted means that the keys of one draw are consecutive integers, so that the
	// engine can number the rows of a query. If Integer is false they are sent as decimal
	// text.
	Counted bool

	// Function is an expression of the engine that makes a key of this kind, for the rows
	// of a query; empty if there is none.
	Function string

	// Tail is the expression that makes a key of this kind for a row of a query from the
	// values drawn for all of them: see [dialect.Tails]. It is empty if there is none.
	Tail string

	// Session means that the policy wants the first row's key written as
	// LAST_INSERT_ID(key) if [Plan.Session] allows it. It applies to integers; of several
	// keys with Session the first counts.
	Session bool

	// Type is the type to which a key in a query is cast, in a dialect with
	// Grammar.TypedRows: one that is assigned to every column that takes such keys. If it
	// is empty, they are not filled there.
	Type string

	// Scope are the columns, folded, whose values a row's keys are numbered within: see
	// bind.Scopes. It is nil for one numbering of the whole table. Such a key is not
	// Counted.
	Scope []string

	// Joined means that the keys belong to the transaction of their INSERT, which may
	// prove that one is open: [Plan.Proves].
	Joined bool

	// Proof is the text around the first such key of an INSERT that runs, in texts that
	// prove what the table's name means: [Plan.Proves].
	Proof Proof

	// Gapless means that the numbers have no gaps, so that no row may be left out: an
	// upsert clause whose only target is such a key is cut from the text if each row gets
	// one.
	Gapless bool

	// Sole means that the table has no unique index except on this key, alone or with
	// columns of its Scope, so that ON DUPLICATE KEY is about it. If that is not known,
	// no such clause is cut.
	Sole bool

	// Follow means that keyfill needs the integers that INSERTs bring: bind.ExplicitKeys.
	Follow bool
}

// FillOn is a set of forms that count as "no key".
type FillOn uint8

// The members of a [FillOn].
const (
	FillMissing FillOn = 1 << iota // the column is not in the INSERT
	FillNull                       // NULL, as a literal or bound
	FillDefault                    // the keyword DEFAULT
	FillZero                       // 0 for integers, the zero UUID and '' otherwise
)

// Proof is an expression around a key, which is the key if a condition is true, and an
// error otherwise.
type Proof struct {
	// The condition: Name means the table of that name in this schema.
	Name, Schema string

	Open string // before the key
	Shut string // after it

	// Counted replaces Shut after the number of rows, if the engine numbers the rows of a
	// query.
	Counted string
}

// Standing is which table the name of a configured table means on a connection before a
// text is sent.
type Standing uint8

const (
	// IsConfigured means that it is the configured table.
	IsConfigured Standing = iota
	// WasTemporary is IsConfigured for a name that has been a temporary table's, and may
	// be one again.
	WasTemporary
	// ByPath is IsConfigured if the search path may have the schema of temporary tables
	// after the other table's schema.
	ByPath
	// IsTemporary means that it is a temporary table.
	IsTemporary
	// Unasked means that it may be a temporary table, and that asking would change what
	// the text reads: see effects.ReadsCount.
	Unasked
)

// TableName is a table's name as a text has it.
type TableName struct {
	Schema, Table string // folded; Schema is empty if the text names none
	Text          string // as written, quotes included
}

// Keys of 16 bytes for the rows of a query have a prefix that is drawn for the statement,
// and after it a number of 48 bits that the engine counts up. Nothing is counted before.
// In MySQL and MariaDB, where ROW_NUMBER() may change values of the row, a function that
// counts calls is in the select list itself:
//
//	INSERT INTO t (a, id) SELECT a, CONCAT(prefix, … before + (UUID_SHORT() & …)) FROM s
//
// In other engines, and if that function would be called for rows that DISTINCT or UNION
// leaves out, the query becomes a common table expression as for integers.

// ByEngine reports whether the engine makes or numbers such keys for the rows of a query.
func (k *Key) ByEngine() bool { return k.Counted || k.Function != "" || k.Tail != "" }

// Tailed reports whether such keys are made of a prefix and a row's number.
func (k *Key) Tailed() bool { return !k.Counted && k.Function == "" && k.Tail != "" }

// TailValues returns the n values of a draw whose keys have tails: prefix and before, in
// the order in which the key's Tail has them.
func (k *Key) TailValues(prefix string, before int64, n int) []driver.Value {
	values := make([]driver.Value, 0, n)
	for len(values) < n {
		for part := range strings.SplitSeq(k.Tail, "{") {
			switch {
			case strings.HasPrefix(part, "prefix}"):
				values = append(values, prefix)
			case strings.HasPrefix(part, "before}"):
				values = append(values, before)
			}
		}
	}
	return values
}
