package plans

import (
	"database/sql/driver"
	"strings"
)

// Lookup returns the rule for a table by its folded names. schema is empty if the text
// names no schema. Lookup returns nil if the table is not configured. It must be a pure
// function, since plans are cached.
type Lookup func(schema, table string) *Target

// Target describes a configured table to the rewriter.
type Target struct {
	Table   string   // the table's name in reports and errors
	Keys    []Key    // the key columns to fill, at least one
	Columns []string // all columns of the table in order, folded or as the table has them; nil if not known
	Owner   any      // any value that the caller of the lookup has a use for
}

// Key is a column that keyfill fills.
type Key struct {
	Column  string // folded
	Fill    FillOn // what counts as "no key"
	Integer bool   // whether the source makes integers, so that 0 is the zero value

	// Counted means that the keys which a source returns at once are consecutive integers, so
	// that the engine can number the rows of a query. If Integer is false, the keys are sent
	// as decimal text.
	Counted bool

	// Function is an expression of the engine that makes a key of this kind, for the rows
	// of a query; empty if there is none.
	Function string

	// Tail is the expression that makes a key of this kind for a row of a query, from the
	// values that are sent for all rows together: see [dialect.Tails]. It is empty if there is
	// none.
	Tail string

	// Session means that the policy wants the first row's key written as
	// LAST_INSERT_ID(key) if [Plan.Session] allows it. It applies to integers; of several
	// keys with Session the first counts.
	Session bool

	// Type is the type to which a key in a query is cast, in a dialect with Grammar.TypedRows:
	// a type that can be assigned to every column for such keys. If it is empty, the rows of
	// such a query are not filled.
	Type string

	// Scope are the columns, folded, within whose values a row's keys are numbered: see
	// bind.Scopes. It is nil for one numbering of the whole table. A key with a Scope is not
	// Counted.
	Scope []string

	// Date is the column of Scope, folded, whose date says to which period a row belongs; empty
	// if there is none.
	Date string

	// FromRow means that the key is made from the values of Scope, and does not number rows
	// within them: the same values make the same key.
	FromRow bool

	// Number returns the number of a key that the application brings, and whether the source
	// could make that key; nil if the keys are the numbers.
	Number func(text string) (int64, bool) `json:"-"` // TestLinear hands targets to another program

	// Joined means that the keys are drawn in the transaction of their INSERT, and may prove
	// that a transaction is open: [Plan.Proves].
	Joined bool

	// Proof is the text around the first key of an INSERT that runs, in texts that prove which
	// table the name means: [Plan.Proves].
	Proof Proof

	// Gapless means that the numbers have no gaps, so that no row may be left out: an
	// upsert clause whose only target is such a key is cut from the text if each row gets a
	// new key.
	Gapless bool

	// Sole means that the table has no unique index except on this key, alone or with
	// columns of its Scope, so that an ON DUPLICATE KEY clause is about this key. If that
	// is not known, no ON DUPLICATE KEY clause is cut.
	Sole bool

	// Follow means that keyfill needs to know the integers that INSERTs bring:
	// bind.ExplicitKeys.
	Follow bool
}

// FillOn is a set of forms that count as "no key".
type FillOn uint8

// The members of a [FillOn].
const (
	FillMissing FillOn = 1 << iota // the column is not in the INSERT
	FillNull                       // NULL, as a literal or bound
	FillDefault                    // the keyword DEFAULT
	FillZero                       // 0 for integers, the zero UUID and '' for other keys
)

// Proof is an expression around a key. Its value is the key if a condition is true, and an
// error otherwise.
type Proof struct {
	// Name and Schema are the condition: Name means the table of that name in Schema.
	Name, Schema string

	Open string // the text before the key
	Shut string // the text after the key

	// Counted replaces Shut if the engine numbers the rows of a query. The expression is
	// then written around the number of rows that is sent, and not around a key.
	Counted string
}

// Standing says which table the name of a configured table means on a connection, before a
// text is sent.
type Standing uint8

const (
	// IsConfigured means that the name means the configured table.
	IsConfigured Standing = iota
	// WasTemporary means that the name means the configured table, but has been the name of a
	// temporary table, and may be again.
	WasTemporary
	// ByPath means that the name means the configured table, and that the search path may list
	// the schema of temporary tables last: a new temporary table may then not hide it.
	ByPath
	// IsTemporary means that the name means a temporary table.
	IsTemporary
	// Unasked means that the name may mean a temporary table, and that asking the engine would
	// change what the text reads: see effects.ReadsCount.
	Unasked
)

// TableName is a table's name as a text has it.
type TableName struct {
	Schema, Table string // folded; Schema is empty if the text names none
	Text          string // as written, quotes included
}

// Keys of 16 bytes for the rows of a query have a prefix that is drawn for the statement,
// and after it a number of 48 bits that the engine counts up, the tail. The rows need not
// be counted before. In MySQL and MariaDB, where ROW_NUMBER() may change values of the row,
// a function that counts its calls is in the select list itself:
//
//	INSERT INTO t (a, id) SELECT a, CONCAT(prefix, … before + (UUID_SHORT() & …)) FROM s
//
// In other engines, and if that function would be called for rows that DISTINCT or UNION
// leaves out, the query becomes a common table expression as for integers.

// ByEngine reports whether the engine makes or numbers the keys for the rows of a query.
func (k *Key) ByEngine() bool { return k.Counted || k.Function != "" || k.Tail != "" }

// Tailed reports whether the keys for the rows of a query are made of a prefix and a number
// that the engine counts.
func (k *Key) Tailed() bool { return !k.Counted && k.Function == "" && k.Tail != "" }

// TailValues returns the n values that are sent for keys with tails, in the order in which
// the expression Tail has them: prefix, and before, which is one less than the number of
// the first row.
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
