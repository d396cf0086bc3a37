package rewrite

import "slices"

// PostgreSQL stores several rows for the only row of VALUES where a value of it is
// a set: VALUES (generate_series(2, 4)) is three rows, which would get one key. No
// list of names tells which functions and operators return sets, since the search
// path decides which are meant. So a value that may be a set is written as
// COALESCE(value), which is the same value, and in which the engine refuses a set
// when it reads the statement: PostgreSQL 18 documentation, section 36.5.9, and
// transformCoalesceExpr in src/backend/parser/parse_expr.c. A row that calls one of
// the engine's own functions for sets is filled as the query that it is.

// valuesQuery fills the only row of VALUES as a query: SELECT and the row's values.
// The row begins at the parser's token, word is where VALUES stands.
func (p *parser) valuesQuery(in *insertState, word span) Reason {
	var columns []string
	if in.columns <= 0 {
		q := p.reader
		width, reason := q.width()
		if reason == "" {
			columns, reason = p.implied(in, width)
		}
		if reason != "" {
			return reason
		}
	}
	var room [fewKeys]int
	missing := in.missing(room[:0])
	for _, k := range missing {
		if !in.Target.Keys[k].byEngine() {
			return ErrSelect
		}
	}
	if in.lacksScope(missing) {
		return ErrScope
	}
	s := p.queryFacts()
	s.values, s.listed, s.plain, s.unsure, s.from = true, true, true, p.d.Numbering.Hidden, p.params.count
	n := len(p.edits)
	p.edit(word.start, word.end, "")
	p.edit(p.tok.start, p.tok.end, "")
	p.advance()
	s.main.start = p.tok.start
	var constructors []int
	for {
		v, reason := p.value(nil)
		switch t, only := p.only(v); {
		case reason != "":
			return reason
		case v.star:
			s.stars++
		case only && t.kind == tokWord && equalWord(p.text(t), "default"):
			return ErrSet
		case only && p.lifts(t):
			s.lifts = append(s.lifts, lift{span{t.start, t.end}, s.items, t.kind == tokParam})
		case s.stars == 0 && p.isRowConstructor(v.span):
			constructors = append(constructors, s.items)
		}
		s.items++
		if !p.acceptPunct(',') {
			break
		}
	}
	s.main.end, s.to = p.prev, p.params.count
	if !p.isPunct(')') {
		return p.grammar()
	}
	end := p.tok
	p.advance()
	p.surveyWith(&s, s.outer)
	p.surveyWith(&s, s.near)
	if s.reason != "" {
		return s.reason
	}
	in.Rows = -1
	if reason := p.numbered(in, &s, columns, missing); reason != "" {
		return reason
	}
	if constructors != nil {
		in.Query.Constructed = p.columnsAt(in, columns, constructors)
	}
	p.edit(end.start, end.end, "")
	p.sortEdits(n)
	return ""
}

// isRowConstructor reports whether a value is a row without a type, such as ROW(1, 'x')
// or (1, 'x').
func (p *reader) isRowConstructor(v span) bool {
	for range maxBrackets {
		inner, ok := p.inBrackets(v)
		if !ok {
			return false
		}
		if q := p.within(v); len(inner) != 1 || q.isWord("row") {
			return true
		}
		v = inner[0]
	}
	return false
}

// columnsAt returns the folded names of columns of the INSERT by their places. implied
// are its columns where it has no list.
func (p *reader) columnsAt(in *insertState, implied []string, places []int) (columns []string) {
	var listed []string
	for _, c := range implied {
		listed = append(listed, p.d.Fold(c, true))
	}
	if implied == nil {
		q := p.within(span{in.name.end, in.listEnd})
		for ; !q.isPunct('(') && q.tok.kind != tokEnd; q.advance() {
		}
		for q.acceptPunct('('); ; q.advance() {
			c, _, reason := q.column()
			if listed = append(listed, c); reason != "" || !q.isPunct(',') {
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

// only returns the token that a value is with nothing else but brackets and collations.
func (p *reader) only(v value) (token, bool) {
	q := p.within(v.span)
	for q.acceptPunct('(') {
	}
	t := q.tok
	q.advance()
	for q.collations(); q.acceptPunct(')'); q.collations() {
	}
	return t, q.tok.kind == tokEnd
}

// scalars queues what keeps the values of the only row of VALUES, whose edits begin
// with the n-th, from being sets.
func (p *parser) scalars(in *insertState, values []span, n int) Reason {
	var guards []edit
	var records []span
	for _, v := range values {
		p.scalar(&guards, &records, v, 0)
	}
	if reason := p.guardRecords(in, records, n); reason != "" || guards == nil {
		return reason
	}
	p.guarded = true
	// A guard stands in front of the key that goes to the same place.
	p.edits = append(p.edits[:n], append(guards, p.edits[n:]...)...)
	p.sortEdits(n)
	return ""
}

// sortEdits brings the edits from the n-th on in the order of the text.
func (p *parser) sortEdits(n int) {
	slices.SortStableFunc(p.edits[n:], func(a, b edit) int { return a.start - b.start })
}

// scalar appends the edits that keep a value from being a set, or the record whose fields
// it stands for. A literal stays as it is, since it takes the type of the column. A row
// without a type stays as it is too; its values are guarded one by one.
func (p *reader) scalar(guards *[]edit, records *[]span, v span, depth int) {
	if p.isOne(v) {
		return
	}
	if inner, ok := p.inBrackets(v); ok && depth < maxBrackets {
		for _, v := range inner {
			p.scalar(guards, records, v, depth+1)
		}
		return
	}
	record, isRecord := p.allFields(v)
	switch {
	case isRecord:
		if !p.isOne(record) && p.mayBeSet(record) {
			*records = append(*records, record)
		}
	case p.mayBeSet(v):
		*guards = append(*guards, edit{v.start, v.start, "COALESCE(", -1}, edit{v.end, v.end, ")", -1})
	}
}

// isOne reports whether a value is no set by the engine's own rules: a query in
// brackets, CASE and COALESCE, which take none, and a placeholder or a string with
// casts, whose functions return none.
func (p *reader) isOne(v span) bool {
	q := p.within(v)
	switch {
	case q.isPunct('('):
		if n, _ := q.peek(); n.kind == tokWord && equalAny(q.text(n), "select", "with", "values") {
			return q.balanced('(', ')') && q.tok.kind == tokEnd
		}
	case q.accept("coalesce"):
		return q.balanced('(', ')') && q.tok.kind == tokEnd
	}
	t, ok := q.coreToken()
	q.collations()
	return ok && t.kind == tokParam && q.tok.kind == tokEnd && !p.hasInfix(span{t.end, v.end})
}

// collations moves past COLLATE and its name behind a value, whose type they leave to the
// column: a placeholder is a number there if the column is one.
func (p *reader) collations() {
	for p.accept("collate") {
		p.tableName()
	}
}

// hasInfix reports whether a word in a span behind a value begins an operator or its
// like: such words look like a part of the name of a type.
func (p *reader) hasInfix(v span) bool {
	q := p.within(v)
	for ; q.tok.kind != tokEnd; q.read() {
		if q.isAny("at", "like", "ilike", "similar", "is", "isnull", "notnull", "in", "between", "not",
			"overlaps", "and", "or", "operator") {
			return true
		}
	}
	return false
}

// maxBrackets is how many brackets around a value are looked into.
const maxBrackets = 8

// inBrackets returns the values of a row without a type, or the one in brackets that
// a value is.
func (p *reader) inBrackets(v span) ([]span, bool) {
	q := p.within(v)
	q.accept("row")
	if !q.acceptPunct('(') || q.isAny("select", "with", "values", "table") {
		return nil, false
	}
	var values []span
	for !q.isPunct(')') {
		v, reason := q.value(nil)
		if reason != "" {
			return nil, false
		}
		values = append(values, v.span)
		if !q.acceptPunct(',') {
			break
		}
	}
	return values, q.acceptPunct(')') && q.tok.kind == tokEnd
}

// allFields returns the record in brackets in front of .*, with the brackets.
func (p *reader) allFields(v span) (span, bool) {
	q := p.within(v)
	inner := span{start: q.tok.start}
	if !q.balanced('(', ')') {
		return inner, false
	}
	inner.end = q.prev
	if !q.acceptPunct('.') {
		return inner, false
	}
	return inner, q.acceptPunct('*') && q.tok.kind == tokEnd
}

// mayBeSet reports whether a value calls a function or an operator, or takes a field
// of something: anything but literals, placeholders and their casts.
func (p *reader) mayBeSet(v span) bool {
	q := p.within(v)
	for before := byte(0); q.tok.kind != tokEnd; q.read() {
		if q.collations(); q.tok.kind == tokEnd {
			return false
		}
		at := before
		before = q.q[q.tok.start]
		switch q.tok.kind {
		case tokPunct:
			switch {
			case before == '(' && at == 'a', before == '.':
				return true
			case before == '-' || before == '+':
				// A sign belongs to its number, and is no operator.
				if at != 0 && at != '(' && at != ',' && at != '[' || !isDigit(q.at(q.pos)) {
					return true
				}
			case !isStructure(before):
				return true
			}
		case tokWord, tokQuoted:
			before = 'a'
			switch {
			case q.isWord("cast"), q.isWord("array"):
				before = 0
			case q.isWord("as"), q.isWord("uescape"):
			case at == 'v', at == ')', at == ']':
				return true // LIKE, AT TIME ZONE
			}
		default:
			before = 'v'
		}
	}
	return false
}

// isStructure reports whether a punctuation mark is no part of an operator.
func isStructure(c byte) bool {
	switch c {
	case '(', ')', '[', ']', ',', ':':
		return true
	}
	return false
}

// callsSet reports whether a value calls one of the engine's own functions that
// return sets. A query in brackets is one value, whatever it calls.
func (p *reader) callsSet(v span) bool {
	q := p.within(v)
	for q.tok.kind != tokEnd {
		switch {
		case q.isPunct('('):
			n, _ := q.peek()
			if word := q.text(n); n.kind == tokWord && equalAny(word, "select", "with", "values", "table") {
				q.brackets()
				continue
			}
		case q.tok.kind == tokQuoted && q.nextIsPunct('('):
			text := q.text(q.tok)
			if setReturning.has(text[1 : len(text)-1]) {
				return true
			}
		case q.isIn(setReturning) && q.nextIsPunct('('):
			return true
		}
		q.advance()
	}
	return false
}

// setReturning are functions of PostgreSQL that return sets: pg_proc where
// proretset is set, but for those that inspect the server.
var setReturning = newWordSet(`generate_series generate_subscripts unnest
	regexp_matches regexp_split_to_table string_to_table
	json_array_elements json_array_elements_text json_each json_each_text json_object_keys
	json_populate_recordset json_to_recordset
	jsonb_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text jsonb_object_keys
	jsonb_populate_recordset jsonb_to_recordset jsonb_path_query jsonb_path_query_tz
	ts_stat ts_parse ts_token_type ts_debug aclexplode pg_options_to_table`)
