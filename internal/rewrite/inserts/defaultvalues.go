package inserts

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// defaultValues replaces DEFAULT VALUES by a row that has the keys, and DEFAULT for every
// other listed column. In Transact-SQL a column list may precede DEFAULT VALUES
// (Transact-SQL reference, "INSERT (Transact-SQL)").
func defaultValues(p *plans.Draft, in *State) rewrite.Reason {
	word := p.Token
	p.Advance()
	if !p.IsWord("values") || in.Columns >= 0 && !p.Dialect.Grammar.DefaultList {
		return p.Grammar()
	}
	p.Advance()
	in.Rows = 1
	var room [fewKeys]int
	missing := in.Missing(room[:0])
	filled := make([]int, 0, max(in.Columns, 0)+len(missing)) // for each column, the index of its key; -1 for DEFAULT
	any := len(missing) > 0
	for c := range max(in.Columns, 0) {
		filled = append(filled, -1)
		for i, k := range in.Target.Keys {
			if in.Listed.Of(i) == c && k.Fill&plans.FillDefault != 0 {
				filled[c], any = i, true
			}
		}
	}
	if !any {
		return ""
	}
	if p.Dialect.Grammar.DefaultAlone && p.IsWord("on") {
		return p.Grammar() // the engine refuses the text, and an edit would make it valid
	}
	List(p, in, nil, missing)
	// VALUES (…) is written over the word DEFAULT, and the old word VALUES is removed, so
	// that a comment between the two words stays.
	start, slots := word.Start, len(p.Slots)
	text := append(make([]byte, 0, 64), "VALUES ("...)
	for i, k := range append(filled, missing...) {
		if i > 0 {
			text = append(text, ", "...)
		}
		if k < 0 {
			text = append(text, "DEFAULT"...)
			continue
		}
		p.Slot(start, word.End, string(text), plans.Slot{Key: int32(k)})
		start, text = word.End, text[:0]
	}
	p.Edit(start, word.End, string(append(text, ')')))
	if in.Scopes != nil {
		in.Scopes.Begin(word.Start)
		if reason := scoped(p, in, slots); reason != "" {
			return reason
		}
	}
	from := p.PrevEnd - len("values")
	if strings.Trim(p.Text[word.End:from], " \t\r\n") == "" {
		from = word.End
	}
	p.Edit(from, p.PrevEnd, "")
	return ""
}
