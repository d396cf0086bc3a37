package dialect

import (
	"slices"
	"strings"
)

// ErrorClass is the meaning of an engine's error for a statement that keyfill sends. It
// follows from the engine's code, never from the text, which is in the language of the
// server or of the login.
type ErrorClass uint8

const (
	// ErrorOther is the class of all other errors, also of errors that do not come from
	// the engine.
	ErrorOther ErrorClass = iota

	// ErrorTransaction means that the engine has rolled back the transaction in favour
	// of another one (a deadlock, a failed serialization): the same transaction may
	// succeed when it is repeated.
	ErrorTransaction

	// ErrorLock means that a lock wait timed out. Whether the transaction is still open
	// depends on the server's settings.
	ErrorLock

	// ErrorDuplicate means that a value is in a unique index already.
	ErrorDuplicate

	// The classes below are final: the engine answers the same until an operator changes
	// the database, the account, or the policy.

	// ErrorNoObject means that a table, a column, a sequence, a procedure or a schema
	// does not exist.
	ErrorNoObject

	// ErrorNoRight means that the user lacks a privilege.
	ErrorNoRight

	// ErrorReadOnly means that the server, the database or the session takes no changes.
	ErrorReadOnly

	// ErrorLogin means that the user, the password or the client's address is refused.
	ErrorLogin

	// ErrorNoDatabase means that the database does not exist.
	ErrorNoDatabase

	// ErrorRefused means that the statement does not suit the table, which was altered.
	ErrorRefused

	// ErrorPassing means that the engine cannot answer now: it starts, stops, has too
	// many connections or no room left, or the connection to it broke.
	ErrorPassing
)

// Final reports whether the same statement gets the same error until its cause is
// removed.
func (c ErrorClass) Final() bool { return ErrorNoObject <= c && c <= ErrorRefused }

// Transient reports whether a transaction that failed with the error may succeed if it
// is repeated.
func (c ErrorClass) Transient() bool { return c == ErrorTransaction || c == ErrorLock }

// ErrorCodes are the codes of one class.
type ErrorCodes struct {
	Class ErrorClass

	// States are SQLSTATEs. A string of two characters stands for all states that begin
	// with them.
	States []string

	// Numbers are the engine's own error numbers. If the engine has extended codes, a
	// number below 256 also stands for all codes that extend it.
	Numbers []int

	// Texts are parts of messages, for the one code whose meaning only the text shows:
	// SQLITE_ERROR. The messages of SQLite are always in English.
	Texts []string
}

// Errors are the codes of an engine's errors, the more specific ones first.
type Errors struct {
	Codes []ErrorCodes

	// Extended reports whether the low byte of an error number is its primary code.
	Extended bool

	// Generic is the error number that stands for many causes, which only the text
	// distinguishes; 0 if the engine has no such number.
	Generic int
}

// Class returns the class of an error. state is its SQLSTATE, empty if the driver
// reports none; number is its number, 0 if the driver reports none; text is its
// message, which is read only for the number Generic.
func (e *Errors) Class(state string, number int, text string) ErrorClass {
	for i := range e.Codes {
		c := &e.Codes[i]
		switch {
		case state != "" && slices.ContainsFunc(c.States, func(s string) bool { return strings.HasPrefix(state, s) }),
			number != 0 && slices.Contains(c.Numbers, number),
			e.Generic != 0 && number == e.Generic && slices.ContainsFunc(c.Texts, func(s string) bool { return strings.Contains(text, s) }):
			return c.Class
		}
	}
	if primary := number & 0xff; e.Extended && primary != number {
		return e.Class(state, primary, text)
	}
	return ErrorOther
}

// MySQL 8.4 Error Message Reference, chapters "Server Error Message Reference" and
// "Client Error Message Reference" (2000 … 2999, which proxies pass on as answers);
// MariaDB Knowledge Base, "MariaDB Error Code Reference". The SQLSTATE is HY000 for
// most of them, so the number decides.
var mysqlErrors = Errors{Codes: []ErrorCodes{
	// 1020 is an error of MariaDB with innodb_snapshot_isolation, 3101 a conflict in
	// Group Replication. 8002, 8005, 8022 and 9007 are errors of TiDB: its "Error Codes
	// and Troubleshooting" says that the transaction was rolled back, and may be
	// retried.
	{Class: ErrorTransaction, Numbers: []int{1213, 1020, 3101, 8002, 8005, 8022, 9007}},
	{Class: ErrorLock, Numbers: []int{1205, 3572}},
	{Class: ErrorDuplicate, Numbers: []int{1062, 1586, 1169, 1859}},
	{Class: ErrorNoObject, Numbers: []int{1146, 1051, 1054, 1305, 1347, 1932, 4091, 1477}},
	{Class: ErrorNoRight, Numbers: []int{1142, 1143, 1044, 1227, 1370, 1410}},
	{Class: ErrorReadOnly, Numbers: []int{1290, 1792, 1836, 1874, 1036}},
	{Class: ErrorLogin, Numbers: []int{1045, 1698, 1130, 1820, 1862, 1251, 3118, 4151}},
	{Class: ErrorNoDatabase, Numbers: []int{1049, 1046}},
	{Class: ErrorRefused, Numbers: []int{1064, 1048, 1364, 1366, 1264, 1265, 1292, 1406, 1452, 3819, 4025, 1442, 1318, 1690}},
	// 1047 is also the answer of a Galera node outside of the cluster's majority, 1226
	// is a limit of the user's account, and 1927 is a killed connection in MariaDB.
	{Class: ErrorPassing, Numbers: []int{
		1040, 1203, 1226, 1053, 1047, 1317, 1927, 1129, 1135, 1021, 1037, 1038, 1041, 1114, 1077, 1078, 1079,
		1152, 1153, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1969, 3024, 2002, 2003, 2006, 2013, 2055, 9001,
	}},
}}

// PostgreSQL 18 documentation, appendix A. 57014 is a timeout of the statement, 57P03 a
// server that starts or stops, and 08P01 stands for all errors of pgbouncer.
var postgresErrors = Errors{Codes: []ErrorCodes{
	{Class: ErrorTransaction, States: []string{"40001", "40P01", "40002", "40000"}},
	{Class: ErrorLock, States: []string{"55P03"}},
	{Class: ErrorDuplicate, States: []string{"23505"}},
	{Class: ErrorNoObject, States: []string{"42P01", "42703", "42883", "42704", "3F000", "42P02"}},
	{Class: ErrorNoRight, States: []string{"42501"}},
	{Class: ErrorReadOnly, States: []string{"25006"}},
	{Class: ErrorLogin, States: []string{"28"}},
	{Class: ErrorNoDatabase, States: []string{"3D"}},
	// Through a pooler, a session may have prepared statements and cursors of other
	// clients and lack its own; another session may succeed.
	{Class: ErrorPassing, States: []string{"42P05", "26", "34"}},
	{Class: ErrorRefused, States: []string{"21", "22", "23", "42", "44"}},
	{Class: ErrorPassing, States: []string{"08", "40003", "53", "57", "58", "55006"}},
}}

// https://www.sqlite.org/rescode.html. 2067, 1555 and 2579 extend SQLITE_CONSTRAINT
// (19), which a driver without extended codes returns for all of them; then the name of
// the index in the text decides. Code 1, SQLITE_ERROR, has no extensions for the causes
// that its text names.
var sqliteErrors = Errors{
	Extended: true,
	Generic:  1,
	Codes: []ErrorCodes{
		{Class: ErrorLock, Numbers: []int{5, 6}},
		{Class: ErrorRefused, Numbers: []int{275, 787, 1299, 1811, 3091, 531, 1043, 2835}},
		{Class: ErrorDuplicate, Numbers: []int{2067, 1555, 2579, 19}},
		{Class: ErrorNoObject, Texts: []string{"no such table", "no such column", "has no column named", "no such database"}},
		{Class: ErrorNoRight, Numbers: []int{3, 23}},
		{Class: ErrorReadOnly, Numbers: []int{8}},
		{Class: ErrorNoDatabase, Numbers: []int{14, 26}},
		{Class: ErrorRefused, Numbers: []int{11, 20, 25}},
		{Class: ErrorPassing, Numbers: []int{7, 9, 10, 13, 15, 17}},
	},
}

// "Database Engine events and errors" of SQL Server, and "Troubleshooting transient
// connection errors in Azure SQL Database". 4060 means that a database does not exist,
// or that the login may not open it.
var sqlserverErrors = Errors{Codes: []ErrorCodes{
	{Class: ErrorTransaction, Numbers: []int{1205, 3960, 3961, 41302, 41305, 41325, 41301}},
	{Class: ErrorLock, Numbers: []int{1222}},
	{Class: ErrorDuplicate, Numbers: []int{2627, 2601}},
	{Class: ErrorNoObject, Numbers: []int{207, 208, 2812, 2760, 15151}},
	{Class: ErrorNoRight, Numbers: []int{229, 230, 262, 297, 300, 916, 1088}},
	{Class: ErrorReadOnly, Numbers: []int{3906, 978, 3908}},
	{Class: ErrorLogin, Numbers: []int{18456, 18452, 18470, 18486, 18487, 18488}},
	{Class: ErrorNoDatabase, Numbers: []int{4060, 911}},
	{Class: ErrorRefused, Numbers: []int{102, 156, 213, 220, 245, 515, 547, 2628, 8114, 8115, 8152, 206, 334}},
	{Class: ErrorPassing, Numbers: []int{
		17809, 17142, 6005, 596, 701, 1204, 1105, 9002, 922, 921, 976, 983, 1807, 4221,
		10928, 10929, 40197, 40501, 40540, 40613, 40615, 42108, 42109, 49918, 49919, 49920, 233, 64, 10053, 10054, 10060,
	}},
}}

// Oracle Database Error Messages Reference 23. A client gets 1033, 1034 and
// 12514 while an instance starts.
var oracleErrors = Errors{Codes: []ErrorCodes{
	{Class: ErrorTransaction, Numbers: []int{60, 8177}},
	{Class: ErrorLock, Numbers: []int{54, 30006, 51}},
	{Class: ErrorDuplicate, Numbers: []int{1}},
	{Class: ErrorNoObject, Numbers: []int{942, 904, 2289, 4043, 6550, 6576}},
	{Class: ErrorNoRight, Numbers: []int{1031, 1950, 41900}},
	{Class: ErrorReadOnly, Numbers: []int{16000, 1456, 12081}},
	{Class: ErrorLogin, Numbers: []int{1017, 1005, 1045, 28000, 28001}},
	{Class: ErrorRefused, Numbers: []int{900, 922, 932, 1400, 1438, 1722, 2290, 2291, 12899}},
	{Class: ErrorPassing, Numbers: []int{
		18, 20, 28, 1012, 1013, 1033, 1034, 1089, 1090, 1092, 2391, 2396, 3113, 3114, 3135, 1653, 1654,
		12505, 12514, 12516, 12518, 12519, 12520, 12528, 12537, 12541, 12545, 12547, 12570,
	}},
}}
