package inserts

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// queryInBrackets reports whether the bracket at the current token opens a query, and not a
// column list.
func queryInBrackets(p *reader.Reader) bool {
	next, _ := p.Peek()
	switch {
	case next.Kind == scan.Punct:
		return p.Text[next.Start] == '('
	case next.Kind != scan.Word || !scan.EqualAny(p.TextOf(next), "select", "with", "values", "table"):
		return false
	}
	// A word such as VALUES that is alone between commas or brackets is a column's name.
	q := *p
	q.Advance()
	q.Advance()
	return !q.IsPunct(',') && !q.IsPunct(')') && !q.IsPunct('.')
}

// ColumnList reads "(a, b)" and notes which of the columns are keys.
func ColumnList(p *reader.Reader, in *State) rewrite.Reason {
	in.Columns, in.ListEnd = 0, p.Token.End
	for {
		if in.Scopes == nil && !plainColumns(p, in) {
			return rewrite.ErrGrammar
		}
		if p.IsPunct(')') {
			p.Advance()
			return ""
		}
		p.Advance()
		if in.Columns == 0 && p.AcceptPunct(')') {
			if !p.Dialect.Grammar.EmptyLists {
				return rewrite.ErrGrammar
			}
			return ""
		}
		if reason := column(p, in); reason != "" {
			return reason
		}
		if !p.IsPunct(',') && !p.IsPunct(')') {
			return p.Grammar()
		}
	}
}

// column reads a column of a list, up to the comma or bracket after it.
func column(p *reader.Reader, in *State) rewrite.Reason {
	at := p.Token
	column, plain, reason := p.Column()
	if reason != "" {
		return reason
	}
	for i := range in.Target.Keys {
		if in.Target.Keys[i].Column == column {
			if !plain {
				return rewrite.ErrTarget
			}
			if in.Listed.Of(i) >= 0 {
				return rewrite.ErrGrammar
			}
			in.Listed.Set(i, in.Columns)
		}
	}
	if in.Scopes != nil {
		in.Scopes.List(column, in.Columns, plain)
	}
	in.suspect = in.suspect || isSuspect(column) || p.PrevEnd != at.End
	if slices.Contains(p.Dialect.Grammar.RowIDs, column) && !in.isKey(column) {
		in.overruled, in.overruledAt = rewrite.ErrRowID, at
	}
	in.Columns++
	in.ListEnd = p.PrevEnd
	return ""
}

// plainColumns moves from the bracket or comma at the current token past the following
// columns that are plain words, to the comma or bracket after the last of them. It does the
// same as column, in less time, and reports false if the list has a key twice.
func plainColumns(p *reader.Reader, in *State) bool {
	for {
		t, ok := p.PlainWord()
		if !ok {
			return true
		}
		if plainColumn(p, in, t) {
			return false
		}
		in.Columns++
		in.ListEnd = t.End
		if p.IsPunct(')') {
			return true
		}
	}
}

// plainColumn reads a column that is a plain word, and reports whether it is a key that the
// list already has.
func plainColumn(p *reader.Reader, in *State, t scan.Token) (again bool) {
	name, key := p.TextOf(t), false
	in.suspect = in.suspect || isSuspect(name)
	for i := range in.Target.Keys {
		if foldsPlain(p.Dialect, name, in.Target.Keys[i].Column) {
			if in.Listed.Of(i) >= 0 {
				return true
			}
			in.Listed.Set(i, in.Columns)
			key = true
		}
	}
	for _, rowID := range p.Dialect.Grammar.RowIDs {
		if !key && foldsPlain(p.Dialect, name, rowID) {
			in.overruled, in.overruledAt = rewrite.ErrRowID, t
		}
	}
	return false
}

// foldsPlain returns the result of [dialect.Dialect.Folds] for a plain word. The length
// decides first, since the folded form of a plain word has the same length.
func foldsPlain(d *dialect.Dialect, word, folded string) bool {
	return len(word) == len(folded) && d.Folds(word, false, folded)
}

// isKey reports whether a column is one of the keys, by the key's own name.
func (in *State) isKey(column string) bool {
	return slices.ContainsFunc(in.Target.Keys, func(k plans.Key) bool { return k.Column == column })
}

// List queues a column list, or adds the missing keys to the existing list.
func List(p *plans.Draft, in *State, columns []string, missing []int) {
	if len(columns)+len(missing) == 0 {
		return
	}
	var room [64]byte
	b, at, sep := room[:0], in.ListEnd, ", "
	switch {
	case in.Columns < 0:
		at, sep = in.ListAt, " ("
	case in.Columns == 0:
		sep = ""
	}
	for _, c := range columns {
		b = p.Dialect.AppendIdent(append(b, sep...), c)
		sep = ", "
	}
	for _, k := range missing {
		b = p.Dialect.AppendIdent(append(b, sep...), in.Target.Keys[k].Column)
		sep = ", "
	}
	if in.Columns < 0 {
		b = append(b, ')')
	}
	if p.LastList != string(b) {
		p.LastList = string(b)
	}
	p.Edit(at, at, p.LastList)
}

// Implied returns the columns to which n values belong if there is no column list, and
// notes which of them are keys.
func Implied(p *reader.Reader, in *State, n int) ([]string, rewrite.Reason) {
	columns := in.Target.Columns
	switch {
	case n == 0 && p.Dialect.Grammar.EmptyLists:
		return nil, ""
	case n > 0 && columns == nil:
		if !in.linked {
			in.Name.Unlisted = p.Text[in.name.Start:in.name.End]
		}
		return nil, rewrite.ErrNoColumnList
	case n <= 0:
		return nil, rewrite.ErrNoColumnList
	case p.Dialect.Grammar.FirstColumns && n < len(columns):
		columns = columns[:n]
	case n != len(columns):
		return nil, rewrite.ErrColumnCount
	}
	for i, c := range columns {
		if in.Scopes != nil {
			in.Scopes.List(p.Dialect.Fold(c, true), i, true)
		}
		for k := range in.Target.Keys {
			if in.Target.Keys[k].Column == p.Dialect.Fold(c, true) {
				in.Listed.Set(k, i)
			}
		}
	}
	return columns, ""
}
