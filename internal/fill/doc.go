// Package fill does one execution of a statement: it decides whether keys are filled,
// draws them, sends the changed statement, and finds out which rows were stored. Package
// keyfill calls it for each text that may concern a configured table.
//
// A [Database] holds the state of one database and is safe for concurrent use. A [Conn]
// is one connection of it, which database/sql never uses from two goroutines at once.
//
// A text that was seen before and whose only key needs nothing of the transaction is
// executed by [plain]. Any other INSERT is an [execution], which an [executor] sends.
package fill
