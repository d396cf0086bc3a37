// Package keys knows the configured tables of one database: what the policy says of
// them, what the engine's catalog says of them, and where their keys come from.
//
// An [Engine] is the policy in one dialect: it compiles plans, and makes the [Table] of a
// name. [Tables] are the tables of one database. A table is compared with the catalog
// before its first key: see [Tables.Facts]. A [Session] is a connection of the application as
// far as tables are seen on it, and a [Site] is a key column as a Session sees it.
//
// [Sources] are the Tables with the sources of their keys. A [Conn] is a Session with the
// counters that the connection alone has. Keys that belong to its transaction are drawn on
// it, any other on connections of our own. A [Drawing] draws the keys of a Site.
//
// [Draw] asks for the keys of a statement. They come through a [Giver]: a Conn, or
// [Examples] for an explanation. A UUID comes from a source that all tables share. An
// integer comes from a counter, one for each name of a state. There are six kinds of
// numbers that a counter gives, each in a file of its name: sequence, native, snowflake,
// recycled, joinedRow and scoped (scoped in scope.go); files whose names begin with "make"
// make their counters. A test has stand-ins for the stores instead (standin.go).
//
// This package decides whether a key can come out twice. A reservation is written to a
// store before a key of it is given, in a transaction that has committed. Only a joined
// row is changed in the transaction of its INSERT, and is rolled back with it. A row says
// for which column it counts (see binding.go), and a source without a row claims its
// column (claim.go), so that two sources never fill one column unseen.
//
// The package internal/fill decides what becomes of a statement and calls this one,
// which stands on internal/session and never calls back. Tables, Sources and what they hold
// are safe for concurrent use. A Session and a Conn are used by one goroutine at a time, as
// database/sql uses connections.
package keys
