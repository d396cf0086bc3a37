package rewrite

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
	// [Plan.Scopes]. nil stands for one numbering of the whole table. Such a key is
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
	// [Plan.Explicit].
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
