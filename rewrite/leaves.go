package rewrite

import "github.com/keyfill/keyfill/dialect"

// Left is a set of what a text leaves as it is. What is not in it may have changed: a word
// that keyfill does not know costs a question to the server, and no more.
type Left uint16

const (
	// TablesLeft says so of the tables: see [LeavesTables].
	TablesLeft Left = 1 << iota
	// PlaceLeft says so of where the session looks for tables: see [LeavesPlace].
	PlaceLeft
	// SettingsLeft says so of the settings of the session. Statements about rows change
	// them only by functions. A function of MySQL or MariaDB puts sql_mode back (8.4
	// manual, section 15.1.17; seen on MariaDB 10.11). PostgreSQL's set_config does not,
	// and a trigger that calls it is not seen.
	SettingsLeft
	// CatalogLeft says so of the catalog, without a lock on a table as a change of it
	// takes. A function that is called is not looked into.
	CatalogLeft
	// TransactionLeft says so of a transaction that is open, and of all that was done in
	// it: the text has statements about rows alone.
	TransactionLeft
	// NamesLeft says that nothing is made, renamed or dropped: see [MakesNames].
	NamesLeft
	// RowsLeft says that no table gets the name of another one: see [Renames].
	RowsLeft

	// oneLeft says that the text runs as one transaction, or within the one that is open.
	oneLeft
	// wayLeft says what PlaceLeft does, but for what a definition calls, and what EXPLAIN
	// runs: see [MovesPlace].
	wayLeft
)

const (
	allLeft = wayLeft<<1 - 1
	anyWay  = PlaceLeft | wayLeft
)

// unknownLeft is what a statement leaves that begins with a word that nobody knows: what
// only known words change.
const unknownLeft = NamesLeft | RowsLeft

// Leaves reads a text once, and returns what it leaves under all settings of a session under
// which the engine may run it. It allocates nothing where these do not matter.
func Leaves(d *dialect.Dialect, query string) Left {
	w := walk{scanner: scanner{d: d, q: query}, words: vocabularyOf(d)}
	left := w.leaves()
	if !w.touchy || left == 0 {
		return left
	}
	runs := !w.broken // under some settings the engine runs all of the text
	for _, s := range othersOf(d, query) {
		other := walk{scanner: scanner{d: d.With(s), q: query}, words: w.words}
		left &= other.leaves()
		runs = runs || !other.broken
	}
	if !runs {
		return 0
	}
	return left
}

// leaves reads the text, and returns what it leaves under the settings of the dialect.
func (w *walk) leaves() Left {
	left := w.words.leaves
	statements := 0
	for w.read(); w.tok.kind != tokEnd && left != 0; {
		if w.isPunct(';') {
			w.read()
			continue
		}
		left &= w.statement()
		statements++
	}
	if statements == 0 {
		left &= anyWay | unknownLeft
	}
	return left
}
