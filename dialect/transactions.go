package dialect

// Transactions holds the statements by which an engine's transactions are undone in
// part, and the facts that decide whether they can be made again.
type Transactions struct {
	// Set, Undo and Release are the statements for a savepoint, with % for its name.
	// Release is empty if setting the savepoint again suffices: a second one of the name
	// replaces the first, or hides it.
	Set, Undo, Release string

	// Probe is a statement for a savepoint, with % for its name, that fails after Set,
	// with the engine's number Ended, if no transaction is open. It is empty if only a
	// statement of the application ends a transaction, or if nothing is sent after the
	// end, or if Set itself fails with Ended.
	Probe string
	Ended int

	// Commits asks a session whether each of its statements is its own transaction, 1 or
	// 0, and what follows a COMMIT. It is empty if each statement outside of transactions
	// always is, and nothing follows a COMMIT.
	Commits string

	// Open asks a session whether a transaction is open: 1, 0, or 2 if none is and the
	// next statement begins one implicitly. It is sent where the statements so far do not
	// show it. It is empty if only the begin of a transaction shows it.
	Open string

	// KeyOpen and KeyShut enclose the key of an INSERT. The expression is the key, with
	// its type, if a transaction is open, and an error otherwise, whatever the mode and
	// with IGNORE too. Both are empty if no expression can test for a transaction.
	KeyOpen, KeyShut string

	// KeyNumber is the engine's number of that error, KeyText a part of its message,
	// in whatever language, and of KeyShut.
	KeyNumber int
	KeyText   string

	// Driver reports whether a change opens a transaction implicitly, which the driver
	// commits at once except between its BeginTx and Commit or Rollback: no text decides.
	Driver bool

	// DDL reports whether a transaction may change tables, which other sessions do not
	// see before it commits, or wait for.
	DDL bool

	// Texts reports whether several statements in one text are one transaction, unless
	// one of them begins or ends one: when one fails, none has done anything.
	Texts bool

	// OneByOne reports whether drivers execute the statements of a text one after the
	// other, as if each had been sent alone.
	OneByOne bool

	// Number asks for the number of the open transaction, as a text, which is NULL before
	// the transaction has written something. Fate asks another session for the state of
	// the transaction with the number %: "in progress", "aborted", which is final, or
	// anything else. Both are empty if the engine cannot answer. An engine that only
	// imitates this one may refuse them.
	Number, Fate string

	// ReadOnly is a statement after which a session can change no database. It is empty
	// if the engine has none for a whole session, or a pooler would leave it to other
	// clients: PgBouncer does.
	ReadOnly string

	// Snapshots reports whether a transaction may see the rows that were committed when
	// it began, by the session's default, and under READ COMMITTED does not.
	Snapshots bool
}

// MySQL 8.4 Reference Manual, section 15.3.4 (a savepoint of the same name is replaced),
// 7.1.8 ("autocommit", "completion_type") and the server's error 1305. A deadlock ends
// the transaction of its victim (section 17.7.5.2), 1205 does with
// innodb_rollback_on_timeout; the next statement is then a transaction of its own. A
// savepoint that is set then is not kept, as was seen on MariaDB 10.11.
var mysqlTransactions = Transactions{
	Set:     "SAVEPOINT %",
	Undo:    "ROLLBACK TO SAVEPOINT %",
	Probe:   "RELEASE SAVEPOINT %",
	Ended:   1305,
	Commits: "SELECT @@autocommit, @@completion_type",

	ReadOnly: "SET SESSION TRANSACTION READ ONLY", // 15.3.7
}

// MariaDB has a variable that shows whether a transaction is open ("in_transaction" in
// its documentation). With autocommit off it is 1 in every statement that has changed a
// table. INSERT IGNORE makes a warning of error 1242, which a subquery of two rows is
// elsewhere, and stores 0 for the key, as was seen on 10.11; error 1690 stays one.
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
// A server in recovery learns the state of a transaction late, so its answer is not used.
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

// https://www.sqlite.org/lang_savepoint.html; "The C/C++ Interface", sqlite3_prepare_v2:
// it compiles the first statement of a text, so that drivers loop over the others.
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
