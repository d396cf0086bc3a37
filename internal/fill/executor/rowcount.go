package executor

import (
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Miscounts reports whether a statement reads the number of rows that the statement
// before it has changed, although keyfill's own statements in between, on the same
// connection, would change that number: a reservation, or the statement that takes the
// lock to write. The answer depends only on the text and the policy, so that a
// statement that is filled today is filled tomorrow.
//
// SQLite's last_insert_rowid() is not changed, since keyfill's tables are WITHOUT
// ROWID.
func Miscounts(tables *relation.Tables, p *plans.Plan) bool {
	if p.Counts() || p.Tails() && p.Dialect.Numbering.Carries { // the server is asked about its log, which changes that number
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
