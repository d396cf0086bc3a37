// Package keys draws the keys of statements. It uses packages of its own, from the top:
//
//	counter      one counter for each state: makes, keeps and closes it
//	numbering    the kinds of numbers, each with its way to its state
//	relation     which relation of the database a configured table is on a connection
//	table        the configured tables of a policy, their plans and the catalog's facts
//	statestore   the stores of the states
//	report       the messages in the log, and the counts of INSERTs
//
// A state is a stored counter, from which the numbers of a source come. [Sources] are
// the tables of one database with the sources of their keys. A [Conn] is a connection
// of the application with the counters that only this connection uses. Keys that belong
// to its transaction are drawn on it, all other keys on connections of keyfill's own. A
// [Drawing] draws the keys of one column.
//
// [Draw] gets the keys of a statement from a [Giver]: a Conn, or [Examples] for an
// explanation. A UUID comes from a source that all tables share. An integer comes from
// a counter. In a test without a database, stand-ins replace the stores.
//
// This package decides whether a key can be given twice. A reservation is written to a
// store before one of its keys is given, in a transaction that has committed. Only a
// joined row is changed in the transaction of its INSERT, and is rolled back with it. A
// row records for which column it counts (see binding.go), and a source without a row
// claims its column (claim.go), so that two sources never fill one column without an
// error.
//
// Package fill decides how a statement is treated, and calls this package, which uses
// package session. Tables, Sources and what they hold are safe for concurrent use. A
// Session and a Conn are used by one goroutine at a time, as database/sql uses
// connections.
package keys
