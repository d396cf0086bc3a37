package plans

import (
	"database/sql/driver"
	"strings"
)

// Lookup returns the rule for a table by its folded names, schema "" where the
// text names none; nil when the table is not configured. It must be a pure
// function: plans are kept.
type Lookup func(schema, table string) *Target

// Target describes a configured table to the rewriter.
type Target struct {
	Table   string   // as reports and errors name it
	Keys    []Key    // the key columns to fill, at least one
	Columns []string // all columns in order, folded or as the table has them; nil when not known
	Owner   any      // whatever the lookup wants to find again in a plan
}

// Key is a column to fill.
type Key struct {
	Column  string // folded
	Fill    FillOn // what counts as "no key"
	Integer bool   // the source makes integers, so that 0 is the zero value

	// Counted says that the keys of one draw are consecutive integers, so that the
	// engine can number the rows of a query. Where Integer is false they go as
	// decimal text.
	Counted bool

	// Function is an expression of the engine that makes a key of this kind, for
	// the rows of a query; "" where there is none.
	Function string

	// Tail is the expression that makes a key of this kind for a row of a query from
	// what is drawn for all of them, see [dialect.Tails]; "" where there is none.
	Tail string

	// Session says that the policy wants the first row's key written as
	// LAST_INSERT_ID(key) where [Plan.Session] allows it. It applies to
	// integers; of several keys with Session the first counts.
	Session bool

	// Type is the type that a key is cast to where it stands in a query, in a
	// dialect with Grammar.TypedRows: one that is assigned to every column that
	// takes such keys. With "" they are not filled there.
	Type string

	// Scope are the columns, folded, whose values a row's keys are numbered within:
	// bind.Scopes. nil stands for one numbering of the whole table. Such a key is
	// not Counted.
	Scope []string

	// Joined says that the keys belong to the transaction of their INSERT, which may
	// prove that one is open: [Plan.Proves].
	Joined bool

	// Proof stands around the first such key of an INSERT that runs, in texts that prove
	// what the table's name means: [Plan.Proves].
	Proof Proof

	// Gapless says that the numbers have no gaps, so that no row may be left out: an upsert
	// clause whose only target is such a key is cut from the text where each row gets one.
	Gapless bool

	// Sole says that the table has no unique index but on this key, alone or with columns of
	// its Scope, so that ON DUPLICATE KEY is about it. Where it is not known, no such clause
	// is cut.
	Sole bool

	// Follow says that the integers that INSERTs bring are asked for:
	// bind.ExplicitKeys.
	Follow bool
}

// FillOn is a set of values that count as "no key".
type FillOn uint8

// The members of a [FillOn].
const (
	FillMissing FillOn = 1 << iota // the column is not in the INSERT
	FillNull                       // NULL, as a literal or bound
	FillDefault                    // the keyword DEFAULT
	FillZero                       // 0 for integers, the zero UUID and '' otherwise
)

// Proof is an expression around a key, which is the key where something is true, and an
// error elsewhere.
type Proof struct {
	// What is true: that this name means the table of the name in this schema.
	Name, Schema string

	Open string // in front of the key
	Shut string // behind it

	// Counted is what stands behind the number of rows instead, where the engine numbers
	// the rows of a query.
	Counted string
}

// Standing says which table the name of a configured table means on a connection
// before a text is sent.
type Standing uint8

const (
	// IsConfigured says that it means the configured table.
	IsConfigured Standing = iota
	// WasTemporary says the same of a name that has been a temporary table's, and
	// may become one's again.
	WasTemporary
	// ByPath says the same where the search path may have the schema of temporary
	// tables behind the other table's schema.
	ByPath
	// IsTemporary says that it means a temporary table.
	IsTemporary
	// Unasked says that it may mean a temporary table, and that the question would
	// change what the text reads: see effects.ReadsCount.
	Unasked
)

// TableName is a table's name as a text has it.
type TableName struct {
	Schema, Table string // folded; Schema "" where the text names none
	Text          string // as it stands there, quotes included
}

// Keys of 16 bytes for the rows of a query have a prefix that is drawn for the
// statement, and behind it a number of 48 bits that the engine counts up. Nothing is
// counted before. In MySQL and MariaDB, where ROW_NUMBER() may change values of the
// row, a function that counts calls stands in the select list itself:
//
//	INSERT INTO t (a, id) SELECT a, CONCAT(prefix, … before + (UUID_SHORT() & …)) FROM s
//
// Elsewhere, and where that function would be called for rows that DISTINCT or UNION
// leaves out, the query becomes a common table expression as for integers.

// ByEngine reports whether the engine makes or numbers such keys for the rows of a query.
func (k *Key) ByEngine() bool { return k.Counted || k.Function != "" || k.Tail != "" }

// Tailed reports whether such keys are made of a prefix and a row's number.
func (k *Key) Tailed() bool { return !k.Counted && k.Function == "" && k.Tail != "" }

// TailValues returns the values of a draw of n places whose keys have tails: the prefix
// and the number before, in the order in which the key's Tail has them.
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
