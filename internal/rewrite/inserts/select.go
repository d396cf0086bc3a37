package inserts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// query reads an INSERT whose rows do not come from VALUES. If the column list names every
// key, nothing is filled.
func query(p *plans.Draft, in *State, reason rewrite.Reason) rewrite.Reason {
	var columns []string
	if reason == rewrite.ErrSelect && in.Columns < 0 {
		var why rewrite.Reason
		if columns, why = impliedByQuery(p, in); why != "" {
			return why
		}
	}
	var room [fewKeys]int
	missing := in.Missing(room[:0])
	switch {
	case len(missing) == 0:
		for k := range in.Target.Keys {
			in.open(k)
		}
		kept(p, in)
		return ""
	case reason != rewrite.ErrSelect:
		return reason
	}
	if in.LacksScope(missing) {
		return rewrite.ErrScope
	}
	if selectRows(p, in, columns, missing) {
		return ""
	}
	for _, k := range missing {
		if !in.Target.Keys[k].ByEngine() {
			return rewrite.ErrSelect
		}
	}
	s := FactsAround(p)
	selects.ReadQuery(&p.Reader, &s)
	surveyOuter(p, &s)
	selects.SurveyWith(&p.Reader, &s, s.Near)
	if s.Reason != "" {
		p.RefusalOffset = s.Blamed
		return s.Reason
	}
	return numbered(p, in, &s, columns, missing)
}

// kept moves past the query of an INSERT that brings its keys.
func kept(p *plans.Draft, in *State) {
	for depth := 0; !p.AtEnd() && !p.IsInner; p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		case depth > 0:
			JudgeInner(p, rewrite.ErrCTE)
		case BeginsStatement(p):
			return
		default:
			in.Returning = in.Returning || p.IsWord("returning")
			JudgeInner(p, InnerReason(p))
		}
	}
}

// impliedByQuery returns the columns to which a query's values belong if there is no column
// list, and notes which of them are keys.
func impliedByQuery(p *plans.Draft, in *State) ([]string, rewrite.Reason) {
	columns := in.Target.Columns
	if columns == nil {
		if !in.linked {
			in.Name.Unlisted = p.Text[in.name.Start:in.name.End]
		}
		return nil, rewrite.ErrNoColumnList
	}
	var s selects.Facts
	selects.ReadWidth(&Fork(p).Reader, &s)
	least, exact := s.Width()
	switch {
	case exact && least > len(columns), exact && least < len(columns) && !p.Dialect.Grammar.FirstColumns:
		return nil, rewrite.ErrColumnCount
	case exact:
		columns = columns[:least]
	}
	for k := range in.Target.Keys {
		in.Listed.Set(k, slices.IndexFunc(columns, func(c string) bool { return p.Dialect.Fold(c, true) == in.Target.Keys[k].Column }))
		if !exact && p.Dialect.Grammar.FirstColumns && in.Listed.Of(k) >= least {
			return nil, rewrite.ErrColumnCount
		}
	}
	if !exact && p.Dialect.Grammar.FirstColumns && in.Lacks() {
		return nil, rewrite.ErrColumnCount
	}
	return columns, ""
}

// numbered queues the edits by which the engine numbers the rows of a query that was read.
// If columns is not nil, it also writes the column list.
func numbered(p *plans.Draft, in *State, s *selects.Facts, columns []string, missing []int) rewrite.Reason {
	n := &p.Dialect.Numbering
	width := in.Columns
	if columns != nil {
		width = len(columns)
	}
	least, exact := s.Width()
	switch {
	case width <= 0, p.With.Recursive && in.counts(missing):
		return rewrite.ErrSelectForm
	case exact && least != width:
		return rewrite.ErrColumnCount
	}
	q := &plans.Query{
		Unsure: s.Unsure, Parts: plans.QueryParts{Outer: s.Outer, Near: s.Near, Inner: s.Inner, Main: s.Main, From: s.From, To: s.To},
		Name: p.Unused("kf"), SetRow: s.Values, Implied: columns != nil,
		Table: plans.TableName{Schema: in.name.Schema, Table: in.name.Table, Text: p.Text[in.name.Start:in.name.End]},
	}
	if columns == nil {
		q.Given = numbersGivenTo(p, in, missing)
	}
	q.Survives = true
	in.Query = q
	if s.Appends(n) && !in.counts(missing) && in.tails(missing) {
		List(p, in, columns, missing)
		appended(p, in, s, missing)
		return ""
	}
	q.Merged = true
	if n.Carries {
		q.Changes, q.Doubts, q.Survives = selects.QuerySurvives(&p.Reader, s.Main)
	}
	if !q.Survives && (in.tails(missing) || q.Doubts == nil && !q.Given.IsFound && in.counts(missing)) {
		p.RefusalOffset = q.Changes
		return rewrite.ErrSelectValues
	}
	if exact || !n.LooseNames {
		q.Columns = columnNames(p, width)
	}
	p.Edits, p.Slots = slices.Grow(p.Edits, 4+2*len(missing)), slices.Grow(p.Slots, 2*len(missing))
	switch {
	case !s.Plain || len(s.Lifts) == 0:
	case s.Stars == 0:
		q.Lifts = s.Lifts
	case n.LooseNames:
		return rewrite.ErrSelectForm // which columns the values belong to depends on how many columns the star stands for
	}
	if n.Unordered && s.Ordered {
		if o, ok := selects.OrderOf(&p.Reader, s, q.Columns, p.Unused("kf_o")); ok {
			q.Order = o
		} else if in.Upsert.Conflict != plans.ConflictError || p.IsWord("on") {
			return rewrite.ErrOrder
		}
	}
	if n.Ordered && s.Ordered && !s.Limited {
		q.Suffix = " OFFSET 0 ROWS"
	}
	if n.First {
		b := make([]byte, 0, 64+q.Parts.Main.End-q.Parts.Main.Start)
		b = append(q.Define(append(b, opens(p, q.Parts.Outer)...)), p.Text[q.Parts.Main.Start:q.Parts.Main.End]...)
		p.Edit(in.Offset, in.Offset, string(append(append(b, q.Suffix...), ") "...)))
		List(p, in, columns, missing)
		numbers(p, in, q.Parts.Main, "", missing)
		return ""
	}
	List(p, in, columns, missing)
	var b [128]byte
	p.Edit(q.Parts.Main.Start, q.Parts.Main.Start, string(q.Define(append(b[:0], opens(p, q.Parts.Inner)...))))
	for _, l := range q.Lifts {
		if l.Param {
			p.Edit(l.Start, l.End, "NULL")
		}
	}
	if q.Order.Added != "" {
		p.Edit(q.Order.At, q.Order.At, q.Order.Added)
	}
	before := ") "
	if q.Suffix != "" {
		before = q.Suffix + before
	}
	numbers(p, in, scan.Span{Start: q.Parts.Main.End, End: q.Parts.Main.End}, before, missing)
	return ""
}

// counts reports whether one of the keys is a number that the engine counts for each row.
func (in *State) counts(keys []int) bool {
	return slices.ContainsFunc(keys, func(k int) bool { return in.Target.Keys[k].Counted })
}

// columnNames returns names for the query's columns that do not occur in the text, since ON
// DUPLICATE KEY UPDATE may read the columns of the query's tables.
func columnNames(p *plans.Draft, n int) []string {
	prefix := "c"
	if p.Frees().Numbered {
		prefix = p.Unused("kf_c")
	}
	if prefix == "c" && n <= len(usualNames) {
		return usualNames[:n:n]
	}
	return namesOf(prefix, n)
}

// usualNames are the names of columns for most queries. They must not be changed.
var usualNames = namesOf("c", 32)

// namesOf returns a name for each of n columns.
func namesOf(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i+1)
	}
	return names
}

// opens queues the comma after the caller's WITH clause, and returns the text before the
// definition of the query.
func opens(p *plans.Draft, w selects.With) string {
	if w.Empty() {
		return "WITH "
	}
	p.Edit(w.End, w.End, ",")
	return ""
}

// numbers replaces a span by the select list, after the WITH clause, that numbers the rows.
// before is the text that precedes the select list.
func numbers(p *plans.Draft, in *State, at scan.Span, before string, missing []int) {
	q, n := in.Query, &p.Dialect.Numbering
	number, checked := n.Number, n.Checked
	if q.Order.By != "" {
		number = strings.Replace(number, "OVER ()", "OVER (ORDER BY "+q.Order.By+")", 1)
		if checked == n.Number {
			checked = number
		}
	}
	var room [256]byte
	b := append(append(room[:0], before...), "SELECT "...)
	lifts, named := q.Lifts, q.Columns
	if named == nil || n.LooseNames && len(lifts) == 0 {
		// If the query has more columns than there are names, the engine must still fail.
		b = append(append(b, q.Name...), ".*"...)
		named = nil
	}
	for i, c := range named {
		if i > 0 {
			b = append(b, ", "...)
		}
		if len(lifts) > 0 && lifts[0].Column == i {
			c, lifts = p.Text[lifts[0].Start:lifts[0].End], lifts[1:]
		}
		b = append(b, c...)
	}
	for _, k := range missing {
		b = append(b, ", "...)
		key := &in.Target.Keys[k]
		if !key.Counted {
			b = keyOfRow(p, in, b, &at, k, number)
			continue
		}
		q.Counted = true
		var open, shut string
		if !key.Integer {
			open, shut, _ = strings.Cut(n.Text, "%")
		}
		b = append(append(append(append(b, open...), "CASE WHEN "...), checked...), " <= "...)
		p.Slot(at.Start, at.End, string(b), plans.Slot{Key: int32(k)})
		at.Start = at.End
		p.Slot(at.End, at.End, " THEN ", plans.Slot{Key: int32(k)})
		b = append(append(append(b[:0], " + "...), number...), " ELSE "...)
		b = append(append(append(b, n.Fail...), " END"...), shut...)
	}
	b = append(append(b, " FROM "...), q.Name...)
	if q.Order.By != "" {
		b = append(append(b, " ORDER BY "...), q.Order.By...)
	}
	if n.Where && !p.AtEnd() {
		b = append(b, " WHERE true"...)
	}
	if at.End < len(p.Text) && p.IsPart(p.Text[at.End]) {
		b = append(b, ' ') // without the space, kfRETURNING would be a name
	}
	p.Edit(at.Start, at.End, string(b))
}

// surveyOuter notes in s the facts about the WITH clause before an INSERT, as
// [selects.SurveyWith] does. For an INSERT inside of a WITH clause, these are the
// definitions before the INSERT, which several INSERTs survey only once.
func surveyOuter(p *plans.Draft, s *selects.Facts) {
	if p.With.Survey == nil {
		p.With.Survey = new(selects.Survey)
	}
	p.With.Survey.Go(&p.Reader, s, s.Outer)
}

// FactsAround returns the facts about the query of an INSERT that are known before the
// query is read.
func FactsAround(p *plans.Draft) selects.Facts {
	if p.Limit > 0 {
		return selects.Facts{Outer: p.With.Enclosing, Near: p.With.Outer}
	}
	return selects.Facts{Outer: p.With.Outer}
}
