// Package executor draws the keys of an execution and sends its statement, in the
// transaction that the keys need. There are five executors: see [execution.Executor].
package executor
