package rewrite

import "github.com/keyfill/keyfill/dialect"

// LeavesTables reports whether a text leaves all tables as they are, and leaves
// every name of a table what it means. Such a text makes, changes, renames and
// drops no table, temporary ones and views included; it changes no search path,
// ends no transaction, and calls no function that may do any of these.
//
// LeavesTables answers no for every text that it does not know, which costs the
// caller a question to the server: for what is neither INSERT, UPDATE, DELETE or a
// query, nor EXPLAIN of one of these, nor the begin of a transaction or a savepoint;
// for a comment that the engine may run; and on SQL Server and Oracle, where a
// statement may follow another without a semicolon or run in a block. It does not
// see what triggers, rules and views call.
func LeavesTables(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&TablesLeft != 0
}
