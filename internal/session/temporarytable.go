package session

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// A connection may create a temporary table that hides a configured table. temporaryNames
// collects the names of such tables from the texts that are sent. At an INSERT the engine
// is asked whether a name still means the temporary table (after a DROP, a ROLLBACK, ON
// COMMIT DROP, a change of the search path).

// temporaryNames are the folded names, without a schema, of temporary tables that a
// connection may have made. They are kept until it is closed: a connection that is used
// again still has its temporary tables.
type temporaryNames struct {
	Names map[string]bool
	Every bool // whether any name may be a temporary table's, since a search path may list their schema first

	// Times counts how often a name was noted. A statement that was prepared earlier may mean
	// another table since then.
	Times int
}

// maxTemporary bounds the names that a connection keeps. When it is reached, every name
// may be a temporary table's.
const maxTemporary = 1000

// Any reports whether the connection may have a temporary table.
func (n *temporaryNames) Any() bool { return n.Every || n.Names != nil }

// add adds the names of the temporary tables that a text may make.
func (n *temporaryNames) add(d *dialect.Dialect, query string) {
	for _, name := range effects.TemporaryOfAny(d, query) {
		n.note(d.Fold(name, true)) // it does no harm to note a table that hides no configured table
	}
}

// note adds a folded name.
func (n *temporaryNames) note(name string) {
	n.Times++
	if n.Names == nil {
		n.Names = map[string]bool{}
	}
	if len(n.Names) == maxTemporary {
		n.Every = true
		return
	}
	n.Names[name] = true
}

// sends adds the names in a text, about to be sent or prepared, that may rename a temporary
// table.
func (n *temporaryNames) sends(t *text) {
	if n.Any() && !t.leaves(words.RowsLeft) {
		n.add(t.dialect, t.query)
	}
}

// containsFold reports whether the word, in lower case, is in the text.
func containsFold(text, word string) bool {
	return strings.Contains(strings.ToLower(text), word)
}

// makes adds the names of the temporary tables that a text, about to be sent or prepared,
// may make.
func (n *temporaryNames) makes(d *dialect.Dialect, query string, what words.Concern) {
	if what&words.ConcernsTemporary == 0 {
		t := text{dialect: d, query: query}
		n.sends(&t)
		return
	}
	n.add(d, query)
	n.Every = n.Every || containsFold(query, "search_path")
}
