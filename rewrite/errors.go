package rewrite

import "fmt"

// Reason is why an INSERT on a configured table is refused. It is an error and
// comparable, so that errors.Is(err, rewrite.ErrSelect) asks for the cause; its
// text says what to change.
type Reason string

func (r Reason) Error() string { return string(r) }

// Causes that lie in the form of the statement.
const (
	// ErrNoColumnList is returned when VALUES stands without a column list and
	// the policy does not name the table's columns.
	ErrNoColumnList Reason = "the INSERT has no column list: name the columns in it, or list all of the table's under columns: in the policy"
	// ErrColumnCount is returned when the number of values in a row is not
	// that of the columns, so that the key's place is not known.
	ErrColumnCount Reason = "a row has another number of values than there are columns: name the columns in the INSERT"
	// ErrSelect is returned when the rows come from a query and the column
	// list does not name the key.
	ErrSelect Reason = "the rows come from a query: how many keys it takes is not known; name the key column and select its values"
	// ErrSeveral is returned when the text holds more than one statement.
	ErrSeveral Reason = "the text holds several statements: send the INSERT alone"
	// ErrCTE is returned when the INSERT stands in a WITH clause or in brackets.
	ErrCTE Reason = "the INSERT is part of another statement: send it alone"
	// ErrExplain is returned for EXPLAIN and its like.
	ErrExplain Reason = "EXPLAIN of an INSERT is not filled: write a key into it"
	// ErrPrepare is returned for PREPARE in SQL, which would bake one key into
	// every EXECUTE.
	ErrPrepare Reason = "PREPARE in SQL would give every EXECUTE the same key: prepare through database/sql"
	// ErrBlock is returned when the INSERT stands in a block of statements.
	ErrBlock Reason = "the INSERT stands in a block: send it alone"
	// ErrMerge is returned for MERGE.
	ErrMerge Reason = "MERGE is not filled: name the key column and its value in its INSERT, or use INSERT"
	// ErrOutputInto is returned for OUTPUT … INTO.
	ErrOutputInto Reason = "the rows come from an OUTPUT clause: name the key column in its column list and give its values"
	// ErrMultiTable is returned for INSERT ALL, FIRST and WHEN.
	ErrMultiTable Reason = "INSERT into several tables is not filled: send one INSERT a table"
	// ErrBulk is returned for COPY, LOAD DATA, BULK INSERT and INSERTBULK.
	ErrBulk Reason = "the rows come from a bulk load: name the key column in its column list and load its values"
	// ErrExec is returned for INSERT … EXEC.
	ErrExec Reason = "the rows come from a procedure: name the key column in the column list"
	// ErrExecutableComment is returned when a comment that the server may run
	// stands in the statement.
	ErrExecutableComment Reason = "an executable comment /*! … */ stands in the statement: which text the server reads depends on its version; write the text without it"
	// ErrUserValue is returned for OVERRIDING USER VALUE.
	ErrUserValue Reason = "OVERRIDING USER VALUE would throw the key away: leave it out, or write OVERRIDING SYSTEM VALUE"
	// ErrTarget is returned when the key column is written with a subscript or
	// a field.
	ErrTarget Reason = "the key column has a subscript or a field: name the whole column"
	// ErrRowID is returned when the column list has another name of what may be
	// the key.
	ErrRowID Reason = "rowid in the column list may be the key: name the key column in its place"
	// ErrDoubleQuotes is returned when a name is a string unless sql_mode has
	// ANSI_QUOTES.
	ErrDoubleQuotes Reason = "a name is in double quotes, which is a string unless sql_mode has ANSI_QUOTES: use backticks"
	// ErrSubquery is returned when the target is not a table's name.
	ErrSubquery Reason = "the target of the INSERT is a query: name the table"
	// ErrGrammar is returned when the text is not an INSERT that is understood.
	ErrGrammar Reason = "the INSERT is not of a form that is understood"
)

// Causes that lie in placeholders and arguments.
const (
	// ErrStyles is returned when placeholders of several styles are mixed.
	ErrStyles Reason = "placeholders of several styles are mixed: use one"
	// ErrFirstUse is returned when some drivers number placeholders by their
	// first use in the text and the numbers, with the key's, are not in that
	// order.
	ErrFirstUse Reason = "SQLite drivers do not agree on which argument $n is unless $1, $2 … come in this order, the key's behind them: use ? or ?n"
	// ErrShared is returned when the placeholder in the key's place is used
	// elsewhere too and cannot be replaced there alone.
	ErrShared Reason = "the placeholder of the key is used elsewhere too: give the key one of its own"
	// ErrTooMany is returned when a statement to prepare would have more
	// arguments than the engine takes.
	ErrTooMany Reason = "with its keys the statement would have more arguments than the engine takes: send fewer rows, or send it without preparing it"
	// ErrArguments is returned when the number of arguments is not that of the
	// placeholders, so that a key could end in another column.
	ErrArguments Reason = "the number of arguments is not that of the placeholders"
	// ErrNamed is returned when named placeholders do not have named arguments,
	// or other placeholders have.
	ErrNamed Reason = "the names of the arguments are not those of the placeholders"
	// ErrArray is returned when an argument is a list that stands for several
	// rows.
	ErrArray Reason = "an argument is a list that stands for several rows: send one row at a time"
)

// Refusal says which INSERT cannot be filled, and why.
type Refusal struct {
	Target *Target
	Table  string // as the rule names it
	Column string // the key column, where one is concerned
	Offset int    // bytes from the start of the text
	Reason Reason
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("table %q: byte %d: %s", r.Table, r.Offset, string(r.Reason))
}

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Reason }
