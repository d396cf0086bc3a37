// Package golden proves that the engines accept what keyfill writes: each query text of
// ../../testdata is prepared on the engine that it is for and executed beside the query
// that a person would have written, and the same rows must be stored. The texts of
// lexer_test.go show that keyfill and the engine read a query alike: where its strings,
// comments and placeholders are, and where the next statement starts.
package golden
