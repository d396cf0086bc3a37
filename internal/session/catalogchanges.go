package session

import "github.com/keyfill/keyfill/internal/rewrite/words"

// A transaction of PostgreSQL may make tables and change them. Before it commits, no other
// connection sees that, or another connection waits for its locks. So keyfill then asks
// about tables on the transaction's own connection, and forgets the answers when the
// transaction ends, since it may be rolled back.

// catalogChanges records whether the open transaction has changed tables.
type catalogChanges struct {
	On    bool   // whether it has changed tables, or may have
	Times uint64 // how often Note was called; after each call, facts about tables have to be asked for again

	// OnEnd is called when a transaction that has changed tables ends; it may be nil.
	OnEnd func()
}

// sends calls Note if the text, which is executed while a transaction is or may be open,
// may change a table.
func (a *catalogChanges) sends(t *text) {
	if !t.leaves(words.CatalogLeft) {
		a.Note()
	}
}

// Note notes that the transaction has changed tables, or has locked some as a change does.
func (a *catalogChanges) Note() {
	a.On = true
	a.Times++
}

// ends resets the record of the transaction, because no transaction is open now.
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
