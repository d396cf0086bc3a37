// Package keys knows the configured tables of one database: what the policy says of
// them, what the engine's catalog says of them, and where their keys come from.
//
// [Tables] is one database. An [Engine] is what the policy says in one dialect: it
// compiles plans, and makes the [Table] of a name. A table is compared with the catalog
// before its first key: see [Tables.Facts]. A [Conn] is a connection of the application;
// keys that belong to its transaction are drawn on it, any other on connections of our
// own.
//
// [Draw] asks for the keys of a statement. They come through a [Giver]: a Conn, or
// [Examples] for an explanation. A UUID comes from a source that all tables share. An
// integer comes from a counter, one for each name of a state. There are five kinds of
// numbers that a counter gives, each in a file of its name: sequence, snowflake,
// recycled, joinedRow and scoped (scoped in scope.go). A test has stand-ins for the
// stores instead (standin.go).
//
// This package decides whether a key can come out twice. A reservation is written to a
// store before a key of it is given, in a transaction that has committed. Only a joined
// row is changed in the transaction of its INSERT, and is rolled back with it. A row says
// for which column it counts (see binding.go), and a source without a row claims its
// column (claim.go), so that two sources never fill one column unseen.
//
// The package internal/fill decides what becomes of a statement and calls this one,
// which stands on internal/session and never calls back. Tables, tables, counters and
// sources are safe for concurrent use. A Conn belongs to one goroutine at a time, as
// database/sql has it.
package keys
