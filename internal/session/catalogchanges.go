package session

import "github.com/keyfill/keyfill/internal/rewrite/words"

// A transaction of PostgreSQL may make tables and change them. No other connection sees
// that before the transaction commits, or another connection waits for its locks.
// Questions about a table are then asked on the transaction's own connection, and the
// answers are forgotten when it ends, since it may be rolled back.

// catalogChanges records whether the open transaction has changed tables.
type catalogChanges struct {
	On    bool   // it has, or may have
	Times uint64 // counts the events after which tables have to be asked for again

	// OnEnd is called when a transaction that has changed tables ends; it may be nil.
	OnEnd func()
}

// sends notes that a text is executed in a transaction, or may be.
func (a *catalogChanges) sends(t *text) {
	if !t.leaves(words.CatalogLeft) {
		a.Note()
	}
}

// Note notes that the transaction has changed tables, or has locked some as if it had.
func (a *catalogChanges) Note() {
	a.On = true
	a.Times++
}

// ends notes that no transaction is open.
func (a *catalogChanges) ends() {
	if !a.On {
		return
	}
	a.On = false
	a.Times++
	if a.OnEnd != nil {
		a.OnEnd()
	}
}
