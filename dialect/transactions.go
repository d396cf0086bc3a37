package dialect

// Transactions is what an engine's transactions take to be undone in part, or to
// be made again.
type Transactions struct {
	// Set, Undo and Release are the statements for a savepoint, with % for its
	// name. Release is "" where setting it again is all there is to do: a second
	// one of the name takes the place of the first, or hides it.
	Set, Undo, Release string

	// Probe is a statement for a savepoint, with % for its name, that fails behind
	// Set where no transaction is open, with Ended in its error. "" where one does
	// not end but by what the application sends, or where nothing is sent behind it.
	Probe, Ended string

	// Commits asks a session whether what it sends commits by itself, 1 or 0, and
	// what follows a commit; "" where the first is so outside of transactions, and
	// nothing follows.
	Commits string

	// Snapshots says that a transaction may see what was committed when it began,
	// by the session's default, and under READ COMMITTED does not.
	Snapshots bool

	// Transient are parts of the engine's errors, or their SQLSTATE, that end a
	// transaction which may succeed when it is made again: deadlocks, others that
	// came first, and locks that were waited for in vain.
	Transient []string
}

// MySQL 8.4 Reference Manual, section 15.3.4 (a savepoint of the same name is
// replaced), 7.1.8 ("autocommit", "completion_type") and the server's errors
// 1205, 1213 and 1305; 1020 is MariaDB's with innodb_snapshot_isolation. A deadlock
// ends the transaction of its victim (section 17.7.5.2), 1205 does with
// innodb_rollback_on_timeout; what is sent behind it commits by itself. A savepoint
// that is set then is not kept, as was seen on MariaDB 10.11.
var mysqlTransactions = Transactions{
	Set:       "SAVEPOINT %",
	Undo:      "ROLLBACK TO SAVEPOINT %",
	Probe:     "RELEASE SAVEPOINT %",
	Ended:     "Error 1305",
	Commits:   "SELECT @@autocommit, @@completion_type",
	Transient: []string{"Error 1213", "Error 1205", "Error 1020"},
}

// PostgreSQL 18 documentation, "SAVEPOINT" and appendix A: serialization_failure,
// deadlock_detected, lock_not_available.
var postgresTransactions = Transactions{
	Set:       "SAVEPOINT %",
	Undo:      "ROLLBACK TO SAVEPOINT %",
	Release:   "RELEASE SAVEPOINT %",
	Snapshots: true,
	Transient: []string{"40001", "40P01", "55P03"},
}

// https://www.sqlite.org/lang_savepoint.html; the texts of SQLITE_BUSY and
// SQLITE_LOCKED.
var sqliteTransactions = Transactions{
	Set:       "SAVEPOINT %",
	Undo:      "ROLLBACK TO SAVEPOINT %",
	Release:   "RELEASE SAVEPOINT %",
	Transient: []string{"database is locked", "database table is locked"},
}

// Transact-SQL reference, "SAVE TRANSACTION" and "ROLLBACK TRANSACTION"; errors
// 1205, 1222 and 3960.
var sqlserverTransactions = Transactions{
	Set:       "SAVE TRANSACTION %",
	Undo:      "ROLLBACK TRANSACTION %",
	Transient: []string{"deadlock victim", "Lock request time out period exceeded", "Snapshot isolation transaction aborted"},
}

// Oracle SQL Language Reference 23, "SAVEPOINT": one of the same name erases the
// earlier one.
var oracleTransactions = Transactions{
	Set:       "SAVEPOINT %",
	Undo:      "ROLLBACK TO SAVEPOINT %",
	Transient: []string{"ORA-00060", "ORA-08177", "ORA-30006", "ORA-00054"},
}
