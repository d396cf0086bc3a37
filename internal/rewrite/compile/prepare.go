package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// prepare reads a PREPARE, which prepares a statement in PostgreSQL and a string in MySQL.
func prepare(p *plans.Draft) {
	at := p.Token.Start
	p.Advance()
	for ; !p.AtEnd(); p.Advance() {
		if p.Token.Kind != scan.String || !p.Dialect.Grammar.PrepareText {
			inserts.JudgeInner(p, rewrite.ErrPrepare)
			continue
		}
		text := p.Unquoted(p.TextOf(p.Token), '\\')
		q := &plans.Draft{Reader: reader.At(p.Dialect, text, 0), Lookup: p.Lookup, Tables: plans.SeenTables{MaybeMade: p.Tables.MaybeMade, MovedTables: p.Tables.MovedTables, Standing: p.Tables.Standing}}
		statementsOf(q)
		switch {
		case q.Refusal != nil:
			p.Refuse(q.Refusal.Target, at, rewrite.ErrPrepare)
		case inserts.Lacks(q, rewrite.ErrPrepare):
			p.Refuse(q.Inserts[q.Slots[0].Insert].Target, at, rewrite.ErrPrepare)
		default:
			p.Inserts = append(p.Inserts, q.Inserts...)
		}
	}
}
