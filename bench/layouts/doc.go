// Package layouts measures what the layout of a key costs the table that is ordered by
// it: how long it takes to fill a table with 2,000,000 rows, and how large it gets. It
// repeats, on engines of today, the comparison in "GUIDs as fast primary keys under
// multiple databases", where each table had a text of 100 characters beside its key.
//
//	make layouts                       2,000,000 rows a table
//	make layouts ROWS=200000 ENGINES=SQLite
//
// keyfill makes the keys, but for the engine's own. Rows come in statements of 500, ten
// statements a transaction, on one connection. The first and the last quarter show whether
// the table gets slower as it grows. The engine's own keys are measured twice, as the first
// table and as the last one: their ratio shows how much of a difference is noise of the
// machine.
//
// The servers do not sync commits, and the operating system keeps their files in
// memory where there is enough of it. On disks that have to read the pages of an index
// again, keys in random order cost more than here.
package layouts
