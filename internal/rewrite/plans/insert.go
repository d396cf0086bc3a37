package plans

// Insert is one INSERT of a text into a configured table.
type Insert struct {
	Target    *Target
	Offset    int // the byte offset of its verb
	Rows      int // how many rows VALUES has, or SELECTs that are each a row; 1 for SET and DEFAULT VALUES; -1 if not known
	Upsert    Upsert
	Returning bool // the statement returns rows
	Selects   bool // whether its rows are SELECTs
	Delayed   bool // whether the engine may store the rows after it has answered
	ByDefault bool // whether a row has DEFAULT for a key

	// Nested means that the INSERT is in a WITH clause of another statement, which returns the
	// result. Explained means that an EXPLAIN only explains the INSERT: it does not run, and
	// its keys are never stored.
	Nested, Explained bool

	// Branched means that a condition in the text, such as IF, decides whether the INSERT runs
	// at all.
	Branched bool

	// Conditional means that a condition of the text may leave a row out, as in SELECT …
	// WHERE. Conflict is then ConflictSkip, unless rows may be left out or replaced for
	// another reason too.
	Conditional bool

	// Worked means that a key in the INSERT is an expression with an @ in it. Some driver
	// options that rewrite the query take the @ for the begin of a parameter's name.
	Worked bool

	Name WrittenName

	// Query is the query that the rows come from, if the engine numbers them; otherwise nil.
	Query *Query

	End int // the offset after the text of the INSERT

	Scopes   *Scoping           // the columns that keys are numbered within; nil if there are none
	Explicit []ExplicitLiterals // the keys that the text has as constants, for each key with Follow; nil if there are none
	Listing  *Listing           // its column list and rows if they name a key; otherwise nil
}

// Upsert says what the engine does with rows that exist already.
type Upsert struct {
	Conflict Conflict // how the engine treats a row that exists already
	// Replaces means that a row may replace another row, even one of the same statement,
	// whatever else the INSERT says about existing rows: REPLACE, OR REPLACE.
	Replaces bool

	// UpdatesKey means that the update part of an upsert clause may change a key column, so
	// that the existing row may have got the new key.
	UpdatesKey bool

	// LeavesRow means that the update part only assigns key columns to themselves (id =
	// id), so that the existing row stays unchanged.
	LeavesRow bool

	// Idiom means that the ON DUPLICATE KEY UPDATE calls LAST_INSERT_ID with an argument:
	// that call sets which key LAST_INSERT_ID() returns.
	Idiom bool

	Assigned bool // whether the update part has an assignment
	Sure     bool // whether LAST_INSERT_ID is called whenever the update part runs: see Idiom
}

// WrittenName is a table's name as the text has it.
type WrittenName struct {
	// TableText is the table's name as written. If the text is not SQL, but go-mssqldb's
	// INSERTBULK, Bulk is set, and TableText is the name as SQL has it.
	TableText string

	// Database is the folded part of the table's name before the schema, empty if the
	// name has no such part. It is the name of a database unless a server precedes it.
	Database string

	// Cased means that the table's name is not written in the case in which names are
	// compared: under other server settings it means another table.
	Cased bool
	Bulk  bool

	// Unlisted is the table's name as written if the INSERT is refused only because it
	// has VALUES and no column list, and Target.Columns is not known. It is empty
	// otherwise, and for a table on a database link.
	Unlisted string
}

// Conflict is how the engine treats a row whose key or other unique value exists already.
// It decides what the number of affected rows shows about the keys.
type Conflict uint8

// How the engine treats an existing row.
const (
	ConflictError   Conflict = iota // the statement fails
	ConflictSkip                    // the row is left out: IGNORE, DO NOTHING, a condition of its SELECT; with OR FAIL all later rows too
	ConflictReplace                 // the old row is deleted: REPLACE
	ConflictUpdate                  // the old row is changed: DO UPDATE, ON DUPLICATE KEY UPDATE

	// ConflictConditional means that conditions of the statement decide whether a row is
	// inserted: MERGE, INSERT WHEN.
	ConflictConditional
)

// Counts reports whether the key column's own default would number a row of the INSERT if
// keyfill did not fill the key: the column is not listed, or its value is DEFAULT.
func (in *Insert) Counts() bool { return in.Listing == nil || in.ByDefault }
