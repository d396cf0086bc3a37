package dialect

import "strings"

// Latest holds how a query reads the rows that were stored last on the server of the
// session: not the rows that a transaction saw when it began, and not the rows of a
// replica that a proxy asks.
type Latest struct {
	// Lock is the clause at the end of a query that reads the rows that were stored last.
	// NoWait is the clause at the end of such a query that also does not wait for other
	// sessions' locks. Both are empty if every query of a connection reads these rows.
	Lock, NoWait string

	// Wait is the clause at the end of a query that waits until no open transaction has
	// stored the row that the query names. The query needs no privilege besides SELECT.
	// It is empty if no query waits for a row that is not committed.
	Wait string

	// LeftOut is a query for the warnings of the statement before, with the number and
	// the text of an error in the second and third column. INSERT IGNORE makes one for
	// each row that it has left out. The query locks nothing. It is empty if the engine
	// has no warnings.
	LeftOut string

	// Dirty reports whether a session may be set to see rows that are not committed; a
	// query that waits does not see them.
	Dirty bool

	// Primary is a comment at the beginning of a query for which proxies send it to the
	// primary and not to a standby. It is empty if no proxy reads such a comment.
	Primary string

	// Gaps reports whether a query with Lock or NoWait locks the gap around a row that it
	// does not find, and more than the rows that it finds if it names several. Then each
	// row is read by a query of its own.
	Gaps bool
}

// MySQL 8.4 Reference Manual, section 17.7.3 ("Locks Set by Different SQL Statements in
// InnoDB") and 15.2.13 (NOWAIT, from 8.0 and MariaDB 10.3 on). Observed on MariaDB 10.11:
// a range of a unique index, and a list of keys, lock the rows that follow them, and the
// whole table where it has few rows; a transaction that asks for a row of its own locks
// nothing more.
var mysqlLatest = Latest{Lock: " FOR UPDATE", NoWait: " FOR UPDATE NOWAIT", Gaps: true, Wait: " LOCK IN SHARE MODE", LeftOut: "SHOW WARNINGS", Dirty: true}

// PostgreSQL 18 documentation, section 13.3.2: FOR KEY SHARE waits only for
// transactions that delete the row or change its key. The comment is the one of Pgpool-II
// 4.3, "Load Balancing": it sends a query that begins so to the primary, also in a
// transaction that has written nothing.
var postgresLatest = Latest{Primary: "/*NO LOAD BALANCE*/ ", Lock: " FOR KEY SHARE", NoWait: " FOR KEY SHARE NOWAIT"}

// Transact-SQL reference, "SET TRANSACTION ISOLATION LEVEL": under READ UNCOMMITTED a
// session sees rows that are not committed.
var sqlserverLatest = Latest{Dirty: true}

// ToPrimary returns a query of keyfill's own, which begins with SELECT or WITH, with Primary
// before it. Statements that write go to the primary without it, and stay as they are.
func (l *Latest) ToPrimary(query string) string {
	if l.Primary != "" && (strings.HasPrefix(query, "SELECT") || strings.HasPrefix(query, "WITH")) {
		return l.Primary + query
	}
	return query
}
