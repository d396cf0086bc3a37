package rewrite

import "slices"

// queryInBrackets reports whether the bracket here opens a query, not a column
// list.
func (p *reader) queryInBrackets() bool {
	next, _ := p.peek()
	switch {
	case next.kind == tokPunct:
		return p.q[next.start] == '('
	case next.kind != tokWord || !equalAny(p.text(next), "select", "with", "values", "table"):
		return false
	}
	// With nothing behind it the word is a column's name.
	q := *p
	q.advance()
	q.advance()
	return !q.isPunct(',') && !q.isPunct(')') && !q.isPunct('.')
}

// columnList reads "(a, b)" and notes where the keys stand in it.
func (p *reader) columnList(in *insertState) Reason {
	p.advance()
	in.columns, in.listEnd = 0, p.prev
	if p.acceptPunct(')') {
		if !p.d.Grammar.EmptyLists {
			return ErrGrammar
		}
		return ""
	}
	for {
		at := p.tok
		if at.kind == tokWord && in.scopes == nil && p.single() {
			if p.plainColumn(in, at) {
				return ErrGrammar
			}
			in.columns++
			in.listEnd = p.prev
			if p.acceptPunct(')') {
				return ""
			}
			p.advance()
			continue
		}
		column, plain, reason := p.column()
		if reason != "" {
			return reason
		}
		for i := range in.Target.Keys {
			if in.Target.Keys[i].Column == column {
				if !plain {
					return ErrTarget
				}
				if in.listed.of(i) >= 0 {
					return ErrGrammar
				}
				in.listed.set(i, in.columns)
			}
		}
		if in.scopes != nil {
			in.scopes.list(column, in.columns, plain)
		}
		if slices.Contains(p.d.Grammar.RowIDs, column) && !in.isKey(column) {
			in.overruled, in.overruledAt = ErrRowID, at
		}
		in.columns++
		in.listEnd = p.prev
		if p.acceptPunct(')') {
			return ""
		}
		if !p.acceptPunct(',') {
			return p.grammar()
		}
	}
}

// plainColumn reads a column of a list that is one word and nothing else, and
// reports whether it is a key that the list has already.
func (p *reader) plainColumn(in *insertState, t token) (again bool) {
	name, key := p.text(t), false
	for i := range in.Target.Keys {
		if p.d.Folds(name, false, in.Target.Keys[i].Column) {
			if in.listed.of(i) >= 0 {
				return true
			}
			in.listed.set(i, in.columns)
			key = true
		}
	}
	for _, rowID := range p.d.Grammar.RowIDs {
		if !key && p.d.Folds(name, false, rowID) {
			in.overruled, in.overruledAt = ErrRowID, t
		}
	}
	return false
}

// isKey reports whether the column is a key by its own name.
func (in *insertState) isKey(column string) bool {
	return slices.ContainsFunc(in.Target.Keys, func(k Key) bool { return k.Column == column })
}

// column reads one column of a list: a name, qualified by the table's where
// the dialect allows it, else with fields or subscripts behind it.
func (p *reader) column() (folded string, plain bool, reason Reason) {
	fields := p.d.Grammar.FieldTargets
	plain = true
	for p.d.Grammar.OmittedParts && p.isPunct('.') {
		p.advance()
	}
	for first := true; ; first = false {
		part, k, ok := p.ident()
		switch {
		case !ok:
			return "", false, p.grammar()
		case k == tokString && !p.d.Grammar.StringNames:
			return "", false, ErrDoubleQuotes
		case first || !fields:
			folded = part
		}
		for fields && p.isPunct('[') {
			plain = false
			if !p.balanced('[', ']') {
				return "", false, p.grammar()
			}
		}
		if !p.isPunct('.') {
			return folded, plain, ""
		}
		plain = plain && !fields
		for p.isPunct('.') {
			p.advance()
		}
	}
}

// list writes a column list, or adds the missing keys to the one there is.
func (p *parser) list(in *insertState, columns []string, missing []int) {
	if len(columns)+len(missing) == 0 {
		return
	}
	var room [64]byte
	b, at, sep := room[:0], in.listEnd, ", "
	switch {
	case in.columns < 0:
		at, sep = in.listAt, " ("
	case in.columns == 0:
		sep = ""
	}
	for _, c := range columns {
		b = p.d.AppendIdent(append(b, sep...), c)
		sep = ", "
	}
	for _, k := range missing {
		b = p.d.AppendIdent(append(b, sep...), in.Target.Keys[k].Column)
		sep = ", "
	}
	if in.columns < 0 {
		b = append(b, ')')
	}
	if p.lists != string(b) {
		p.lists = string(b)
	}
	p.edit(at, at, p.lists)
}

// implied returns the columns that n values without a column list belong to,
// and notes which of them are keys.
func (p *reader) implied(in *insertState, n int) ([]string, Reason) {
	columns := in.Target.Columns
	switch {
	case n == 0 && p.d.Grammar.EmptyLists:
		return nil, ""
	case n > 0 && columns == nil:
		if !in.linked {
			in.Unlisted = p.q[in.name.start:in.name.end]
		}
		return nil, ErrNoColumnList
	case n <= 0:
		return nil, ErrNoColumnList
	case p.d.Grammar.FirstColumns && n < len(columns):
		columns = columns[:n]
	case n != len(columns):
		return nil, ErrColumnCount
	}
	for i, c := range columns {
		if in.scopes != nil {
			in.scopes.list(p.d.Fold(c, true), i, true)
		}
		for k := range in.Target.Keys {
			if in.Target.Keys[k].Column == p.d.Fold(c, true) {
				in.listed.set(k, i)
			}
		}
	}
	return columns, ""
}
