// Package selects reads the query of an INSERT … SELECT: its select list, its set
// operations and its order; whether it consists of rows, each of which gets a key as one
// more item; which values may be sets in PostgreSQL; and which values stay the same in the
// temporary table in which MySQL and MariaDB number rows.
//
// Package selects builds on packages reader, words and scan.
package selects

//row:changes | which rows of an INSERT … SELECT get numbers | `internal/rewrite/selects`, `internal/rewrite/inserts/select.go` and `selectrows.go`, `internal/rewrite/rowcount`
