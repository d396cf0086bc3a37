package store

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/keysource"
)

// Errors about the row of a sequence. All but ErrName come in an [*Error].
var (
	// ErrNoRow is returned when a sequence has no row and is not to be given
	// one.
	ErrNoRow = anchor.New("no-row", "it has no row in keyfill_sequences")

	// ErrStart is returned when a sequence is to be given a row, neither its
	// start is given, nor is there a column whose greatest key can be asked
	// for.
	ErrStart = anchor.New("no-row", "it has no row, and where to start is not known: give a start")

	// ErrBound is returned when the row serves another column.
	ErrBound = anchor.New("shared-state", "its row serves another column: give each a name of its own, or share one by both")

	// ErrTaken is returned when the column is served by another state too, a
	// sequence's or a snowflake's, and the one at hand is not exclusive.
	ErrTaken = anchor.New("shared-state", "the column is served by another state too: delete the row of keyfill_sequences that says so, or say exclusive: true if that one no longer fills it")

	// ErrParameters is returned when the row was made with other parameters:
	// keys made with these could repeat those made with them.
	ErrParameters = anchor.New("parameters", "its row has other parameters, which never change: put them back, or take a new name and a start above all keys")

	// ErrLayout is returned when the keys of a column were made with other bits, or
	// another epoch, than a [worker.Worker] has.
	ErrLayout = anchor.New("parameters", "its column has keys of other bits or another epoch, and both can be equal: put these back, or fill another column")

	// ErrStartAt is returned when a sequence with StartAt meets another state of its
	// column that has reserved integers from there on, or that is no sequence whose row
	// could keep an end.
	ErrStartAt = anchor.New("shared-state", "another state of the column has numbers from start_at on: write a greater start_at, or print keyfill plan change")

	// ErrBegun is returned when a sequence with StartAt serves the column too, and the
	// state at hand has no end where that one begins, exclusive or not.
	ErrBegun = anchor.New("shared-state", "a sequence with start_at serves the column too, and this state does not end there: give this process the entry with start_at")

	// ErrBehind is returned when the next value is not above the greatest key
	// in the column.
	ErrBehind = anchor.New("behind", "its next value is not above the greatest key in the column: others fill it too, or the row is from an older copy")

	// ErrBack is returned when the row has a lower value than the caller has
	// seen in it.
	ErrBack = anchor.New("back", "its next value is below what was reserved: the store has gone back")

	// ErrFresh is returned when a sequence whose keys are not its integers has no
	// row, and its columns hold keys: which integers they came from is not known.
	ErrFresh = anchor.New("no-row", "it has no row in keyfill_sequences, and its column holds keys: make a row that goes on after them, or empty the column")

	// ErrContention is returned when the row was changed by others each time
	// between its SELECT and its UPDATE, ten times.
	ErrContention = anchor.New("contention", "others changed its row between SELECT and UPDATE, ten times: reserve larger blocks, or say lock: pessimistic")

	// ErrGone is returned when the state of a sequence with ClaimsAt does not exist, and
	// by the claim of a column it was used.
	ErrGone = anchor.New("no-row", "its state was lost: stop the programs, give a start above all keys, and delete the row of keyfill_sequences that names it")

	// ErrRowGone is returned when a Shared sequence has no row, and the rows are there that
	// bind it to its columns: processes may have numbers of the row that was deleted.
	ErrRowGone = anchor.New("no-row", "its row in keyfill_sequences is gone: stop the programs that use it, and make it again above all keys")

	// ErrUnread is returned when the state of a sequence with ClaimsAt is not there, and
	// the keys of another column that a claim names for it cannot be read.
	ErrUnread = anchor.New("no-row", "its new state has to begin above a column that cannot be read: let it be read, or delete its row of keyfill_sequences")

	// ErrName is returned for the name of a state that is empty, is longer
	// than 190 characters, has spaces at an end or is not UTF-8 text without
	// NUL.
	ErrName = anchor.New("state-name", "not the name of a state")
)

// ErrNextValue is returned when the next value of a row is no number that could be
// given. It comes in an [*Error].
var ErrNextValue = anchor.New("no-row", "its next_value in keyfill_sequences is below 1: set it above all numbers in use, to 1 where there are none")

// Errors about a key table or a procedure of the application's. All come in an
// [*Error], or with keysource.ErrStoreState and the driver's error.
var (
	// ErrKeyTable is returned when a key table cannot be read although the server
	// answers, or the catalog does not know a column of it.
	ErrKeyTable = anchor.New("key-table", "its key table cannot be read: name the table and its columns as SQL finds them, and let them be read")

	// ErrKeyType is returned when a column of a key table is of a type that is of
	// no use there.
	ErrKeyType = anchor.New("key-table", "a column of its key table is of the wrong type")

	// ErrKeyEngine is returned when a key table of MySQL or MariaDB is of a storage
	// engine without transactions, such as MyISAM, or is a view: another session may
	// change the row between an UPDATE and the SELECT of its result.
	ErrKeyEngine = anchor.New("key-table", "its key table has no transactions, or is a view: make it a table of InnoDB, or say lock: optimistic, outside of transactions")

	// ErrKeyRows is returned when a key table has more than one row for a
	// sequence.
	ErrKeyRows = anchor.New("key-table", "its key table has more than one row for it")

	// ErrKeyValue is returned when the row of a key table does not hold what
	// keys could follow.
	ErrKeyValue = anchor.New("key-table", "its row in the key table cannot be used: set it above all keys in use")

	// ErrProcedure is returned when a procedure cannot be called although the
	// server answers, or answers otherwise than it should.
	ErrProcedure = anchor.New("procedure", "its procedure cannot be used: create it as keyfill ddl --procedure prints it, let it be executed, and name it as SQL finds it")
)

// Errors about the tables.
var (
	// ErrTables is returned when the tables cannot be read although the server
	// answers. It comes with keysource.ErrStoreState and the driver's error.
	ErrTables = anchor.New("state-tables", "keyfill_sequences and keyfill's other tables cannot be read: create them by keyfill ddl, or say ensure_schema: true")

	// ErrColumn is returned when the greatest key of a column cannot be read
	// although the server answers. It comes with keysource.ErrStoreState and
	// the driver's error.
	ErrColumn = anchor.New("greatest-key", "the greatest key cannot be read: name the table as it is found, and let it be read")

	// ErrHiddenRows is returned when row-level security may hide keys of a column from the
	// user, and where a sequence begins depends on the greatest one. It comes with
	// keysource.ErrStoreState.
	ErrHiddenRows = anchor.New("greatest-key", "row-level security hides keys: open as a user with BYPASSRLS or as the table's owner, or write start: above all keys")

	// ErrHiddenParent is ErrHiddenRows for numbers within a parent that no unique index keeps
	// from being stored twice.
	ErrHiddenParent = anchor.New("greatest-key", "row-level security hides rows: write start: 1 where all rows of a parent are shown, or index its columns and the key, unique")

	// ErrRights is returned when the engine refuses the store's user the state tables. It
	// comes with keysource.ErrStoreState and the driver's error, as do the four below.
	ErrRights = anchor.New("state-tables", "the store's user may not use the state tables: grant it SELECT, INSERT and UPDATE on them, and DELETE on keyfill_series")

	// ErrReadOnly is returned when the store's server, its database or the session
	// takes no changes.
	ErrReadOnly = anchor.New("read-only", "the store is read-only: name the server that takes changes, or end its read-only mode")

	// ErrLogin is returned when the store's server refuses the user, the password
	// or the address that the connection comes from.
	ErrLogin = anchor.New("login", "the store's server refuses the user, the password or the client's address: mend the DSN, or the account")

	// ErrNoConnect is returned when the store's server knows the user, but does not let
	// it connect to the database of the DSN.
	ErrNoConnect = anchor.New("login", "the store's user may not connect to the store's database: grant it that, or mend the DSN")

	// ErrNoDatabase is returned when the store's server has no database of the
	// DSN's name.
	ErrNoDatabase = anchor.New("login", "the store's database is not there: create it, or mend the DSN")

	// ErrAltered is returned when a state table takes neither the row nor the
	// change: it was altered, or has a trigger or a constraint.
	ErrAltered = anchor.New("state-tables", "a state table refuses what is written into it: give it the columns that keyfill ddl prints, and nothing else")

	// ErrRows is returned when a statement meets more than one row: the tables
	// lack their primary keys.
	ErrRows = anchor.New("state-tables", "more than one row was found: create the primary key that keyfill_sequences, keyfill_workers or keyfill_series lacks")

	// ErrTransaction is returned by [schema.Schema.Ensure] inside a transaction
	// of the application.
	ErrTransaction = anchor.New("state-tables", "tables are not created inside a transaction")

	// ErrAnswer is returned when a value is not of its column's type: a key
	// that is no integer.
	ErrAnswer = anchor.New("answer", "not an integer")
)

// Error is a sequence, or the state of a snowflake, that cannot be used as it is.
// Its text holds no key.
//
// errors.Is finds Err, and one of keysource's sentinels:
// [keysource.ErrExhausted], [keysource.ErrStoreBehind] for [ErrBehind],
// [keysource.ErrStoreBack] for [ErrBack], [keysource.ErrStoreState] for the
// others.
type Error struct {
	Name    string   // of the row
	Columns []Column // that the sequence serves
	Err     error    // one of this package, or keysource.ErrExhausted
	Detail  string   // more about the cause; "" when there is none
	SQL     string   // the remedy as SQL; may be empty

	// Next is the lowest integer that is not reserved, with [ErrBehind],
	// [ErrBack] and keysource.ErrExhausted; 0 when it is not known.
	Next   int64
	Server string // as in keysource.Reservation, with ErrBack
	Limit  int64  // the greatest integer to be reserved, with keysource.ErrExhausted

	// Table is where the row is, as [sequence.KeyTable] names it; empty for
	// keyfill_sequences.
	Table string

	Workers bool // it is a snowflake's state
}

// Error returns for example
//
//	sequence "orders.id" for orders.id: it has no row in keyfill_sequences: run INSERT INTO …
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

// printable returns a statement on one line. One with a character that a terminal or
// a log would obey, from a value in the name of a state, comes as Go writes strings.
func printable(query string) string {
	if strings.ContainsFunc(query, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(query)
	}
	return query
}

// End returns the last integer of a sequence that ends where another one begins, and the
// remedy; the remedy is empty for any other error.
func (e *Error) End() (last int64, remedy string) {
	if e.Err != keysource.ErrExhausted || e.Detail != EndRemedy {
		return 0, ""
	}
	return e.Limit, EndRemedy
}

// Unwrap returns the causes.
func (e *Error) Unwrap() []error {
	switch e.Err {
	case keysource.ErrExhausted:
		return []error{e.Err}
	case ErrBehind:
		return []error{e.Err, keysource.ErrStoreBehind}
	case ErrBack:
		return []error{e.Err, keysource.ErrStoreBack}
	}
	return []error{e.Err, keysource.ErrStoreState}
}

// BelowRemedy is the remedy when a sequence has given the last integer below
// [sequence.Sequence].Below.
const BelowRemedy = "another gap (keyfill plan there), or exclusive: true in the place of below: once nothing else inserts without a key"

// EndRemedy is the remedy when a sequence has given the last integer below the
// [sequence.Sequence].StartAt of another one.
const EndRemedy = "another sequence gives the integers from there on: give its entry of the policy to this process"

// ErrBelow is returned when the engine's own counter of a column does not stand at
// [sequence.Sequence].Below or above it, or keyfill cannot read where it stands. It comes in an
// [*Error].
var ErrBelow = anchor.New("live-column", "the engine fills the column too, and its counter is not proven to stand at below: or above it")

// ErrHidden is returned where the text of SHOW CREATE TABLE of MySQL has no options of the
// table. It comes in an [*Error].
var ErrHidden = anchor.New("live-column", "the sql_mode hides the AUTO_INCREMENT in SHOW CREATE TABLE: take ANSI out of the sql_mode of the connection")

// ErrSequenceRight is returned for the counter of a column of PostgreSQL whose sequence
// the user may not read. It comes in an [*Error].
var ErrSequenceRight = anchor.New("live-column", "where the column's sequence stands cannot be read: grant the user SELECT on the sequence")
