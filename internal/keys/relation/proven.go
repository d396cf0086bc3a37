package relation

import (
	"context"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/internal/session"
)

// A numbering that belongs to transactions keeps no numbers, so that a rollback takes
// nothing from it. It keeps only how far the commits that the driver has confirmed have
// raised its rows: a row that stands lower later was set back, by an older copy of the
// database or by a standby that lacks the last commits.
//
// A transaction that may have lost a part of what it did (session.Conn.Losses), or whose
// Commit was not seen to succeed, proves nothing.

// ProvenRow is a row as a commit has left it.
type ProvenRow struct {
	Next        int64  // the lowest integer that was not reserved; 0 where nothing is proven
	Incarnation string // of the row, empty if its table has none
}

// ProvenRows are rows by their names. It is safe for concurrent use.
type ProvenRows struct {
	mu   sync.Mutex
	rows map[string]ProvenRow
}

// maxProven bounds the rows that are remembered of one numbering, which has one for each
// parent. A row that is left out is compared with nothing.
const maxProven = 4096

// Of returns what is known of a row. Call it before the row is read: then whatever is known
// was committed before.
func (p *ProvenRows) Of(name string) ProvenRow {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows[name]
}

// prove notes how a committed transaction has left a row. The driver may confirm commits in
// another order than the transactions had the row in.
func (p *ProvenRows) prove(name string, row ProvenRow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, found := p.rows[name]
	if found && known.Incarnation == row.Incarnation && known.Next >= row.Next {
		return
	}
	if p.rows == nil {
		p.rows = map[string]ProvenRow{}
	}
	for old := range p.rows {
		if found || len(p.rows) < maxProven {
			break
		}
		delete(p.rows, old)
	}
	p.rows[name] = row
}

// Forget forgets all rows.
func (p *ProvenRows) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = nil
}

// drawnRow is a row from which the open transaction of a connection has drawn.
type drawnRow struct {
	of   *ProvenRows
	name string
	row  ProvenRow
}

// Drawn are the rows from which the open transaction of a connection has drawn.
type Drawn struct {
	all    []drawnRow
	losses uint64 // Losses of the session when they were drawn
	sure   bool   // a successful Commit proves them
}

// maxDrawn bounds the rows that are remembered of one transaction.
const maxDrawn = 1024

// Note notes how the open transaction has left a row.
func (d *Drawn) Note(g *Session, of *ProvenRows, name string, row ProvenRow) {
	if d.losses != g.Losses {
		d.Forget()
		d.losses = g.Losses
	}
	for i := range d.all {
		if one := &d.all[i]; one.of == of && one.name == name {
			one.row = row
			return
		}
	}
	if len(d.all) < maxDrawn {
		d.all = append(d.all, drawnRow{of, name, row})
	}
}

// Forget notes that the numbers which the open transaction has drawn may be undone.
func (d *Drawn) Forget() {
	clear(d.all)
	d.all, d.sure = d.all[:0], false
}

// BeforeCommit notes whether a Commit of the open transaction will prove its rows.
func (d *Drawn) BeforeCommit(g *Session) {
	d.sure = d.losses == g.Losses && g.Tx == session.Inside && !g.Unwrapped
}

// AfterCommit keeps the rows as proven if the driver has confirmed the Commit, which committed
// says. It is called after each transaction.
func (d *Drawn) AfterCommit(committed bool) {
	if committed && d.sure {
		for _, one := range d.all {
			one.of.prove(one.name, one.row)
		}
	}
	d.Forget()
}

// IsOfCluster reports whether the connection is to a node of a Galera cluster, which may
// not have applied yet what another node has committed: an older row says nothing there. A
// transaction that was given old numbers fails at its Commit.
func IsOfCluster(ctx context.Context, g *Session) bool {
	query := g.Tables.Dialect().Cluster
	if query == "" {
		return false
	}
	row, err := g.QueryRow(ctx, query, nil)
	if err != nil {
		return false // a server without Galera has no such variable
	}
	on, isNumber := session.IntegerOf(row[0])
	return on == 1 || !isNumber && strings.EqualFold(session.TextOf(row[0]), "on")
}
