package store

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/keysource"
)

// Errors about the row of a sequence. All except ErrName are wrapped in an [*Error].
var (
	// ErrNoRow is returned when a sequence has no row in keyfill_sequences and must not be
	// given one.
	ErrNoRow = anchor.New("no-row", "the source has no row in keyfill_sequences")

	// ErrStart is returned when a sequence needs a new row, but its start is not given and
	// no column has a greatest key that can be queried.
	ErrStart = anchor.New("no-row", "the source's state has no row, and keyfill does not know where to start: write start into the policy")

	// ErrBound is returned when the row of a sequence serves another column.
	ErrBound = anchor.New("shared-state", "the source's row serves another column: give each source a name of its own, or let both columns share one source")

	// ErrTaken is returned when another state (the counter of another sequence or
	// snowflake) serves the column too, and the state that is opened is not exclusive.
	ErrTaken = anchor.New("shared-state", "the column is served by another state too: delete the row of keyfill_sequences that says so, or say exclusive: true if that one no longer fills it")

	// ErrTakenByValue is returned instead of ErrTaken for a state whose name holds a value of the
	// execution. It does not name the other state, whose name may hold the value of another
	// tenant.
	ErrTakenByValue = anchor.New("shared-state", "another state fills the column too, such as the state of another value: say exclusive: true in the source, so that all values share the column")

	// ErrParameters is returned when the row was made with other parameters than are now
	// given: keys made with the old and with the new parameters could be equal.
	ErrParameters = anchor.New("parameters", "the source's row has other parameters, which must never change: put the old parameters back, or choose a new name and a start above all keys")

	// ErrLayout is returned when the keys of a column were made with other bits, or with
	// another epoch, than a [worker.Worker] has.
	ErrLayout = anchor.New("parameters", "the column has keys of other bits or another epoch, and new keys could equal old ones: put the old bits and epoch back, or fill another column")

	// ErrStartAt is returned when a sequence with StartAt finds another stored counter of
	// its column that has reserved integers from StartAt on, or that is not a sequence
	// whose row could store an end.
	ErrStartAt = anchor.New("shared-state", "another state of the column has numbers from start_at on: write a greater start_at, or print keyfill plan change")

	// ErrBegun is returned when a sequence with StartAt serves the column too, and the
	// stored counter that is opened does not end where that sequence begins. Exclusive
	// makes no difference.
	ErrBegun = anchor.New("shared-state", "a sequence with start_at serves the column too, and this state does not end there: give this process the entry with start_at")

	// ErrBehind is returned when the next value of the row is not above the greatest key
	// in the column.
	ErrBehind = anchor.New("behind", "the source's next value is not above the greatest key in the column: other programs fill the column too, or the row is from an older copy")

	// ErrBack is returned when the row has a lower value than the caller has read in it
	// before.
	ErrBack = anchor.New("back", "the source's next value is below numbers that are reserved already: the store was restored, or a failover lost commits")

	// ErrFresh is returned when a sequence whose integers are not the keys themselves has
	// no row, but its columns hold keys: keyfill cannot know from which integers these
	// were made.
	ErrFresh = anchor.New("no-row", "the source has no row in keyfill_sequences, but its column holds keys: insert a row that goes on after these keys, or empty the column")

	// ErrContention is returned when other processes have changed the row between its
	// SELECT and its UPDATE, ten times in a row.
	ErrContention = anchor.New("contention", "other processes changed the source's row between SELECT and UPDATE, ten times: reserve larger blocks, or write lock: pessimistic")

	// ErrGone is returned when the stored counter of a sequence with ClaimsAt does not
	// exist, but the claim (a row that says which source fills a column) of a column says
	// that it was used.
	ErrGone = anchor.New("no-row", "the source's state was lost: stop the programs, write a start above all keys, and delete the row of keyfill_sequences that names the state")

	// ErrRowGone is returned when a Shared sequence has no row, but the rows that bind it
	// to its columns exist: processes may still hold numbers of the row that was deleted.
	ErrRowGone = anchor.New("no-row", "the source's row in keyfill_sequences is gone: stop the programs that use the source, and insert the row again above all keys")

	// ErrWriters is returned when the row names another server as its writer again and
	// again, while the server that answers has stayed the same: both take changes, and
	// replicate to each other.
	ErrWriters = anchor.New("two-servers", "another server writes the state's row too, again: let all programs insert at one server, and run keyfill takeover there")

	// ErrUnread is returned when the stored counter of a sequence with ClaimsAt does not
	// exist, and the keys of another column that is claimed for it cannot be read.
	ErrUnread = anchor.New("no-row", "the source's new state has to begin above a column that this user may not read: let the user read the column, or delete the state's row of keyfill_sequences")

	// ErrName is returned when the name of a stored counter is empty, is longer than 190
	// characters, begins or ends with a space, is not UTF-8, or contains NUL.
	ErrName = anchor.New("state-name", "not the name of a state")
)

// ErrPeriodClosed is returned when the period of a number is closed: see
// scope.Rows.ClosePeriod. It is wrapped in an [*Error], which is no keysource.ErrStoreState:
// the store is as it should be.
var ErrPeriodClosed = anchor.New("period-closed", "the period of the row is closed")

// ErrNextValue is returned when the next value of a row is below 1. It is wrapped in an
// [*Error].
var ErrNextValue = anchor.New("no-row", "the source's next_value in keyfill_sequences is below 1: set next_value above all numbers in use, or to 1 if there are none")

// Errors about a key table or a procedure of the application. All are wrapped in an
// [*Error], or come with keysource.ErrStoreState and the driver's error.
var (
	// ErrKeyTable is returned when a key table of the application cannot be read although
	// the server answers, or when the catalog does not know one of its columns.
	ErrKeyTable = anchor.New("key-table", "the source's key table cannot be read: write the names of the table and its columns as in SQL, and let the user read them")

	// ErrKeyType is returned when a column of a key table of the application has a type
	// that cannot be used for it.
	ErrKeyType = anchor.New("key-table", "a column of the source's key table has the wrong type")

	// ErrKeyEngine is returned when a key table (an existing table of the application's
	// that holds the numbers) of MySQL or MariaDB is a view, or uses a storage engine
	// without transactions, such as MyISAM: another session could change the row between an
	// UPDATE and the SELECT of its result.
	ErrKeyEngine = anchor.New("key-table", "the source's key table has no transactions, or is a view: make it a table of InnoDB, or write lock: optimistic and insert outside of transactions")

	// ErrKeyRows is returned when a key table (an existing table of the application's that
	// holds the numbers) has more than one row for a sequence.
	ErrKeyRows = anchor.New("key-table", "the source's key table has more than one row for this source")

	// ErrKeyValue is returned when the row of a key table of the application does not hold
	// a number that keys can follow.
	ErrKeyValue = anchor.New("key-table", "the source's row in the key table cannot be used: set its value above all keys in use")

	// ErrProcedure is returned when a procedure cannot be called although the server
	// answers, or when it does not return one row with one integer.
	ErrProcedure = anchor.New("procedure", "the source's procedure cannot be used: create the procedure that keyfill ddl --procedure prints, grant EXECUTE, and write its name as in SQL")
)

// Errors about keyfill's tables.
var (
	// ErrTables is returned when keyfill's tables cannot be read although the server
	// answers. It comes with keysource.ErrStoreState and the driver's error.
	ErrTables = anchor.New("state-tables", "keyfill_sequences and keyfill's other tables cannot be read: create them by keyfill ddl, or say ensure_schema: true")

	// ErrColumn is returned when the greatest key of a column cannot be read
	// although the server answers. It comes with keysource.ErrStoreState and
	// the driver's error.
	ErrColumn = anchor.New("greatest-key", "the greatest key cannot be read: name the table as it is found, and let it be read")

	// ErrHiddenRows is returned when row-level security may hide keys of a column from the
	// user, although the first integer of a sequence depends on the greatest key. It comes
	// with keysource.ErrStoreState.
	ErrHiddenRows = anchor.New("greatest-key", "row-level security hides keys: open as a user with BYPASSRLS or as the table's owner, or write start: above all keys")

	// ErrHiddenParent is returned instead of ErrHiddenRows for numbers within a parent
	// (such as the lines of an order), if no unique index keeps a number from being stored
	// twice.
	ErrHiddenParent = anchor.New("greatest-key", "row-level security hides rows: write start: 1 where all rows of a parent are shown, or index its columns and the key, unique")

	// ErrRights is returned when the store's user lacks a right on the state tables
	// (keyfill's tables). It comes with keysource.ErrStoreState and the driver's error, and
	// so do ErrReadOnly, ErrLogin, ErrNoConnect and ErrNoDatabase.
	ErrRights = anchor.New("state-tables", "the store's user may not use the state tables: grant it SELECT, INSERT and UPDATE on them, and DELETE on keyfill_series")

	// ErrReadOnly is returned when the store's server, its database or the session is
	// read-only.
	ErrReadOnly = anchor.New("read-only", "the store is read-only: name the server that takes changes, or end its read-only mode")

	// ErrLogin is returned when the store's server refuses the user, the password
	// or the address that the connection comes from.
	ErrLogin = anchor.New("login", "the store's server refuses the user, the password or the client's address: mend the DSN, or the account")

	// ErrNoConnect is returned when the store's server knows the user, but does not let
	// it connect to the database of the DSN.
	ErrNoConnect = anchor.New("login", "the store's user may not connect to the store's database: grant it that, or mend the DSN")

	// ErrNoDatabase is returned when the store's server does not have the database that
	// the DSN names.
	ErrNoDatabase = anchor.New("login", "the store's database is not there: create it, or mend the DSN")

	// ErrAltered is returned when a state table refuses a row or a change, because it was
	// altered, or has a trigger or a constraint.
	ErrAltered = anchor.New("state-tables", "a state table refuses what is written into it: give it the columns that keyfill ddl prints, and nothing else")

	// ErrRows is returned when a statement finds more than one row although at most one
	// may exist: the tables lack their primary keys.
	ErrRows = anchor.New("state-tables", "more than one row was found: create the primary key that keyfill_sequences, keyfill_workers or keyfill_series lacks")

	// ErrTransaction is returned by [schema.Schema.Ensure] inside a transaction
	// of the application.
	ErrTransaction = anchor.New("state-tables", "keyfill creates no tables inside a transaction")

	// ErrAnswer is returned when a value from the database does not have the expected
	// type: a key that is not an integer.
	ErrAnswer = anchor.New("answer", "not an integer")
)

// Error reports that a sequence, or the stored counter of a snowflake, cannot be used
// as it is. Its text contains no key.
//
// errors.Is finds Err, and one of keysource's sentinels: [keysource.ErrExhausted],
// [keysource.ErrStoreBehind] for [ErrBehind], [keysource.ErrStoreBack] for [ErrBack],
// none for [ErrPeriodClosed], and [keysource.ErrStoreState] for all others.
type Error struct {
	Name    string   // the name of the row
	Columns []Column // the columns that the sequence serves
	Err     error    // an error of this package, or keysource.ErrExhausted
	Detail  string   // more about the cause; may be empty
	SQL     string   // the SQL that repairs it; may be empty

	// Next is the lowest integer that is not reserved, for [ErrBehind], [ErrBack] and
	// keysource.ErrExhausted; 0 if it is not known.
	Next   int64
	Server string // for ErrBack, as in keysource.Reservation
	Limit  int64  // the greatest integer that can be reserved, for keysource.ErrExhausted

	// Table is the table that has the row, as [sequence.KeyTable] names it; empty for
	// keyfill_sequences.
	Table string

	Workers bool // the error is about the stored counter of a snowflake
}

// Error returns, for example:
//
//	sequence "orders.id" for orders.id: the source has no row in keyfill_sequences: run INSERT INTO …
func (e *Error) Error() string {
	var b strings.Builder
	kind := "sequence"
	if e.Workers {
		kind = "snowflake"
	}
	fmt.Fprintf(&b, "%s %q", kind, e.Name)
	for i, c := range e.Columns {
		b.WriteString([]string{" for ", ", "}[min(i, 1)])
		b.WriteString(c.String())
	}
	b.WriteString(": ")
	text := anchor.Plain(e.Err.Error())
	if e.Table != "" {
		text = strings.ReplaceAll(text, engine.SequencesTable, e.Table)
	}
	b.WriteString(text)
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	if e.SQL != "" {
		b.WriteString(": run ")
		b.WriteString(printable(e.SQL))
	}
	return b.String()
}

// printable returns a statement on one line. If it contains a character that a terminal
// or a log would interpret (the name of a stored counter may contain any), printable
// returns it as a quoted Go string.
func printable(query string) string {
	if strings.ContainsFunc(query, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(query)
	}
	return query
}

// Unwrap returns Err and the sentinel of keysource for Err; for a sequence that ends where
// another sequence begins, it also returns the [counting.End].
func (e *Error) Unwrap() []error {
	switch e.Err {
	case keysource.ErrExhausted:
		if e.Detail == EndRemedy {
			return []error{e.Err, &counting.End{Last: e.Limit, Remedy: EndRemedy}}
		}
		return []error{e.Err}
	case ErrBehind:
		return []error{e.Err, keysource.ErrStoreBehind}
	case ErrBack:
		return []error{e.Err, keysource.ErrStoreBack}
	case ErrPeriodClosed:
		return []error{e.Err}
	}
	return []error{e.Err, keysource.ErrStoreState}
}

// BelowRemedy is the remedy if a sequence has given the last integer below its
// [sequence.Sequence].Below.
const BelowRemedy = "another gap (keyfill plan there), or exclusive: true instead of below: once nothing else inserts without a key"

// EndRemedy is the remedy if a sequence has given the last integer below the
// [sequence.Sequence].StartAt of another sequence.
const EndRemedy = "another sequence gives the integers from there on: give its entry of the policy to this process"

// ErrTextsUnread is returned when a numbering without a row has texts in its column from which
// the greatest number cannot be read. It is wrapped in an [*Error].
var ErrTextsUnread = anchor.New("no-row", "the column has texts of a numbering without a row, and their greatest number cannot be read: give {n} a width and write it last, or insert the row with the next number")

// TextRemedy is the remedy if the numbers of a sequence have more digits than their texts have
// room for.
const TextRemedy = "a format with more digits, in a source with another name and a start above all numbers"

// ErrBelow is returned when the engine's own counter of a column stands below
// [sequence.Sequence].Below, or when keyfill cannot read the counter. It is wrapped in
// an [*Error].
var ErrBelow = anchor.New("live-column", "the engine fills the column too, and its counter is not proven to stand at below: or above it")

// ErrHidden is returned when SHOW CREATE TABLE of MySQL does not show the options of
// the table, of which AUTO_INCREMENT is one. It is wrapped in an [*Error].
var ErrHidden = anchor.New("live-column", "the sql_mode hides the AUTO_INCREMENT in SHOW CREATE TABLE: take ANSI out of the sql_mode of the connection")

// ErrSequenceRight is returned when the user may not read the sequence that is the
// counter of a column of PostgreSQL. It is wrapped in an [*Error].
var ErrSequenceRight = anchor.New("live-column", "where the column's sequence stands cannot be read: grant the user SELECT on the sequence")
