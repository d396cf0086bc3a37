package keyfill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

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
			if !k.rule.Source.FollowExplicit {
				continue
			}
			key := p.Explicit(args, h, i, j)
			if key < 1 || key >= k.limit() {
				continue
			}
			c, err := m.counter(ctx, g, t, j)
			if err == nil {
				err = c.advance(ctx, g, key+1)
			}
			if err != nil {
				return t.keyError(j, err)
			}
		}
	}
	return nil
}
