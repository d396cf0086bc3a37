// Package numbering holds the kinds of numbers: integers in blocks, in the statement's
// transaction, within the values of other columns, of the engine's sequence, of series, and of
// the time. Each kind reserves from its state, and reports how far it has come.
package numbering
