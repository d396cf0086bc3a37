package session

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// A transaction of PostgreSQL may make tables and change them. No other connection sees
// that before the transaction commits, or another connection waits for its locks.
// Questions about a table are then asked on the transaction's own connection, and the
// answers are forgotten when it ends, since it may be rolled back.

// catalogChanges says whether the open transaction has changed tables.
type catalogChanges struct {
	On    bool   // it has, or may have
	Times uint64 // counts the events after which tables have to be asked for again

	// OnEnd is called when a transaction that has changed tables ends; it may be nil.
	OnEnd func()
}

// sends notes that a text is executed in a transaction, or may be.
func (a *catalogChanges) sends(d *dialect.Dialect, query string) {
	if !leavesCatalog(d, query) {
		a.On = true
		a.Times++
	}
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

// leavesCatalog reports whether a text changes no table, and locks none as
// a change of one does, which its first word tells. A function that a query calls is
// not looked into.
func leavesCatalog(d *dialect.Dialect, query string) bool {
	word, rest := single(d, query)
	if isAny(word, "select", "with", "explain") {
		return !mayMakeTable(rest) || rewrite.LeavesTables(d, query)
	}
	return isAny(word, "insert", "update", "delete", "values", "set", "show", "reset",
		"begin", "start", "commit", "end", "savepoint", "release", "rollback", "fetch")
}

// mayMakeTable reports whether a query, or what EXPLAIN ANALYZE runs, may make a table:
// SELECT … INTO, CREATE TABLE … AS, EXECUTE of such a one. The INTO of an INSERT makes
// none.
func mayMakeTable(text string) bool {
	before := ""
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' {
			i++
		}
		switch word := text[start:i]; {
		case word == "":
		case isAny(word, "create", "execute"), isAny(word, "into") && !isAny(before, "insert", "merge"):
			return true
		default:
			before = word
		}
	}
	return false
}
