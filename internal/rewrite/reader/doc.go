// Package reader reads the text of a query token by token, up to the pieces that all
// statements have: words, names, values, column lists, brackets, placeholders, the
// bodies of routines.
//
// A [Reader] is a value. A copy of it looks ahead.
//
// It stands on packages scan and words.
package reader
