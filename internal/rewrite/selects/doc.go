// Package selects reads the query of an INSERT … SELECT: its select list, its set
// operations and its order; whether it is made of rows, of which each gets a key as
// one more item; which values may be sets in PostgreSQL; and which values survive the
// temporary table in which MySQL and MariaDB number rows.
//
// It stands on packages reader, words and scan.
package selects
