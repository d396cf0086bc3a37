package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// numbersGivenTo returns where in the text the number of the first row can be set, as SET
// STATEMENT insert_id. missing are the keys that the INSERT's column list lacks.
func numbersGivenTo(p *plans.Draft, in *State, missing []int) plans.Given {
	switch {
	case p.Dialect.Grammar.StatementSettings == nil, p.Limit > 0, p.IsInner, p.Flow.Explained, len(missing) != 1:
		return plans.Given{}
	}
	if key := &in.Target.Keys[missing[0]]; !key.Counted || !key.Integer {
		return plans.Given{}
	}
	if p.Split.SettingsFor == in.Offset && p.Split.SettingsStart > 0 {
		return plans.Given{At: p.Split.SettingsStart, Beside: true, IsFound: true}
	}
	if s := (&scan.Scanner{Dialect: p.Dialect, Text: p.Text}); s.Following().Start != in.Offset {
		return plans.Given{}
	}
	return plans.Given{At: in.Offset, IsFound: true}
}
