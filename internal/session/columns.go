package session

import "github.com/keyfill/keyfill/internal/rewrite/words"

// An INSERT without a column list gets a list with its key, so that each value stays in the
// column for which it was judged. If the policy does not name the columns, the INSERT's own
// connection is asked, whose temporary tables and search path decide. The answer is kept
// for that connection until its next checkout.

// knownColumns caches the columns of tables for which a connection has asked, by the
// table's name as the text has it.
type knownColumns struct {
	byName map[string][]string

	// unsure is true after a statement was prepared that may change a table. The session does
	// not see when that statement runs.
	unsure bool

	// times counts how often the cached columns were dropped. A text is examined only if
	// columns have been asked for since they were last dropped.
	times uint64
	asked bool
}

// Since returns a number that changes when a text is sent that may have changed a table.
func (k *knownColumns) Since() uint64 {
	k.asked = true
	return k.times
}

// maxKnown bounds the number of tables whose columns a connection caches.
const maxKnown = 1000

// Of returns the columns of a table; nil if they are not known.
func (k *knownColumns) Of(name string) []string { return k.byName[name] }

// Keep remembers the columns of a table.
func (k *knownColumns) Keep(name string, columns []string) {
	if k.unsure {
		return
	}
	if k.byName == nil || len(k.byName) == maxKnown {
		k.byName = map[string][]string{}
	}
	k.byName[name] = columns
}

// forget drops the cached columns: at the end of a checkout, and when a table may have
// changed.
func (k *knownColumns) forget() {
	k.byName, k.asked = nil, false
	k.times++
}

// sends drops the cached columns if the text, which is about to be executed, may change a
// table.
func (k *knownColumns) sends(t *text) {
	if (k.byName != nil || k.asked) && (k.unsure || !t.leaves(words.TablesLeft)) {
		k.forget()
	}
}

// prepares drops the cached columns if the text, which is about to be prepared, may change
// a table. Columns are then cached no more, since the session does not see when the text
// runs.
func (k *knownColumns) prepares(t *text) {
	if k.unsure {
		k.forget()
		return
	}
	if !t.leaves(words.TablesLeft) {
		k.forget()
		k.unsure = true
	}
}
