package dialect

// Latest is how a query reads the rows that were stored last on the server of the
// session, and neither the rows that a transaction saw when it began nor the rows of a
// replica that a proxy asks.
type Latest struct {
	// Lock is the end of such a query. NoWait is the end of a query that does not wait
	// for other sessions' locks either. Both are empty if every query of a connection
	// sees these rows.
	Lock, NoWait string

	// Wait is the end of a query that waits until no transaction is open which has stored
	// the row that it names. It needs no other right than the query. It is empty if no
	// query waits for a row that is not committed.
	Wait string

	// LeftOut asks for the warnings of the statement before, with the number and the text
	// of an error in the second and third column: each row that IGNORE has left out makes
	// one. It locks nothing. It is empty if the engine has no warnings.
	LeftOut string

	// Dirty reports whether a session may be set to see rows that are not committed,
	// which a query that waits does not show.
	Dirty bool

	// Gaps reports whether such a query locks the gap around a row that it does not find,
	// and more than the rows that it finds where it names several. Each row is then asked
	// for in a query of its own.
	Gaps bool
}

// MySQL 8.4 Reference Manual, section 17.7.3 ("Locks Set by Different SQL Statements in
// InnoDB") and 15.2.13 (NOWAIT, from 8.0 and MariaDB 10.3 on). Observed on MariaDB 10.11:
// a range of a unique index, and a list of keys, lock the rows that follow them, and the
// whole table where it has few rows; a transaction that asks for a row of its own locks
// nothing more.
var mysqlLatest = Latest{Lock: " FOR UPDATE", NoWait: " FOR UPDATE NOWAIT", Gaps: true, Wait: " LOCK IN SHARE MODE", LeftOut: "SHOW WARNINGS", Dirty: true}

// PostgreSQL 18 documentation, section 13.3.2: FOR KEY SHARE waits only for
// transactions that delete the row or change its key.
var postgresLatest = Latest{Lock: " FOR KEY SHARE", NoWait: " FOR KEY SHARE NOWAIT"}

// Transact-SQL reference, "SET TRANSACTION ISOLATION LEVEL": READ UNCOMMITTED.
var sqlserverLatest = Latest{Dirty: true}
