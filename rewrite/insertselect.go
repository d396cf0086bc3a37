package rewrite

import (
	"slices"
	"strconv"
	"strings"
)

// An INSERT whose rows come from a query gets its keys from the engine, which
// numbers the rows from a first key that is sent: how many there are is not
// known before. The query becomes a common table expression with names for its
// columns, so that DISTINCT, set operations and LIMIT come first:
//
//	INSERT INTO t (a, id) WITH kf (c1) AS (query)
//	SELECT c1, CASE WHEN ROW_NUMBER() OVER () <= rows
//	  THEN base + ROW_NUMBER() OVER () ELSE error END FROM kf
//
// rows is the number of keys that were reserved behind base. A row too many is
// an error of the engine, so that no row gets a key that is not its own.

// Query is the query of an INSERT … SELECT whose rows get their keys from the
// engine: it numbers them, or calls a function of its own. A column that is
// numbered takes two values of its draw: the number of keys, and the number
// before the first key.
type Query struct {
	// Unsure says that the query calls functions that may change something, so
	// that a count of its rows has to be undone.
	Unsure bool

	// Survives says that each value of the query is known to be the same after a
	// temporary table, in which a dialect with Numbering.Carries holds the rows that
	// ROW_NUMBER() numbers; true elsewhere.
	Survives bool

	// Table is the table as the INSERT names it.
	Table TableName

	// SetRow says that the query is the only row of VALUES, which calls a function that
	// returns a set: see [ErrSet].
	SetRow bool

	// Constructed are the folded names of the columns whose value in such a row is a row
	// constructor without a type.
	Constructed []string

	outer   with     // in front of INSERT; for an INSERT in a WITH clause, the definitions in front of it
	near    with     // in front of such an INSERT itself
	inner   with     // in front of SELECT, where it may not stand in another one
	main    span     // the query behind it
	from    int      // the caller's placeholders in front of the query
	to      int      // and in front of what follows it
	name    string   // of the common table expression that it becomes
	columns []string // the names of its columns; nil where they keep their own
	order   ordering // what it is ordered by outside of its expression
	lifts   []lift
	suffix  string  // what the query needs behind it
	counted bool    // a key is a number; else all are made by functions or have tails
	tailed  bool    // a key has a tail
	merged  bool    // the query is a common table expression, whose rows are numbered
	implied bool    // the INSERT has no column list
	given   given   // where the engine is given the first number
	changes int     // the offset of the first value that may not survive
	doubts  []Doubt // the columns that may not survive; nil: more is in doubt
}

// span is a piece of the text.
type span struct{ start, end int }

// with is a WITH clause: nothing, or from the word to the last bracket.
type with struct {
	span
	from, to int // the caller's placeholders in front of it and of what follows
}

func (w with) empty() bool { return w.start == w.end }

// lift is a value of the query's select list that takes its type from the
// column that it goes to, and so is selected outside of the WITH clause.
type lift struct {
	span
	column int  // from 0
	param  bool // it is a placeholder
}

// query reads rows that come from elsewhere: nothing is to fill when the
// column list names every key.
func (p *parser) query(in *insertState, reason Reason) Reason {
	var columns []string
	if reason == ErrSelect && in.columns < 0 {
		var why Reason
		if columns, why = p.impliedByQuery(in); why != "" {
			return why
		}
	}
	var room [fewKeys]int
	missing := in.missing(room[:0])
	switch {
	case len(missing) == 0:
		for k := range in.Target.Keys {
			in.open(k)
		}
		p.kept(in)
		return ""
	case reason != ErrSelect:
		return reason
	}
	if in.lacksScope(missing) {
		return ErrScope
	}
	if p.selectRows(in, columns, missing) {
		return ""
	}
	for _, k := range missing {
		if !in.Target.Keys[k].byEngine() {
			return ErrSelect
		}
	}
	s := p.queryFacts()
	p.readQuery(&s)
	p.surveyWith(&s, s.outer)
	p.surveyWith(&s, s.near)
	if s.reason != "" {
		p.blamed = s.blamed
		return s.reason
	}
	return p.numbered(in, &s, columns, missing)
}

// kept moves past a query that brings its keys.
func (p *parser) kept(in *insertState) {
	for depth := 0; !p.atEnd() && !p.inside; p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0:
			p.nested(ErrCTE)
		case p.begins(), p.opensBlock() != plain:
			return
		default:
			in.Returning = in.Returning || p.isWord("returning")
			p.nested(p.beside())
		}
	}
}

// impliedByQuery returns the columns that a query's values belong to without a
// column list, and notes which of them are keys.
func (p *parser) impliedByQuery(in *insertState) ([]string, Reason) {
	columns := in.Target.Columns
	if columns == nil {
		if !in.linked {
			in.Unlisted = p.q[in.name.start:in.name.end]
		}
		return nil, ErrNoColumnList
	}
	var s queryFacts
	p.fork().readQuery(&s)
	least, exact := s.width()
	switch {
	case exact && least > len(columns), exact && least < len(columns) && !p.d.Grammar.FirstColumns:
		return nil, ErrColumnCount
	case exact:
		columns = columns[:least]
	}
	for k := range in.Target.Keys {
		in.listed.set(k, slices.IndexFunc(columns, func(c string) bool { return p.d.Fold(c, true) == in.Target.Keys[k].Column }))
		if !exact && p.d.Grammar.FirstColumns && in.listed.of(k) >= least {
			return nil, ErrColumnCount
		}
	}
	if !exact && p.d.Grammar.FirstColumns && in.lacks() {
		return nil, ErrColumnCount
	}
	return columns, ""
}

// numbered queues what numbers the rows of a query that was read; with columns
// the list is written too.
func (p *parser) numbered(in *insertState, s *queryFacts, columns []string, missing []int) Reason {
	n := &p.d.Numbering
	width := in.columns
	if columns != nil {
		width = len(columns)
	}
	least, exact := s.width()
	switch {
	case width <= 0, p.recursive && in.counts(missing):
		return ErrSelectForm
	case exact && least != width:
		return ErrColumnCount
	}
	q := &Query{
		Unsure: s.unsure, outer: s.outer, near: s.near, inner: s.inner, main: s.main, from: s.from, to: s.to,
		name: p.unused("kf"), SetRow: s.values, implied: columns != nil,
		Table: TableName{in.name.schema, in.name.table, p.q[in.name.start:in.name.end]},
	}
	if columns == nil {
		q.given = p.numbersGivenTo(in, missing)
	}
	q.Survives = true
	in.Query = q
	if s.appends(n) && !in.counts(missing) && in.tails(missing) {
		p.list(in, columns, missing)
		p.appended(in, s, missing)
		return ""
	}
	q.merged = true
	if n.Carries {
		q.changes, q.doubts, q.Survives = p.querySurvives(s.main)
	}
	if !q.Survives && (in.tails(missing) || q.doubts == nil && !q.given.isFound && in.counts(missing)) {
		p.blamed = q.changes
		return ErrSelectValues
	}
	if exact || !n.LooseNames {
		q.columns = p.columnNames(width)
	}
	p.edits, p.slots = slices.Grow(p.edits, 4+2*len(missing)), slices.Grow(p.slots, 2*len(missing))
	switch {
	case !s.plain || len(s.lifts) == 0:
	case s.stars == 0:
		q.lifts = s.lifts
	case n.LooseNames:
		return ErrSelectForm // which column each goes to depends on how many the star stands for
	}
	if n.Unordered && s.ordered {
		if o, ok := p.orderOf(s, q.columns, p.unused("kf_o")); ok {
			q.order = o
		} else if in.Conflict != ConflictError || p.isWord("on") {
			return ErrOrder
		}
	}
	if n.Ordered && s.ordered && !s.limited {
		q.suffix = " OFFSET 0 ROWS"
	}
	if n.First {
		b := make([]byte, 0, 64+q.main.end-q.main.start)
		b = append(q.define(append(b, p.opens(q.outer)...)), p.q[q.main.start:q.main.end]...)
		p.edit(in.Offset, in.Offset, string(append(append(b, q.suffix...), ") "...)))
		p.list(in, columns, missing)
		p.numbers(in, q.main, "", missing)
		return ""
	}
	p.list(in, columns, missing)
	var b [128]byte
	p.edit(q.main.start, q.main.start, string(q.define(append(b[:0], p.opens(q.inner)...))))
	for _, l := range q.lifts {
		if l.param {
			p.edit(l.start, l.end, "NULL")
		}
	}
	if q.order.added != "" {
		p.edit(q.order.at, q.order.at, q.order.added)
	}
	before := ") "
	if q.suffix != "" {
		before = q.suffix + before
	}
	p.numbers(in, span{q.main.end, q.main.end}, before, missing)
	return ""
}

// counts reports whether one of the keys is a number.
func (in *insertState) counts(keys []int) bool {
	return slices.ContainsFunc(keys, func(k int) bool { return in.Target.Keys[k].Counted })
}

// columnNames returns names for the query's columns: no other name of the text is
// one of them, since ON DUPLICATE KEY UPDATE may read the columns of the query's
// tables.
func (p *parser) columnNames(n int) []string {
	prefix := "c"
	if p.frees().numbered {
		prefix = p.unused("kf_c")
	}
	if prefix == "c" && n <= len(usualNames) {
		return usualNames[:n:n]
	}
	return namesOf(prefix, n)
}

// usualNames are the names that most queries get, which are not to be changed.
var usualNames = namesOf("c", 32)

// namesOf returns a name for each of n columns.
func namesOf(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i+1)
	}
	return names
}

// lifts reports whether a value that is alone in a plain select list has no type of
// its own.
func (p *reader) lifts(value token) bool {
	n := &p.d.Numbering
	switch value.kind {
	case tokWord:
		return (n.ByTarget || n.NullByTarget) && equalWord(p.text(value), "null")
	case tokParam:
		return n.ByTarget
	case tokString:
		return n.ByTarget && strings.IndexByte("bBxXnN", p.q[value.start]) < 0
	}
	return false
}

// opens queues the comma behind the caller's WITH clause, and returns what the
// definition of the query begins with.
func (p *parser) opens(w with) string {
	if w.empty() {
		return "WITH "
	}
	p.edit(w.end, w.end, ",")
	return ""
}

// define appends the text in front of the query.
func (q *Query) define(b []byte) []byte {
	if b = q.named(b); q.SetRow {
		b = append(b, "SELECT "...)
	}
	return b
}

// named appends the name of the query, the names of its columns, AS and a
// bracket.
func (q *Query) named(b []byte) []byte {
	b = append(b, q.name...)
	for i, c := range q.columns {
		sep := ", "
		if i == 0 {
			sep = " ("
		}
		b = append(append(b, sep...), c...)
	}
	for _, c := range q.order.names {
		b = append(append(b, ", "...), c...)
	}
	if q.columns != nil {
		b = append(b, ')')
	}
	return append(b, " AS ("...)
}

// numbers queues the select list behind the WITH clause, in the place of a span.
func (p *parser) numbers(in *insertState, at span, before string, missing []int) {
	q, n := in.Query, &p.d.Numbering
	number, checked := n.Number, n.Checked
	if q.order.by != "" {
		number = strings.Replace(number, "OVER ()", "OVER (ORDER BY "+q.order.by+")", 1)
		if checked == n.Number {
			checked = number
		}
	}
	var room [256]byte
	b := append(append(room[:0], before...), "SELECT "...)
	lifts, named := q.lifts, q.columns
	if named == nil || n.LooseNames && len(lifts) == 0 {
		// A column more than names stays an error of the engine.
		b = append(append(b, q.name...), ".*"...)
		named = nil
	}
	for i, c := range named {
		if i > 0 {
			b = append(b, ", "...)
		}
		if len(lifts) > 0 && lifts[0].column == i {
			c, lifts = p.q[lifts[0].start:lifts[0].end], lifts[1:]
		}
		b = append(b, c...)
	}
	for _, k := range missing {
		b = append(b, ", "...)
		key := &in.Target.Keys[k]
		if !key.Counted {
			b = p.keyOfRow(in, b, &at, k, number)
			continue
		}
		q.counted = true
		var open, shut string
		if !key.Integer {
			open, shut, _ = strings.Cut(n.Text, "%")
		}
		b = append(append(append(append(b, open...), "CASE WHEN "...), checked...), " <= "...)
		p.slot(at.start, at.end, string(b), slot{key: int32(k)})
		at.start = at.end
		p.slot(at.end, at.end, " THEN ", slot{key: int32(k)})
		b = append(append(append(b[:0], " + "...), number...), " ELSE "...)
		b = append(append(append(b, n.Fail...), " END"...), shut...)
	}
	b = append(append(b, " FROM "...), q.name...)
	if q.order.by != "" {
		b = append(append(b, " ORDER BY "...), q.order.by...)
	}
	if n.Where && !p.atEnd() {
		b = append(b, " WHERE true"...)
	}
	if at.end < len(p.q) && p.isPart(p.q[at.end]) {
		b = append(b, ' ') // kfRETURNING would be a name
	}
	p.edit(at.start, at.end, string(b))
}
