// Package fill treats one execution of a statement: it decides whether keys are filled,
// draws them, sends the changed statement, and finds out which rows were stored.
// Package keyfill calls it for each text that may concern a configured table.
//
// A [Database] fills the statements of one database and is safe for concurrent use. A
// [Conn] is one connection to it, which database/sql never uses from two goroutines at
// once.
//
// A text that was seen before, and whose only key needs nothing of the transaction, is
// executed by a fast path (plain.go). Any other INSERT is an [execution.Execution],
// which an [execution.Executor] sends.
package fill
