package checker

import (
	"strings"

	"github.com/keyfill/keyfill/judge/tree"
)

// rowsets are functions and words of SQL Server and Oracle that may replace the name of a
// table.
var rowsets = []string{"OPENQUERY", "OPENROWSET", "OPENDATASOURCE", "OPENXML", "TABLE", "THE"}

// reserved are words that cannot be a table's name or its alias.
var reserved = []string{
	"VALUES", "VALUE", "SELECT", "SET", "DEFAULT", "WITH", "OUTPUT", "OVERRIDING", "EXEC", "EXECUTE", "TABLE",
	"PARTITION", "SUBPARTITION", "ON", "RETURNING", "FROM", "INTO", "OR", "BULK",
}

// target reads the table and the words that may follow its name; it returns false if there
// is no table.
func (r *reader) target(n *tree.Node) bool {
	i := r.peek(0)
	switch {
	case i.open == '(' && r.peek(1).open == '(' || i.open == '(' && r.peek(1).is("VALUES"):
		n.Insert.NoTable = true
		r.take(n, 1)
	case i.kind == param && i.open == 0:
		n.Insert.NoTable = true
		r.take(n, 1)
	case (r.noSemicolons || r.strings.quote) && i.is(rowsets...) && r.peek(1).open == '(':
		n.Insert.NoTable = true
		r.take(n, 2)
		for r.peek(0).isMark(".") {
			r.take(n, 2)
		}
	case i.isName() && !i.is("VALUES", "SELECT", "SET", "ON", "OR", "OF", "BULK", "UPDATE", "DELETE"),
		i.kind == text && i.open == 0, i.isMark("."):
		if !r.name(n) {
			return false
		}
	default:
		return false
	}
	r.decorations(n)
	return true
}

// name reads a name of several parts, some of which may be left out on SQL Server, and a
// database link.
func (r *reader) name(n *tree.Node) bool {
	for r.peek(0).isMark(".") {
		r.take(n, 1)
	}
	if i := r.peek(0); !i.isName() && i.kind != text {
		return false
	}
	last := r.peek(0)
	r.take(n, 1)
	for r.peek(0).isMark(".") || r.peek(0).isMark("@") {
		r.take(n, 1)
		if r.peek(0).isName() {
			last = r.peek(0)
			r.take(n, 1)
		}
	}
	// This is set because a pattern of a policy matches no temporary table of SQL Server.
	n.Insert.NoTable = r.sessionTables && strings.HasPrefix(last.name(), "#")
	return true
}

// mergesOwn reports whether the MERGE that contains this INSERT writes into a temporary
// table or a variable.
func (r *reader) mergesOwn() bool {
	at := r.at - 1
	for at >= 0 && !r.items[at].is("MERGE") {
		at--
	}
	if at < 0 || !r.sessionTables {
		return false
	}
	m := reader{lexis: r.lexis, items: r.items, at: at + 1}
	n := &tree.Node{Insert: &tree.Insert{}}
	m.modifiers(n)
	return m.target(n) && n.Insert.NoTable
}

// decorations reads partitions, hints and an alias.
func (r *reader) decorations(n *tree.Node) {
	for {
		i := r.peek(0)
		switch {
		case i.is("PARTITION", "SUBPARTITION") && r.peek(1).open == '(', i.is("WITH") && r.peek(1).open == '(':
			r.take(n, 2)
		case i.is("PARTITION", "SUBPARTITION") && r.peek(1).is("FOR"):
			r.take(n, 3)
		case i.is("AS") && r.peek(1).isName():
			r.take(n, 2)
		case i.isName() && !i.is(reserved...):
			r.take(n, 1)
		default:
			return
		}
	}
}
