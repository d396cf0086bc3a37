// Package words holds what keyfill knows about the words of each engine: which words begin
// a form of INSERT, which change the transaction, the search path or a setting, which make
// temporary tables, and which are functions that change nothing.
//
// The words of an engine are in its file, such as mysql.go. [Concerns] searches a text for
// the words that matter, without splitting it into tokens. A text without such words goes
// to the driver as it is.
//
// Package words builds on package scan.
package words

//row:changes | what a text is known to leave as it is | each engine's words in `internal/rewrite/words`; `internal/rewrite/effects/walk.go` and `walkstatement.go` read a text
