package executor

import (
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Miscounts reports whether a statement asks for the number of rows that the one before
// it has changed, and keyfill's statements in between on the same connection would change
// that: a reservation, or one that takes the lock to write. The answer depends on the
// text and the policy alone, so that a statement that is filled today is filled tomorrow.
//
// SQLite's last_insert_rowid() stays: the tables of states are WITHOUT ROWID.
func Miscounts(tables *relation.Tables, p *plans.Plan) bool {
	if p.Counts() || p.Tails() && p.Dialect.Numbering.Carries { // whose log is asked for
		return p.Reads()&effects.ReadsCount != 0
	}
	if !tables.AnyEngine().Dialect.OneWriter || p.Reads()&effects.ReadsCount == 0 {
		return false
	}
	for _, d := range p.Draws {
		if table.Of(&p.Inserts[d.Insert]).KeyColumns[d.Key].Source == nil {
			return true
		}
	}
	return false
}
