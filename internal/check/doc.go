// Package check compares a policy with the database that it is meant for: with the tables
// in the engine's catalog, with the states (the stored counters) of their keys, and with
// the server's settings.
//
//	findings, err := check.Run(ctx, check.Options{Tables: tables, Connector: connector})
//
// Each topic is a file, each rule a function. A rule never stops the others: it adds a
// [Finding], or a finding of the rule not-looked if it could not look. If keyfill checks
// the same thing when it fills an INSERT, the rule calls that check, so that both agree:
// [catalog.Table.Problems] for columns, [store.Store.Look] for states.
//
// Nothing is changed: each statement reads. No finding holds a DSN, a password or a key.
package check

//row:changes | what `keyfill check` finds | `internal/check`, a file for each topic
