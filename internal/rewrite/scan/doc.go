// Package scan splits the text of a query into tokens, under the settings of a dialect:
// words, quoted names, strings, numbers, placeholders, variables, comments and signs. The
// tokens together are the text.
//
// It builds on package dialect alone, which has the lexical facts of each engine.
package scan
