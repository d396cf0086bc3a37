package plans

// Insert is one INSERT of a text into a configured table.
type Insert struct {
	Target    *Target
	Offset    int      // of the verb, in bytes
	Rows      int      // rows of VALUES, or SELECTs that are each a row; 1 for SET and DEFAULT VALUES; -1 when not known
	Conflict  Conflict // what the engine does with a row that is there already
	Returning bool     // the statement gives rows back

	// TableText is the table's name as the text has it.
	TableText string

	// Replaces says that a row may take the place of another one, one of the same
	// statement too, whatever else the INSERT says of rows that are there:
	// REPLACE, OR REPLACE.
	Replaces bool

	// UpdatesKey says that the update part of an upsert clause may give a key
	// column another value: the row that was there already may have got the new
	// key.
	UpdatesKey bool

	// LeavesRow says that the update part assigns nothing but key columns to
	// themselves (id = id), so that the row that was there stays as it is.
	LeavesRow bool

	// Database is the folded part of the table's name in front of the schema, ""
	// where the name has no such part. It is the name of a database unless a
	// server stands in front of it.
	Database string

	// Cased says that the table's name is not written as it is compared where names
	// compare without case: with other settings of the server it is another table's.
	Cased bool

	// Unlisted is the table's name as the text has it where the INSERT is
	// refused for want of Target.Columns alone: it has VALUES and no column
	// list. "" elsewhere, and for a table behind a database link.
	Unlisted string

	// BulkTable is the table's name in SQL where the text is not SQL:
	// go-mssqldb's INSERTBULK. "" elsewhere.
	BulkTable string

	// Idiom says that the ON DUPLICATE KEY UPDATE calls LAST_INSERT_ID with an
	// argument: it says itself which key LAST_INSERT_ID() is to give.
	Idiom bool

	// Nested says that the INSERT stands in the WITH clause of a statement that
	// answers for itself, Explained that it is explained and does not run: what it
	// is given as a key is stored nowhere.
	Nested, Explained bool

	// Branched says that the INSERT runs once or not at all, which a condition of the
	// text decides.
	Branched bool

	// Conditional says that a condition of the text may leave a row out, as in SELECT …
	// WHERE. Conflict is ConflictSkip where nothing else may leave one out or replace it.
	Conditional bool

	// Worked says that a key in the INSERT is an expression with an @ in it, which
	// is a name to options of drivers that rewrite the query.
	Worked bool

	// Query is where the rows come from a query and the engine numbers them; nil
	// elsewhere.
	Query *Query

	Selects   bool               // its rows are SELECTs
	End       int                // of its text
	Delayed   bool               // it may be stored after its answer
	ByDefault bool               // DEFAULT stands in the place of a key
	Assigned  bool               // the update part assigns something
	Sure      bool               // the Idiom runs whenever the update part does
	Scopes    *Scoping           // the columns that keys are numbered within; nil: none
	Explicit  []ExplicitLiterals // what the text brings for each key that is followed; nil: nothing
	Listing   *Listing           // its list and its rows where they name a key; nil elsewhere
}

// Conflict says what the engine does with a row whose key or other unique value
// is there already. It decides what the number of affected rows says about the
// keys.
type Conflict uint8

// What may happen to a row that is there already.
const (
	ConflictError   Conflict = iota // the statement fails
	ConflictSkip                    // the row is left out: IGNORE, DO NOTHING, a condition of its SELECT; with OR FAIL all after it too
	ConflictReplace                 // the old row goes: REPLACE
	ConflictUpdate                  // the old row is changed: DO UPDATE, ON DUPLICATE KEY UPDATE

	// ConflictConditional says that conditions of the statement decide whether a
	// row is inserted at all: MERGE, INSERT WHEN.
	ConflictConditional
)

// Counts reports whether the engine would number a row of the INSERT by the key column's own
// default, if the key were not filled: the column is not listed, or DEFAULT stands in its
// place.
func (in *Insert) Counts() bool { return in.Listing == nil || in.ByDefault }
