// Package words holds what keyfill knows about the words of each engine: which begin a
// form of INSERT, which change the transaction, the search path or a setting, which make
// temporary tables, and which are functions that change nothing.
//
// The words of an engine are in its file, such as mysql.go. [Concerns] searches a text
// for the words that matter, without reading its tokens: a text without any is passed.
//
// It builds on package scan.
package words
