package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// set reads MySQL's SET a = 1, b = 2.
func set(p *plans.Draft, in *State) rewrite.Reason {
	in.Rows = 1
	slots := len(p.Slots)
	if in.Scopes != nil {
		in.Scopes.Begin(in.Offset)
	}
	for n := 0; ; n++ {
		column, plain, reason := p.Column()
		if reason != "" {
			return reason
		}
		p.AcceptPunct(':')
		if !p.AcceptPunct('=') {
			return p.Grammar()
		}
		v, reason := Value(p, p.Clause)
		if reason != "" {
			return reason
		}
		if in.Scopes != nil {
			in.Scopes.List(column, n, plain)
			take(in.Scopes, &p.Reader, n, v)
		}
		for i, k := range in.Target.Keys {
			if k.Column != column {
				continue
			}
			if in.Listed.Of(i) >= 0 {
				return rewrite.ErrGrammar
			}
			in.Listed.Set(i, 0)
			judge(p, in, i, 0, v)
		}
		if !p.AcceptPunct(',') {
			break
		}
	}
	var room [fewKeys]int
	missing := in.Missing(room[:0])
	for _, k := range missing {
		var room [64]byte
		b := append(p.Dialect.AppendIdent(append(room[:0], ", "...), in.Target.Keys[k].Column), " = "...)
		p.Slot(p.PrevEnd, p.PrevEnd, string(b), plans.Slot{Key: int32(k)})
	}
	if len(missing) > 0 && p.PrevEnd < len(p.Text) && p.IsPart(p.Text[p.PrevEnd]) {
		p.Edit(p.PrevEnd, p.PrevEnd, " ") // without the space, the key would touch the next word: 1ON
	}
	return scoped(p, in, slots)
}
