package session

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// An INSERT without a column list gets one with its key, so that no value moves
// to another column than the one that was judged. The columns that the policy
// does not name are asked for on the INSERT's own connection, whose temporary
// tables and search path count, and are known there until its next checkout.

// knownColumns are the columns of tables, as far as a connection has asked, by
// the table's name as the text has it.
type knownColumns struct {
	byName map[string][]string

	// unsure says that a statement was prepared that may change a table: when
	// it runs is not seen.
	unsure bool
}

// maxKnown bounds the tables that a connection knows the columns of.
const maxKnown = 1000

// Of returns the columns of a table, nil where they are not known.
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

// forget drops the columns: at the end of a checkout, and when a table may have changed.
func (k *knownColumns) forget() { k.byName = nil }

// sends takes a text before it is executed.
func (k *knownColumns) sends(d *dialect.Dialect, query string) {
	if k.byName != nil && !rewrite.LeavesTables(d, query) {
		k.forget()
	}
}

// prepares takes a text before it is prepared.
func (k *knownColumns) prepares(d *dialect.Dialect, query string) {
	if !k.unsure && !rewrite.LeavesTables(d, query) {
		k.forget()
		k.unsure = true
	}
}
