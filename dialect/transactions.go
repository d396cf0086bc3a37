package dialect

// Transactions holds the statements by which an engine's transactions are undone in
// part, and the facts that decide whether they can be made again.
type Transactions struct {
	// Set, Undo and Release are the statements for a savepoint, with % for its
	// name. Release is "" where setting it again is all there is to do: a second
	// one of the name takes the place of the first, or hides it.
	Set, Undo, Release string

	// Probe is a statement for a savepoint, with % for its name, that fails behind
	// Set where no transaction is open, with the engine's number Ended. "" where one
	// ends only by a statement of the application, or where nothing is sent behind
	// it, or where Set itself fails with Ended.
	Probe string
	Ended int

	// Commits asks a session whether each of its statements commits by itself, 1 or 0,
	// and what follows a COMMIT. "" where each statement outside of transactions commits
	// by itself, and nothing follows a COMMIT.
	Commits string

	// Open asks a session whether a transaction is open: 1, 0, or 2 where none is and
	// the next statement begins one by itself. It is sent where the statements so
	// far do not tell. "" where only the begin of a transaction makes it known.
	Open string

	// KeyOpen and KeyShut stand around the key of an INSERT and make an expression of
	// it which is the key, with its type, where a transaction is open, and an error
	// elsewhere, whatever the mode and with IGNORE too. "" where no expression tells.
	KeyOpen, KeyShut string

	// KeyNumber is the engine's number of that error, KeyText a part of its message,
	// in whatever language, and of KeyShut.
	KeyNumber int
	KeyText   string

	// Driver says that a change opens a transaction by itself, and the driver commits
	// it at once but between its BeginTx and Commit or Rollback: no text decides.
	Driver bool

	// DDL says that a transaction may change tables, which others do not see before
	// it commits, or wait for.
	DDL bool

	// Texts says that several statements in one text are one transaction, unless one
	// of them begins or ends one: when one fails, none has done anything.
	Texts bool

	// OneByOne says that drivers execute the statements of a text one after the other, as
	// if each had been sent alone.
	OneByOne bool

	// Number asks for the number of the open transaction, as a text, which is NULL before
	// it has written something. Fate asks outside of it, with % for that number, what
	// became of it: "in progress", "aborted", which is final, or anything else. Both are
	// "" where the engine does not tell. An engine that only speaks like this one may
	// refuse them.
	Number, Fate string

	// ReadOnly is a statement after which a session can change no database. "" where the
	// engine has none for a whole session, or a pooler would leave it to other clients:
	// PgBouncer does.
	ReadOnly string

	// Snapshots says that a transaction may see the rows that were committed when it began,
	// by the session's default, and under READ COMMITTED does not.
	Snapshots bool
}

// MySQL 8.4 Reference Manual, section 15.3.4 (a savepoint of the same name is
// replaced), 7.1.8 ("autocommit", "completion_type") and the server's error
// 1305. A deadlock ends the transaction of its victim (section 17.7.5.2), 1205 does with
// innodb_rollback_on_timeout; a statement behind it commits by itself. A savepoint
// that is set then is not kept, as was seen on MariaDB 10.11.
var mysqlTransactions = Transactions{
	Set:     "SAVEPOINT %",
	Undo:    "ROLLBACK TO SAVEPOINT %",
	Probe:   "RELEASE SAVEPOINT %",
	Ended:   1305,
	Commits: "SELECT @@autocommit, @@completion_type",

	ReadOnly: "SET SESSION TRANSACTION READ ONLY", // 15.3.7
}

// MariaDB has a variable that says whether a transaction is open ("in_transaction" in
// its documentation). With autocommit off it is 1 in every statement that has
// changed a table. INSERT IGNORE makes a warning of error 1242, which a subquery of two
// rows is elsewhere, and stores 0 for the key, as was seen on 10.11; error 1690
// stays one.
var mariadbTransactions = func() Transactions {
	t := mysqlTransactions
	t.KeyOpen = "IF(@@in_transaction = 1, "
	t.KeyText = "9223372036854775807 + 1"
	t.KeyShut = ", " + t.KeyText + ")"
	t.KeyNumber = 1690
	return t
}()

// PostgreSQL 18 documentation, "SAVEPOINT"; 54.2.2.1, "Multiple Statements in a Simple
// Query": by the other protocol a text has one statement. 9.28.5, "Transaction ID and
// Snapshot Information Functions": txid_status, from 10 on, is pg_xact_status from 13 on.
// A server in recovery learns late what became of a transaction, and is not believed.
var postgresTransactions = Transactions{
	Set:       "SAVEPOINT %",
	Undo:      "ROLLBACK TO SAVEPOINT %",
	Release:   "RELEASE SAVEPOINT %",
	DDL:       true,
	Texts:     true,
	Snapshots: true,
	Number:    "SELECT CAST(pg_catalog.txid_current_if_assigned() AS text)",
	Fate:      "SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN pg_catalog.txid_status(%) END",
}

// https://www.sqlite.org/lang_savepoint.html; "The C/C++ Interface", sqlite3_prepare_v2: it
// compiles the first statement of a text, so that drivers go through the others by themselves.
// "PRAGMA query_only".
var sqliteTransactions = Transactions{
	Set:      "SAVEPOINT %",
	Undo:     "ROLLBACK TO SAVEPOINT %",
	Release:  "RELEASE SAVEPOINT %",
	OneByOne: true,
	ReadOnly: "PRAGMA query_only = 1",
}

// Transact-SQL reference, "SAVE TRANSACTION", "ROLLBACK TRANSACTION", "@@TRANCOUNT"
// and "SET IMPLICIT_TRANSACTIONS", which bit 2 of @@OPTIONS shows: a SELECT from no
// table begins no transaction.
var sqlserverTransactions = Transactions{
	Set:   "SAVE TRANSACTION %",
	Undo:  "ROLLBACK TRANSACTION %",
	Ended: 628,
	Open:  "SELECT CASE WHEN @@TRANCOUNT > 0 THEN 1 WHEN @@OPTIONS & 2 = 2 THEN 2 ELSE 0 END",
}

// Oracle SQL Language Reference 23, "SAVEPOINT": one of the same name erases the
// earlier one.
var oracleTransactions = Transactions{
	Driver: true,
	Set:    "SAVEPOINT %",
	Undo:   "ROLLBACK TO SAVEPOINT %",
}
