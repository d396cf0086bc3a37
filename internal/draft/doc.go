// Package draft writes a first policy for a database: for each table the source that fits
// its key column, with comments that say why, what would do as well, and what a person has
// to decide.
//
//	over, err := catalog.List(ctx, d, q, nil)
//	…
//	text := draft.Of(d, over).Text()
//
// [Of] decides by the catalog's facts about a table alone. An entry that it writes fills
// INSERTs that bring no key, and keeps the keys of the others:
//
//	the key of the table                                    the decision
//	one column of a type that a source suits, called id,    an entry
//	uuid or as the table, or of the engine's own uuid type
//	a column that the engine numbers, or a default of       left to the engine, with a line for keyfill
//	integers or texts fills
//	columns that refer to other tables                      nothing to fill
//	anything else                                           to be decided, with a line if possible
//
// # Globs
//
// Tables whose names differ only in digits share one entry if a pattern matches them and no
// other table of any schema, and there are three of them or more.
//
// # Caveats
//
// No catalog shows which program makes the keys of a column without a default. The entry is
// written all the same, since a key that an INSERT brings is kept; but an empty text and
// the zero UUID do not count as keys.
package draft

//row:changes | what `keyfill init` writes | `internal/draft`: `fit.go` (source for a type), `decide.go` and `several.go` (a table), `glob.go`, `text.go` (the file)
