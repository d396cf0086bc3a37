package inserts

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// PostgreSQL stores several rows for the only row of VALUES if a value in it is a set:
// VALUES (generate_series(2, 4)) is three rows, which would get one key. No list of names
// can identify the functions and operators that return sets, since the search path decides
// which functions are meant. So a value that may be a set is written as COALESCE(value),
// which has the same value, and in which the engine refuses a set when it reads the
// statement: PostgreSQL 18 documentation, section 36.5.9, and transformCoalesceExpr in
// src/backend/parser/parse_expr.c. A row that calls one of the engine's own functions for
// sets is filled as a query.

// valuesQuery fills the only row of VALUES as a query: SELECT and the row's values. The
// row begins at the current token; word is the span of VALUES.
func valuesQuery(p *plans.Draft, in *State, word scan.Span) rewrite.Reason {
	var columns []string
	if in.Columns <= 0 {
		q := p.Reader
		width, reason := rowWidth(&q)
		if reason == "" {
			columns, reason = Implied(&p.Reader, in, width)
		}
		if reason != "" {
			return reason
		}
	}
	var room [fewKeys]int
	missing := in.Missing(room[:0])
	for _, k := range missing {
		if !in.Target.Keys[k].ByEngine() {
			return rewrite.ErrSelect
		}
	}
	if in.LacksScope(missing) {
		return rewrite.ErrScope
	}
	s := FactsAround(p)
	s.Values, s.Listed, s.Plain, s.Unsure, s.From = true, true, true, p.Dialect.Numbering.Hidden, p.Params.Count
	n := len(p.Edits)
	p.Edit(word.Start, word.End, "")
	p.Edit(p.Token.Start, p.Token.End, "")
	p.Advance()
	s.Main.Start = p.Token.Start
	var constructors []int
	for {
		v, reason := Value(p, nil)
		switch t, only := only(&p.Reader, v); {
		case reason != "":
			return reason
		case v.Star:
			s.Stars++
		case only && t.Kind == scan.Word && scan.EqualWord(p.TextOf(t), "default"):
			return rewrite.ErrSet
		case only && selects.Lifts(&p.Reader, t):
			s.Lifts = append(s.Lifts, selects.Lift{Span: scan.Span{Start: t.Start, End: t.End}, Column: s.Items, Param: t.Kind == scan.Placeholder})
		case s.Stars == 0 && selects.IsRowConstructor(&p.Reader, v.Span):
			constructors = append(constructors, s.Items)
		}
		s.Items++
		if !p.AcceptPunct(',') {
			break
		}
	}
	s.Main.End, s.To = p.PrevEnd, p.Params.Count
	if !p.IsPunct(')') {
		return p.Grammar()
	}
	end := p.Token
	p.Advance()
	surveyOuter(p, &s)
	selects.SurveyWith(&p.Reader, &s, s.Near)
	if s.Reason != "" {
		return s.Reason
	}
	in.Rows = -1
	if reason := numbered(p, in, &s, columns, missing); reason != "" {
		return reason
	}
	if constructors != nil {
		in.Query.Constructed = columnsAt(&p.Reader, in, columns, constructors)
	}
	p.Edit(end.Start, end.End, "")
	sortEdits(p, n)
	return ""
}

// columnsAt returns the folded names of the INSERT's columns with the given indexes.
// implied has its columns if it has no column list.
func columnsAt(p *reader.Reader, in *State, implied []string, places []int) (columns []string) {
	var listed []string
	for _, c := range implied {
		listed = append(listed, p.Dialect.Fold(c, true))
	}
	if implied == nil {
		q := p.Within(scan.Span{Start: in.name.End, End: in.ListEnd})
		for ; !q.IsPunct('(') && q.Token.Kind != scan.End; q.Advance() {
		}
		for q.AcceptPunct('('); ; q.Advance() {
			c, _, reason := q.Column()
			if listed = append(listed, c); reason != "" || !q.IsPunct(',') {
				break
			}
		}
	}
	for _, i := range places {
		if i < len(listed) {
			columns = append(columns, listed[i])
		}
	}
	return columns
}

// only returns the single token of a value, without brackets and collations. It reports
// false for a value of several tokens.
func only(p *reader.Reader, v reader.Value) (scan.Token, bool) {
	q := p.Within(v.Span)
	for q.AcceptPunct('(') {
	}
	t := q.Token
	q.Advance()
	for selects.Collations(&q); q.AcceptPunct(')'); selects.Collations(&q) {
	}
	return t, q.Token.Kind == scan.End
}

// scalars queues edits by which the engine refuses the values of the only row of VALUES
// that are sets. The edits of the row begin with the n-th.
func scalars(p *plans.Draft, in *State, values []scan.Span, n int) rewrite.Reason {
	var guards []plans.Edit
	var records []scan.Span
	for _, v := range values {
		scalar(&p.Reader, &guards, &records, v, 0)
	}
	if reason := guardRecords(p, in, records, n); reason != "" || guards == nil {
		return reason
	}
	p.Guarded = true
	// If a COALESCE begins where a key is inserted, the COALESCE comes first.
	p.Edits = append(p.Edits[:n], append(guards, p.Edits[n:]...)...)
	sortEdits(p, n)
	return ""
}

// sortEdits sorts the edits from the n-th on by their place in the text.
func sortEdits(p *plans.Draft, n int) {
	slices.SortStableFunc(p.Edits[n:], func(a, b plans.Edit) int { return a.Start - b.Start })
}

// scalar appends to guards the edits by which the engine refuses a value that is a set. If
// the value is the fields of a record, it appends the record to records. A literal stays
// unchanged, since it takes the column's type. A row without a type stays unchanged too;
// its values are guarded one by one.
func scalar(p *reader.Reader, guards *[]plans.Edit, records *[]scan.Span, v scan.Span, depth int) {
	if selects.IsOne(p, v) {
		return
	}
	if inner, ok := selects.InBrackets(p, v); ok && depth < selects.MaxBrackets {
		for _, v := range inner {
			scalar(p, guards, records, v, depth+1)
		}
		return
	}
	record, isRecord := selects.AllFields(p, v)
	switch {
	case isRecord:
		if !selects.IsOne(p, record) && selects.MayBeSet(p, record) {
			*records = append(*records, record)
		}
	case selects.MayBeSet(p, v):
		*guards = append(*guards, plans.Edit{Start: v.Start, End: v.Start, Text: "COALESCE(", Slot: -1}, plans.Edit{Start: v.End, End: v.End, Text: ")", Slot: -1})
	}
}
