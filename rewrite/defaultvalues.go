package rewrite

import "strings"

// defaultValues turns DEFAULT VALUES into a row with the keys, and a DEFAULT for
// each column that is listed: the grammar of Transact-SQL has a column list in
// front of it (Transact-SQL reference, "INSERT (Transact-SQL)").
func (p *parser) defaultValues(in *insertState) Reason {
	word := p.tok
	p.advance()
	if !p.isWord("values") || in.columns >= 0 && !p.d.Grammar.DefaultList {
		return p.grammar()
	}
	p.advance()
	in.Rows = 1
	var room [fewKeys]int
	missing := in.missing(room[:0])
	filled := make([]int, 0, max(in.columns, 0)+len(missing)) // the key of each place, -1 for DEFAULT
	any := len(missing) > 0
	for c := range max(in.columns, 0) {
		filled = append(filled, -1)
		for i, k := range in.Target.Keys {
			if in.listed.of(i) == c && k.Fill&FillDefault != 0 {
				filled[c], any = i, true
			}
		}
	}
	if !any {
		return ""
	}
	if p.d.Grammar.DefaultAlone && p.isWord("on") {
		return p.grammar() // an invalid text would become a valid one
	}
	p.list(in, nil, missing)
	// VALUES goes to the place of DEFAULT, so that a comment between them
	// survives.
	start, text, slots := word.start, "VALUES (", len(p.slots)
	for i, k := range append(filled, missing...) {
		if i > 0 {
			text += ", "
		}
		if k < 0 {
			text += "DEFAULT"
			continue
		}
		p.slot(start, word.end, text, slot{key: int32(k)})
		start, text = word.end, ""
	}
	p.edit(start, word.end, text+")")
	if in.scopes != nil {
		in.scopes.begin(word.start)
		if reason := p.scoped(in, slots); reason != "" {
			return reason
		}
	}
	from := p.prev - len("values")
	if strings.Trim(p.q[word.end:from], " \t\r\n") == "" {
		from = word.end
	}
	p.edit(from, p.prev, "")
	return ""
}
