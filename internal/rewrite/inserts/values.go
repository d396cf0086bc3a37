package inserts

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// body reads the rows of an INSERT, whatever form they have.
func body(p *plans.Draft, in *State) rewrite.Reason {
	g := &p.Dialect.Grammar
	switch {
	case p.IsWord("values"), g.ValueWord && p.IsWord("value"):
		return valuesRows(p, in)
	case g.DefaultValues && p.IsWord("default"):
		return defaultValues(p, in)
	case g.Set && p.IsWord("set") && in.Columns < 0:
		p.Advance()
		return set(p, in)
	case p.IsPunct('(') && p.NextIs("values"):
		return rowsInBrackets(p, in)
	case p.IsAny("select", "with", "table"), p.IsPunct('('):
		return query(p, in, rewrite.ErrSelect)
	case p.IsAny("exec", "execute"):
		return query(p, in, rewrite.ErrExec)
	}
	return p.Grammar()
}

// valuesRows reads VALUES and its rows.
func valuesRows(p *plans.Draft, in *State) rewrite.Reason {
	word := scan.Span{Start: p.Token.Start, End: p.Token.End}
	p.Advance()
	if !p.Dialect.Grammar.ValueSets || in.Merged {
		return rows(p, in)
	}
	before, read := *p, *in
	reason := rows(p, in)
	if reason != "" || in.Rows != 1 || in.calls == nil || len(p.Slots) == len(before.Slots) {
		return reason
	}
	if !slices.ContainsFunc(in.calls, func(v scan.Span) bool { return selects.CallsSet(&p.Reader, v) }) {
		return scalars(p, in, in.calls, len(before.Edits))
	}
	for _, s := range p.Slots[len(before.Slots):] {
		if in.Listed.Of(int(s.Key)) >= 0 && in.Columns > 0 {
			return rewrite.ErrSet // every row of the set would get the same key, or a key that was not reserved
		}
	}
	*p, *in = before, read
	return valuesQuery(p, in, word)
}

// rows reads the rows after VALUES.
func rows(p *plans.Draft, in *State) rewrite.Reason {
	if p.Dialect.Grammar.RowWord {
		p.Accept("row")
	}
	if !p.IsPunct('(') {
		return p.Grammar()
	}
	width := in.Columns
	var columns []string
	if in.Columns <= 0 {
		q := p.Reader
		var reason rewrite.Reason
		if width, reason = rowWidth(&q); reason != "" {
			return reason
		}
		if columns, reason = Implied(&p.Reader, in, width); reason != "" {
			return reason
		}
	}
	var room [fewKeys]int
	missing := in.Missing(room[:0])
	List(p, in, columns, missing)
	exact := in.Columns <= 0 || in.lists() || in.Scopes != nil
	in.judged = in.lists() || in.Scopes != nil
	first, slots := p.Token.Start, len(p.Slots)
	for in.Rows = 0; ; {
		n, reason := row(p, in, missing)
		if reason != "" {
			return reason
		}
		if exact && n != width {
			return rewrite.ErrColumnCount
		}
		in.Rows++
		if !p.AcceptPunct(',') {
			if !in.involved && in.SessionKey() >= 0 {
				p.Constants = append(p.Constants, scan.Token{Kind: scan.Punct, Start: constantFrom(in, first), End: p.PrevEnd})
			}
			return ""
		}
		switch full := len(p.Slots) == cap(p.Slots) || len(p.Edits) == cap(p.Edits); {
		case full && len(p.Inserts) > 0:
			expect(p, len(p.Slots), 0) // the text has had several INSERTs, and the rest of it likely has more
		case full, in.Rows == 1 && len(p.Inserts) == 0:
			expect(p, len(p.Slots)-slots, first)
		}
		if p.Dialect.Grammar.RowWord {
			p.Accept("row")
		}
		if !p.IsPunct('(') {
			return p.Grammar()
		}
	}
}

// rowsInBrackets reads (VALUES …), with nothing but VALUES and its rows in the brackets.
func rowsInBrackets(p *plans.Draft, in *State) rewrite.Reason {
	p.Advance()
	in.suspect = true
	if reason := valuesRows(p, in); reason != "" {
		return reason
	}
	if !p.AcceptPunct(')') {
		return rowsGoOn(p, in)
	}
	return ""
}

// constantFrom returns where the part of an INSERT begins that cannot read
// LAST_INSERT_ID(), and that ends with its rows of constants, the first of which is at an
// offset. It is the offset of the verb, or of the first row if the text before it has a
// suspect name or a clause.
func constantFrom(in *State, first int) int {
	n := &in.name
	if in.suspect || in.Delayed || in.ListAt != n.End || n.Outside() != "" || isSuspect(n.Table) || isSuspect(n.Schema) {
		return first
	}
	return in.Offset
}

// isSuspect reports whether a name may be written like one of the words by which
// [plans.Draft.Plan] decides whether an INSERT reads LAST_INSERT_ID().
func isSuspect(name string) bool {
	return name != "" && suspects.MayHave(name) && suspects.Has(name)
}

var suspects = scan.NewWordSet("last_insert_id row_count rowcount value values set select with table ignore delayed")

// isConstant reports whether a token is a value that calls and reads nothing.
func isConstant(p *reader.Reader, t scan.Token) bool {
	switch t.Kind {
	case scan.Number, scan.String, scan.Placeholder:
		return true
	case scan.Word:
		return scan.EqualWord(p.TextOf(t), "null") || scan.EqualWord(p.TextOf(t), "default")
	}
	return false
}

// maxExpected bounds how many slots (places for keys) expect allocates room for after the
// first row.
const maxExpected = 16384

// expect allocates room for the slots (places for keys) in the rest of the text. It expects
// as many slots for each byte as the text has had since offset first.
func expect(p *plans.Draft, slots, first int) {
	rest := float64(len(p.Text)-p.PrevEnd) / float64(p.PrevEnd-first)
	n := int(min(float64(slots)*rest+1, float64(max(7*len(p.Slots), maxExpected))))
	p.Slots = slices.Grow(p.Slots, n)
	p.Edits = slices.Grow(p.Edits, n)
}

// rowWidth returns the number of values in the row that begins at the current token; -1 if
// one value stands for several.
func rowWidth(p *reader.Reader) (int, rewrite.Reason) {
	p.Advance()
	if p.IsPunct(')') {
		return 0, ""
	}
	star := false
	for n := 1; ; n++ {
		if !p.Single() {
			v, reason := p.Value(nil)
			if reason != "" {
				return 0, reason
			}
			star = star || v.Star
		}
		if !p.AcceptPunct(',') {
			if star {
				n = -1
			}
			return n, ""
		}
	}
}

// singles reads the values at the start of a row that are a single token each, from the
// row's bracket on. It returns how many there are, and reports whether the row ends after
// them. If the row goes on, the reader is at the next value. singles takes less time than
// reading the values one by one.
func singles(p *reader.Reader, in *State) (n int, closed bool) {
	for {
		if !natural(p) {
			p.Advance()
			t := p.Token
			if !p.Single() {
				return n, false
			}
			in.involved = in.involved || !isConstant(p, t)
		}
		n++
		if p.Text[p.Token.Start] == ')' {
			return n, true
		}
	}
}

// natural moves from the bracket or comma before a value to the comma or bracket after the
// value, if the value has only digits. If natural reports false, it has not moved.
func natural(p *reader.Reader) bool {
	i := p.Pos
	for i < len(p.Text) && scan.Classes[p.Text[i]]&scan.ClassSpace != 0 {
		i++
	}
	end := scan.DigitsEnd(p.Text, i)
	if end == i || end >= len(p.Text) || p.Text[end] != ',' && p.Text[end] != ')' {
		return false
	}
	p.PrevEnd, p.Token, p.Pos = end, scan.Token{Kind: scan.Punct, Start: end, End: end + 1}, end+1
	return true
}

// row reads one VALUES row from its bracket, judges the values of key columns and appends
// the missing keys. It returns how many values the row had; -1 if a value stands for
// several.
func row(p *plans.Draft, in *State, missing []int) (n int, reason rewrite.Reason) {
	slots := len(p.Slots)
	if in.Scopes != nil {
		in.Scopes.Begin(p.Token.Start)
	}
	closed := false
	if in.judged {
		p.Advance()
	} else {
		n, closed = singles(&p.Reader, in)
	}
	if n == 0 && p.IsPunct(')') && !p.Dialect.Grammar.EmptyLists {
		return 0, p.Grammar()
	}
	unknown := false // whether the number of values is not known
	for !closed && (!p.IsPunct(')') || n > 0) {
		v := reader.Value{Span: scan.Span{Start: p.Token.Start}, Before: p.Params.Count, Tokens: 1, First: p.Token}
		if p.Single() {
			in.involved = in.involved || !isConstant(&p.Reader, v.First)
		} else {
			in.involved = true
			if v, reason = Value(p, nil); reason != "" {
				return 0, reason
			}
			if in.Rows == 0 && p.Dialect.Grammar.ValueSets {
				in.calls = append(in.calls, v.Span)
			}
		}
		v.End = p.PrevEnd
		last := n
		if v.Star {
			known := false
			last, known = lastField(p, in, n)
			unknown = unknown || !known
		}
		for ; n <= last; n++ {
			if in.Scopes != nil {
				take(in.Scopes, &p.Reader, n, v)
			}
			for i := range in.Target.Keys {
				if in.judged && in.Listed.Of(i) == n {
					judge(p, in, i, in.Rows, v)
				}
			}
		}
		if !p.AcceptPunct(',') {
			break
		}
	}
	if !p.IsPunct(')') {
		return 0, p.Grammar()
	}
	for i, k := range missing {
		comma := ", "
		if n == 0 && i == 0 {
			comma = ""
		}
		p.Slot(p.PrevEnd, p.PrevEnd, comma, plans.Slot{Key: int32(k), Row: int32(in.Rows)})
	}
	p.Advance()
	if unknown {
		n = -1
	}
	return n, scoped(p, in, slots)
}
