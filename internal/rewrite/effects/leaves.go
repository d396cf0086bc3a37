package effects

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// Leaves returns what a text leaves unchanged, whatever the settings of the session under
// which the engine may run it. It reads the text once, and allocates nothing if settings
// make no difference.
func Leaves(d *dialect.Dialect, query string) words.Left {
	w := walk{Scanner: scan.Scanner{Dialect: d, Text: query}, words: words.Of(d)}
	left := w.leaves()
	if !w.touchy || left == 0 {
		return left
	}
	runs := !w.broken // whether the engine runs all of the text under some settings
	for _, s := range OtherSettings(d, query) {
		other := walk{Scanner: scan.Scanner{Dialect: d.With(s), Text: query}, words: w.words}
		left &= other.leaves()
		runs = runs || !other.broken
	}
	if !runs {
		return 0
	}
	return left
}

// leaves returns what the text leaves unchanged under the settings of the dialect.
func (w *walk) leaves() words.Left {
	left := w.words.Leaves
	statements := 0
	for w.read(); w.tok.Kind != scan.End && left != 0; {
		if w.isPunct(';') {
			w.read()
			continue
		}
		left &= w.statement()
		statements++
	}
	if statements == 0 {
		left &= words.AnyWay | words.UnknownLeft
	}
	return left
}

// LeavesTables reports whether a text leaves all tables, and the meaning of every table
// name, unchanged. Such a text makes, changes, renames and drops no table, temporary ones
// and views included; it changes no search path, ends no transaction, and calls no
// function that may do any of these.
//
// LeavesTables returns false for every text that it does not know, which costs the caller
// a question to the server: for all but INSERT, UPDATE, DELETE, a query, EXPLAIN of one
// of these, and the begin of a transaction or a savepoint; for a comment that the engine
// may run; and on SQL Server and Oracle, where a statement may follow another without a
// semicolon or run in a block. It does not notice what triggers, rules and views call.
func LeavesTables(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&words.TablesLeft != 0
}

// Renames reports whether a text may give a table the name of another table, whose rows the
// name then means, by RENAME, sp_rename or EXCHANGE PARTITION. It is for texts with
// [words.ConcernsNames]. Renames does not look into strings. It is also true if a column is
// renamed.
func Renames(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&words.RowsLeft == 0
}
