package fill

import (
	"context"

	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/rewrite"
)

// miscounts reports whether a statement asks for the number of rows that the one
// before it has changed, and what we send in between on the same connection
// would change that: a reservation, or what takes the lock to write. The answer
// depends on the text and the policy alone, so that a statement that is filled
// today is filled tomorrow.
//
// What SQLite says of the last row, last_insert_rowid(), stays: the tables of
// states are WITHOUT ROWID.
func (db *Database) miscounts(p *rewrite.Plan) bool {
	if p.Counts() {
		return p.Reads()&rewrite.ReadsCount != 0
	}
	if !db.OnConnection() || db.standIn != nil || p.Reads()&rewrite.ReadsCount == 0 {
		return false
	}
	for _, d := range p.Draws {
		if tableOf(&p.Inserts[d.Insert]).keys[d.Key].source == nil {
			return true
		}
	}
	return false
}

// lock takes the lock to write before something is read inside a transaction of
// SQLite, as the INSERT will that is to be sent: by a statement on its table
// that changes nothing. A transaction that has read before does not wait for
// another connection that writes, and fails when one has written since: errors
// SQLITE_BUSY and SQLITE_BUSY_SNAPSHOT, https://www.sqlite.org/rescode.html.
//
// An error is left to what comes next, since it may be that of a view, which cannot
// be written to in this way. One that may have ended the transaction is returned.
func (db *keyTables) lock(ctx context.Context, g *keysConn, t *table, i int) error {
	if !db.OnConnection() || g.Tx == session.Outside {
		return nil
	}
	column := store.Column{Schema: t.rule.Schema, Table: t.rule.Name, Name: t.keys[i].column}
	return store.Within(db.either[0].dialect, g.Raw).LockFirst(ctx, column)
}
