package policy

import "slices"

// foldScope returns the columns of a checked scope with folded names.
func (n namer) foldScope(scope []ScopeColumn) []ScopeColumn {
	folded := slices.Clone(scope)
	for i := range folded {
		folded[i].Column, _ = n.single(folded[i].Column)
	}
	return folded
}

// checkScopeOf checks that the key at p can be numbered within its scope. columns are
// all columns of its table, or nil.
func (k *compiler) checkScopeOf(p place, rk *RuleKey, columns []string) {
	at := p.in("source")
	if rk.Scope != nil && rk.Layout != "" && rk.Integer {
		k.wrong(p.in("layout"), "keys that are numbered within other columns are integers; leave it out")
	}
	if c := rk.PeriodColumn; c != "" {
		switch {
		case c == rk.Column:
			k.wrong(at, "the key %s has no date before it is made; name another column in period", show(c))
		case columns != nil && !slices.Contains(columns, c):
			k.wrong(at, "the column %s of the period is not among columns; add it there", show(c))
		}
	}
	for _, c := range rk.Scope {
		switch {
		case c.Column == rk.Column:
			k.wrong(at, "the key %s cannot be numbered within itself; name other columns in scope", show(c.Column))
		case columns != nil && !slices.Contains(columns, c.Column):
			k.wrong(at, "the column %s of the scope is not among columns; add it there", show(c.Column))
		}
	}
}

// checkFromOf checks that the key at p can be made from its columns. columns are all columns
// of its table, or nil.
func (k *compiler) checkFromOf(p place, rk *RuleKey, columns []string) {
	for _, c := range rk.From {
		switch {
		case c.Column == rk.Column:
			k.wrong(p.in("source"), "the key %s cannot be made from itself; name other columns in from", show(c.Column))
		case columns != nil && !slices.Contains(columns, c.Column):
			k.wrong(p.in("source"), "the column %s that the key is made from is not among columns; add it there", show(c.Column))
		}
	}
}
