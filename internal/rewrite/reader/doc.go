// Package reader reads the text of a query token by token, and the parts that all
// statements have: words, names, values, column lists, brackets, placeholders, the bodies
// of routines.
//
// A [Reader] is a value: copy it to look ahead.
//
// Package reader builds on packages scan and words.
package reader
