package rewrite

import "github.com/keyfill/keyfill/dialect"

// Renames reports whether a text may give the rows of one table to the name of
// another one: by RENAME, sp_rename or EXCHANGE PARTITION. It is for texts with
// [ConcernsNames]. Renames does not see what is in strings.
// It answers true for a column that is renamed, too.
func Renames(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&RowsLeft == 0
}

// renameWords are the words without which no table gets the name of another one.
var renameWords = []string{"rename", "sp_rename", "exchange"}
