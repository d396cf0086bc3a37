// Package check compares a policy with the database that it is meant for: what the
// engine's catalog says of the tables, the states of their keys, and the server.
//
//	findings, err := check.Run(ctx, check.Options{Tables: tables, Connector: connector})
//
// Each topic is a file, each rule a function. A rule never stops the others: it adds a
// [Finding], or a finding of the rule not-looked where it could not look. Where the run
// has a check of its own, the rule calls that, so that both say the same:
// [catalog.Table.Problems] of columns, [store.Store.Look] of states.
//
// Nothing is changed: each statement reads. No finding holds a DSN, a password or a key.
package check
