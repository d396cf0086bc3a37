package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// insert reads an INSERT or REPLACE from its verb.
func insert(p *plans.Draft) {
	verb := p.Token.Start
	p.RefusalOffset, p.IsValuesPart = 0, false
	if p.Dialect.Grammar.MultiInsert && multiTable(p) {
		return
	}
	h := inserts.ReadHead(p)
	switch {
	case h.Target == nil:
		inserts.Skip(p, inserts.InnerReason(p))
		return
	case h.Reason != "":
		p.Refuse(h.Target, verb, h.Reason)
		inserts.Skip(p, inserts.InnerReason(p))
		return
	}
	inserts.MakeRoom(p)
	state := inserts.NewState(h, verb)
	in := &state
	in.Nested, in.Explained = p.Limit > 0, p.Flow.Explained
	in.Name.TableText = p.Text[h.Name.Start:h.Name.End]
	n, m, before := len(p.Edits), len(p.Slots), len(p.Inserts)
	reason := inserts.Rest(p, in)
	conflict := in.Upsert.Conflict
	if reason == "" && !p.AtEnd() {
		reason = inserts.Tail(p, in)
	}
	if reason == "" && len(p.Inserts) == before {
		inserts.Cut(p, in, m, conflict)
	}
	if reason != "" {
		p.Refuse(h.Target, inserts.RefusedAt(p), reason)
		p.Edits, p.Slots = p.Edits[:n], p.Slots[:m]
		inserts.Skip(p, inserts.InnerReason(p))
	}
	if why := inserts.BarredReason(p, h); why != "" && len(p.Slots) > m {
		p.Refuse(h.Target, p.Edits[n].Start, why)
		p.Edits, p.Slots = p.Edits[:n], p.Slots[:m]
	}
	in.OpenMissing()
	if in.End = p.PrevEnd; in.Explained {
		in.Explicit = nil
	}
	in.Condition()
	inserts.Note(p, in, m)
}
