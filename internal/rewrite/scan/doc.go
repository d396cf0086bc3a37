// Package scan splits the text of a query into tokens, as the engine of a dialect would:
// words, quoted names, strings, numbers, placeholders, variables, comments, white space and
// signs. The concatenation of the tokens is the text.
//
// Package scan builds on package dialect alone, which has the lexical facts of each engine.
package scan
