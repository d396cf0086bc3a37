package relation

import (
	"context"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/internal/session"
)

// A counter whose numbers belong to transactions remembers no reserved numbers, since a
// rollback returns them. It remembers only the next number of its rows after the
// commits that the driver has confirmed. If a row has a lower number later, it was set
// back: by an older copy of the database, or by a standby that lacks the last commits.
//
// A transaction proves nothing if a part of its changes may have been undone
// (session.Conn.Losses), or if its Commit was not seen to succeed.

// ProvenRow is a row as a confirmed commit has left it.
type ProvenRow struct {
	Next        int64  // the lowest integer that was not reserved; 0 if nothing is known
	Incarnation string // the random text that identifies the row; empty if its table has none
}

// ProvenRows holds rows, as confirmed commits have left them, by their names. It is
// safe for concurrent use.
type ProvenRows struct {
	mu   sync.Mutex
	rows map[string]ProvenRow
}

// maxProven is the greatest number of rows that are remembered for one numbering, which
// may have a row for each parent. A row that is not remembered is not compared.
const maxProven = 4096

// Of returns what is known about a row. Call it before the row is read: then everything
// known was committed before.
func (p *ProvenRows) Of(name string) ProvenRow {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows[name]
}

// prove records how a committed transaction has left a row. The driver may confirm
// commits in another order than the transactions changed the row.
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

// Forget discards what is known about all rows.
func (p *ProvenRows) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows = nil
}

// drawnRow is a row from which the open transaction of a connection has drawn numbers.
type drawnRow struct {
	of   *ProvenRows
	name string
	row  ProvenRow
}

// Drawn are the rows from which the open transaction of a connection has drawn numbers.
type Drawn struct {
	all    []drawnRow
	losses uint64 // the value of Session.Losses when the numbers were drawn
	sure   bool   // a successful Commit will prove that the numbers drawn from these rows are committed
}

// maxDrawn is the greatest number of rows that are remembered for one transaction.
const maxDrawn = 1024

// Note records how the open transaction has left a row.
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

// Forget discards the rows: the numbers that the open transaction has drawn may be
// returned by a rollback.
func (d *Drawn) Forget() {
	clear(d.all)
	d.all, d.sure = d.all[:0], false
}

// BeforeCommit records whether a Commit of the open transaction will prove that the
// numbers drawn from its rows are committed.
func (d *Drawn) BeforeCommit(g *Session) {
	d.sure = d.losses == g.Losses && g.Tx == session.Inside && !g.Unwrapped
}

// AfterCommit records the rows as proven if the driver has confirmed the Commit;
// committed reports whether it has. AfterCommit is called after each transaction.
func (d *Drawn) AfterCommit(committed bool) {
	if committed && d.sure {
		for _, one := range d.all {
			one.of.prove(one.name, one.row)
		}
	}
	d.Forget()
}

// IsOfCluster reports whether the connection is to a node of a Galera cluster. The node
// may not yet have applied what another node has committed, so an older row is no sign
// of a fault. A transaction that was given old numbers fails at its Commit.
func IsOfCluster(ctx context.Context, g *Session) bool {
	query := g.Tables.Dialect().Cluster
	if query == "" {
		return false
	}
	row, err := g.QueryRow(ctx, query, nil)
	if err != nil {
		return false // a server without Galera does not have the variable
	}
	on, isNumber := session.IntegerOf(row[0])
	return on == 1 || !isNumber && strings.EqualFold(session.TextOf(row[0]), "on")
}
