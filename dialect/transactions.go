package dialect

// Transactions holds the statements by which an engine's transactions are undone in
// part, and the facts that decide whether they can be made again.
type Transactions struct {
	// Set, Undo and Release are the statements for a savepoint, with % for its name.
	// Release is empty if setting the savepoint again suffices: a second savepoint of
	// the name replaces the first, or hides it.
	Set, Undo, Release string

	// Probe is a statement for a savepoint, with % for its name. If no transaction is
	// open, it fails after Set with the engine's error number Ended. It is empty if
	// only a statement of the application ends a transaction, if nothing is sent after
	// the end, or if Set itself fails with Ended.
	Probe string
	Ended int

	// Commits is a query for whether each statement of the session is a transaction of
	// its own, 1 or 0, and for what follows a COMMIT. It is empty if each statement
	// outside of transactions is always a transaction of its own, and nothing follows a
	// COMMIT.
	Commits string

	// Open is a query for whether a transaction is open: 1, 0, or 2 if none is and the
	// next statement begins one implicitly. It is sent if the statements so far do not
	// show it. It is empty if only the beginning of a transaction shows it.
	Open string

	// KeyOpen and KeyShut enclose the key of an INSERT. The expression is the key, with
	// its type, if a transaction is open, and an error otherwise, whatever the mode and
	// with IGNORE too. Both are empty if no expression can test for a transaction.
	KeyOpen, KeyShut string

	// KeyNumber is the engine's number of the error that this expression causes. KeyText
	// is a part of that error's message, whatever its language, and of KeyShut.
	KeyNumber int
	KeyText   string

	// Driver reports whether a change opens a transaction implicitly, which the driver
	// commits at once except between its BeginTx and Commit or Rollback. So texts do
	// not show whether a transaction is open.
	Driver bool

	// DDL reports whether a transaction may change tables. Other sessions do not see
	// such a change before the transaction commits, or wait for the commit.
	DDL bool

	// Texts reports whether several statements in one text are one transaction, unless
	// one of them begins or ends a transaction: if one statement fails, all are undone.
	Texts bool

	// OneByOne reports whether drivers execute the statements of a text one after the
	// other, as if each had been sent alone.
	OneByOne bool

	// Divisible reports whether the statements of a text may be sent one after the other
	// instead, to the same effect: each is a statement of its own, and the first error ends
	// the text.
	Divisible bool

	// Number is a query for the number of the open transaction, as a text, which is
	// NULL before the transaction has written something. Fate is a query, sent by
	// another session, for the state of the transaction with the number %: "in
	// progress", "aborted", which is final, or anything else. Both are empty if the
	// engine cannot answer. Another engine that imitates this engine may refuse both
	// queries.
	Number, Fate string

	// ReadOnly is a statement after which a session can change no database. It is empty
	// if the engine has none for a whole session, or if a pooler, such as PgBouncer,
	// would keep its effect for other clients.
	ReadOnly string

	// Snapshots reports whether the session's default isolation may let a transaction
	// see only the rows that were committed when it began. A transaction under READ
	// COMMITTED sees rows that were committed later, too.
	Snapshots bool
}

// MySQL 8.4 Reference Manual, section 15.3.4 (a savepoint of the same name is
// replaced), 7.1.8 ("autocommit", "completion_type") and the server's error 1305. A
// deadlock ends the transaction of its victim (section 17.7.5.2), and error 1205 does
// so with innodb_rollback_on_timeout; the next statement is then a transaction of its
// own. A savepoint that is set then is not kept, as was seen on MariaDB 10.11.
var mysqlTransactions = Transactions{
	Set:     "SAVEPOINT %",
	Undo:    "ROLLBACK TO SAVEPOINT %",
	Probe:   "RELEASE SAVEPOINT %",
	Ended:   1305,
	Commits: "SELECT @@autocommit, @@completion_type",

	Divisible: true, // MySQL 8.4 C API, "Multiple Statement Execution Support"

	ReadOnly: "SET SESSION TRANSACTION READ ONLY", // 15.3.7
}

// MariaDB has a variable that shows whether a transaction is open ("in_transaction" in
// its documentation). With autocommit off it is 1 in every statement that has changed a
// table. Error 1242, of a subquery with two rows, would not do here: INSERT IGNORE
// turns it into a warning and stores 0 for the key, as was seen on 10.11. Error 1690
// stays an error.
var mariadbTransactions = func() Transactions {
	t := mysqlTransactions
	t.KeyOpen = "IF(@@in_transaction = 1, "
	t.KeyText = "9223372036854775807 + 1"
	t.KeyShut = ", " + t.KeyText + ")"
	t.KeyNumber = 1690
	return t
}()

// PostgreSQL 18 documentation, "SAVEPOINT"; 54.2.2.1, "Multiple Statements in a Simple
// Query": in the extended protocol a text has one statement. 9.28.5, "Transaction ID
// and Snapshot Information Functions": txid_status, from 10 on, is pg_xact_status from
// 13 on. A server in recovery learns the state of a transaction late, so its answer is
// not used.
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
// it compiles the first statement of a text, so drivers call it for each statement.
// "PRAGMA query_only".
var sqliteTransactions = Transactions{
	Set:      "SAVEPOINT %",
	Undo:     "ROLLBACK TO SAVEPOINT %",
	Release:  "RELEASE SAVEPOINT %",
	OneByOne: true,
	ReadOnly: "PRAGMA query_only = 1",
}

// Transact-SQL reference, "SAVE TRANSACTION", "ROLLBACK TRANSACTION", "@@TRANCOUNT"
// and "SET IMPLICIT_TRANSACTIONS", which bit 2 of @@OPTIONS shows. A SELECT from no
// table, as in Open, begins no transaction.
var sqlserverTransactions = Transactions{
	Set:   "SAVE TRANSACTION %",
	Undo:  "ROLLBACK TRANSACTION %",
	Ended: 628,
	Open:  "SELECT CASE WHEN @@TRANCOUNT > 0 THEN 1 WHEN @@OPTIONS & 2 = 2 THEN 2 ELSE 0 END",
}

// Oracle SQL Language Reference 23, "SAVEPOINT": a savepoint erases an earlier one of
// the same name.
var oracleTransactions = Transactions{
	Driver: true,
	Set:    "SAVEPOINT %",
	Undo:   "ROLLBACK TO SAVEPOINT %",
}
