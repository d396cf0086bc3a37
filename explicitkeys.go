package keyfill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// mayFollow reports whether a source takes the place of an engine's own counter, and
// so follows the keys that INSERTs bring where that would: AUTO_INCREMENT of MySQL and
// MariaDB, AUTOINCREMENT of SQLite.
func mayFollow(src policy.Source) bool {
	return src.Kind == policy.KindSequence && src.Exclusive && src.Scope == nil && src.Transaction != policy.TransactionJoined &&
		src.Table == nil && src.Via != policy.ViaProcedure
}

// engineCounts reports whether a column has such a counter.
func (m *Mount) engineCounts(ctx context.Context, g *guard, t *table, i int) bool {
	f, err := m.facts(ctx, g, t)
	return err == nil && f.keys[i].counts
}

// follow moves the sequences of tables whose policy says follow_explicit above
// the keys that an execution brings. It is called before the statement is sent:
// a process that starts in between would find the store behind the table.
//
// Blocks that other processes hold stay as they are. A key above the source's
// limit is none of its own and moves nothing.
func (m *Mount) follow(ctx context.Context, g *guard, p *rewrite.Plan, args []driver.NamedValue, h rewrite.Holes) error {
	if !p.Follows() {
		return nil
	}
	for i := range p.Inserts {
		t := tableOf(&p.Inserts[i])
		if m.effective(t) != policy.ModeFill {
			continue
		}
		for j := range t.keys {
			k := &t.keys[j]
			said := k.rule.Source.FollowExplicit
			if !said && !mayFollow(k.rule.Source) {
				continue
			}
			key := p.Explicit(args, h, i, j)
			if key < 1 || key >= k.limit() || !said && !m.engineCounts(ctx, g, t, j) {
				continue
			}
			c, err := m.counter(ctx, g, t, j)
			if err == nil {
				err = c.advance(ctx, g, key+1)
			}
			// Who has not said so does not ask for the store when it brings a key. A
			// duplicate key will tell, and on_behind says what then.
			if err != nil && said {
				return t.keyError(j, err)
			}
		}
	}
	return nil
}
