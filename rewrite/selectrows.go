package rewrite

import "strings"

// A SELECT without FROM is one row, as a row of VALUES is, and UNION ALL puts such rows
// together:
//
//	rows = row { UNION ALL row }
//	row  = SELECT item { "," item } [ FROM DUAL ] [ WHERE condition ]
//
// Each row gets its key as one more item, so that nothing has to be counted. A
// condition may leave the row out. A row alone may have ORDER BY and LIMIT. In
// PostgreSQL an item may be a set, which makes several rows: see valuesquery.go.
//
// All else is a query whose rows nobody knows before it runs: DISTINCT and a UNION
// without ALL compare rows, which the keys would make differ, and GROUP BY, window
// functions, INTO and locks are not read here.

// selectRow is one SELECT of a query that is made of rows.
type selectRow struct {
	end    int // where its select list ends
	before int // the caller's placeholders in front of that
}

// selectRows is a query that is made of rows, as far as it was read.
type selectRows struct {
	width       int  // the number of items that each row needs
	numbers     bool // the engine can number the rows, or make their keys
	facts       queryFacts
	rows        []selectRow
	values      []span // the items that may be sets, without their aliases
	conditional bool   // a row may be left out
}

// selectRows fills a query that is made of rows, and reports whether it is. Where it is
// not, nothing has changed.
func (p *parser) selectRows(in *insertState, columns []string, missing []int) bool {
	width := in.columns
	if columns != nil {
		width = len(columns)
	}
	if width <= 0 {
		return false
	}
	start := *p
	s := selectRows{width: width, numbers: true}
	for _, k := range missing {
		key := &in.Target.Keys[k]
		s.numbers = s.numbers && (key.Counted || key.Function != "")
	}
	if !p.rowQuery(&s) || s.facts.reason != "" || !p.carries(&s, in, missing) {
		*p = start
		return false
	}
	n := len(p.edits)
	p.list(in, columns, missing)
	count := p.params.count
	for i, row := range s.rows {
		p.params.count = row.before
		for _, k := range missing {
			before, after := p.selectedKey(&in.Target.Keys[k], len(s.rows) > 1)
			p.slot(row.end, row.end, ", "+before, slot{key: int32(k), row: int32(i)})
			if after != "" {
				p.edit(row.end, row.end, after)
			}
		}
		if row.end < len(p.q) && p.isPart(p.q[row.end]) {
			p.edit(row.end, row.end, " ") // 'a', $1WHERE is no SQL
		}
	}
	p.params.count = count
	if p.d.Grammar.ValueSets && p.scalars(in, s.values, n) != "" {
		*p = start
		return false
	}
	for k := range in.Target.Keys {
		if in.listed.of(k) >= 0 {
			in.open(k)
		}
	}
	in.Rows, in.selects, in.conditional = len(s.rows), true, s.conditional
	return true
}

// carries reports whether the keys can stand in the select lists.
func (p *reader) carries(s *selectRows, in *insertState, missing []int) bool {
	for _, k := range missing {
		key := &in.Target.Keys[k]
		switch {
		case key.Joined && s.conditional:
			return false // a number without a row would be a gap
		case len(s.rows) > 1 && p.d.Grammar.TypedRows && key.Type == "":
			return false
		}
	}
	return true
}

// selectedKey returns what stands around a key in a select list. Under UNION ALL the
// columns do not give their types to the values.
func (p *reader) selectedKey(k *Key, united bool) (before, after string) {
	switch {
	case p.d.Grammar.TypedRows && united:
		return "CAST(", " AS " + k.Type + ")"
	case p.d.Grammar.SelectedBytes != "" && k.Type == "bytea":
		before, after, _ = strings.Cut(p.d.Grammar.SelectedBytes, "%")
	}
	return before, after
}

// rowQuery reads the query up to its end, and reports whether it is made of rows.
func (p *reader) rowQuery(s *selectRows) bool {
	if p.isWord("with") {
		var d definitions
		for depth := 0; !p.atEnd() && depth >= 0 && !d.end(p, depth); p.advance() {
			p.surveyed(&s.facts, &depth)
		}
	}
	if !p.rowUnion(s, 0) || !p.endsQuery(&s.facts, 0) {
		return false
	}
	// 0RETURNING is no SQL to most engines.
	return p.tok.kind != tokWord || p.tok.start != p.prev || !p.isPart(p.q[p.prev-1])
}

// rowUnion reads rows with UNION ALL between them, to the bracket or the end behind them.
func (p *reader) rowUnion(s *selectRows, depth int) bool {
	for several := false; ; several = true {
		ordered := false
		switch {
		case p.isPunct('('):
			if depth == maxBrackets {
				return false
			}
			p.advance()
			if !p.rowUnion(s, depth+1) || !p.acceptPunct(')') {
				return false
			}
		case p.isWord("select"):
			var ok bool
			if ordered, ok = p.selectRow(s); !ok {
				return false
			}
		default:
			return false
		}
		if !p.accept("union") {
			return !ordered || !several // else the order is that of all rows
		}
		if ordered || !p.accept("all") {
			return false
		}
	}
}

// selectRow reads one SELECT. ordered says that ORDER BY or LIMIT stand behind it.
func (p *reader) selectRow(s *selectRows) (ordered, ok bool) {
	p.advance()
	p.accept("all")
	if p.isIn(listModifiers) {
		return false, false
	}
	for n := 1; ; n++ {
		if !p.rowItem(s) {
			return false, false
		}
		if !p.acceptPunct(',') {
			if n != s.width {
				return false, false
			}
			break
		}
	}
	if p.tok.kind == tokWord && p.tok.start == p.prev && p.isPart(p.q[p.prev-1]) {
		return false, false
	}
	row := selectRow{p.prev, p.params.count}
	if p.accept("from") && !(p.d.Grammar.Dual && p.accept("dual")) {
		return false, false
	}
	s.rows = append(s.rows, row)
	if p.isWord("where") {
		s.conditional = s.conditional || !p.isTrueAlone()
		if p.advance(); !p.rowClause(s) {
			return false, false
		}
	}
	for p.isAny("order", "limit", "offset", "fetch") {
		ordered = true
		s.conditional = s.conditional || !p.isWord("order")
		if p.advance(); !p.rowClause(s) {
			return false, false
		}
	}
	return ordered, true
}

// isTrueAlone reports whether the condition behind WHERE is the word TRUE alone.
func (p *reader) isTrueAlone() bool {
	q := *p
	q.advance()
	facts := queryFacts{}
	return q.accept("true") && (q.endsQuery(&facts, 0) || q.isPunct(')') || q.isWord("union"))
}

// rowClause moves past what stands behind a keyword, to the next clause of a row, and
// reports whether there is one, and it ends in such a clause.
func (p *reader) rowClause(s *selectRows) bool {
	begins := p.tok.start
	for depth := 0; ; p.advance() {
		switch {
		case depth == 0 && (p.isPunct(')') || p.endsQuery(&s.facts, 0)):
			return p.tok.start > begins && !p.runsOn(span{begins, p.prev})
		case p.atEnd(), p.tok.kind == tokError, p.tok.kind == tokExec:
			return false
		case depth == 0 && p.isIn(rowClauses) && !p.isNamed():
			return p.tok.start > begins && !p.runsOn(span{begins, p.prev})
		case depth == 0 && p.isIn(otherClauses) && !p.isNamed():
			return false
		}
		p.surveyed(&s.facts, &depth)
	}
}

// rowClauses may stand behind a clause of a row; otherClauses make it another query.
var (
	rowClauses   = newWordSet("order limit offset fetch union")
	otherClauses = newWordSet("from where group having window for lock procedure into intersect except minus start connect model qualify")
)

// listModifiers are words between SELECT and its list. ALL is not among them.
var listModifiers = newWordSet(`distinct distinctrow unique top straight_join high_priority sql_small_result sql_big_result
	sql_buffer_result sql_no_cache sql_cache sql_calc_found_rows`)

// rowItem reads one item of a select list, and reports whether it is one value.
func (p *reader) rowItem(s *selectRows) bool {
	start := p.tok.start
	item := p.selectItem(&s.facts)
	v := span{start, p.prev}
	if item.star || p.tok.start == start || p.hasWindow(v) || p.runsOn(v) {
		return false
	}
	if !p.d.Grammar.ValueSets || item.value.kind != tokEnd {
		return true
	}
	return p.guardsItem(s, v)
}

// hasWindow reports whether an item has a window, or a clause that stands behind a select
// list without a word that is known to end it.
func (p *reader) hasWindow(v span) bool {
	q := p.within(v)
	for ; q.tok.kind != tokEnd; q.advance() {
		if q.isAny("over", "procedure", "lock", "bulk") {
			return true
		}
	}
	return false
}

// runsOn reports whether a part of a row holds words of another statement, in a text that
// needs no semicolons: SELECT 1 SELECT 2, and the END of a block. [parser.followsQuery]
// knows other words that begin one.
func (p *reader) runsOn(v span) bool {
	if !p.d.Grammar.NoSemicolon {
		return false
	}
	cases, depth := 0, 0
	q := p.within(v)
	for ; q.tok.kind != tokEnd; q.advance() {
		switch {
		case q.isPunct('('):
			depth++
		case q.isPunct(')'):
			depth--
		case depth > 0 || q.prev > 0 && q.q[q.prev-1] == '.':
		case q.isWord("case"):
			cases++
		case q.isWord("end") && cases > 0:
			cases--
		case q.isAny("when", "then", "else") && cases > 0:
		case q.isAny("select", "end", "when", "then", "else", "open", "close", "deallocate", "backup", "restore", "revert", "shutdown", "checkpoint"):
			return true
		}
	}
	return false
}

// guardsItem notes an item that may be a set, and reports whether it is known to be one
// value, or can be written so that the engine refuses a set. Where the engine can
// number rows, an item that calls a function of the application stays what it was.
func (p *reader) guardsItem(s *selectRows, item span) bool {
	v, known := p.unnamed(item)
	switch {
	case p.isOne(v) || !p.mayBeSet(v):
		return true
	case !known, p.callsSet(v), s.numbers && p.callsOther(v):
		return false
	}
	s.values = append(s.values, v)
	return true
}

// callsOther reports whether an item calls a function that is not known as the engine's
// own.
func (p *reader) callsOther(v span) bool {
	q := p.within(v)
	for ; q.tok.kind != tokEnd; q.advance() {
		isType := q.prev > 0 && q.q[q.prev-1] == ':' // x::numeric(9, 2)
		isName := q.tok.kind == tokWord || q.tok.kind == tokQuoted
		if isName && !isType && !q.isIn(scalarFunctions) && q.mayChange() {
			return true
		}
	}
	return false
}

// scalarFunctions are functions of PostgreSQL that INSERTs often call and that return one
// value, besides those that MySQL has too. For what is missing the rows are counted. A
// function of the application that has one of the names and returns a set is refused by
// the engine.
var scalarFunctions = newWordSet(`
	clock_timestamp statement_timestamp transaction_timestamp timeofday to_timestamp to_date to_char to_number
	date_trunc date_part date_bin extract age make_date make_time make_timestamp make_timestamptz make_interval
	gen_random_uuid gen_random_bytes uuidv4 uuidv7 uuid_generate_v1 uuid_generate_v4 random digest hmac crypt gen_salt
	nextval currval lastval current_setting txid_current pg_backend_pid
	overlay strpos split_part btrim initcap format starts_with regexp_replace translate chr encode decode convert_to
	convert_from sha224 sha256 sha384 sha512 quote_literal quote_ident
	to_json to_jsonb json_build_object json_build_array jsonb_build_object jsonb_build_array jsonb_set jsonb_insert
	jsonb_strip_nulls row_to_json array_to_json json_agg jsonb_agg json_object_agg jsonb_object_agg
	array_length array_append array_prepend array_cat array_remove array_to_string string_to_array cardinality
	array_agg string_agg bool_and bool_or every to_tsvector to_tsquery plainto_tsquery numeric decimal varchar char
	daterange tsrange tstzrange int4range int8range numrange host inet_client_addr width_bucket trunc sign`)

// unnamed returns an item without its alias. It reports false where the last word may be
// an alias or a part of the expression.
func (p *reader) unnamed(item span) (span, bool) {
	q := p.within(item)
	var third, before, last token // from the end
	n, cases := 0, 0
	for ; q.tok.kind != tokEnd; q.advance() {
		third, before, last = before, last, q.tok
		n++
		switch {
		case before.kind == tokPunct && p.text(before) == ".":
		case q.isWord("case"):
			cases++
		case q.isWord("end"):
			cases--
		}
	}
	isName := last.kind == tokWord || last.kind == tokQuoted
	switch {
	case n > 2 && isName && before.kind == tokWord && equalWord(p.text(before), "as"):
		return span{item.start, third.end}, true
	case n < 2, !isName, before.kind == tokWord && equalWord(p.text(before), "collate"):
		return item, true
	case before.kind == tokPunct && strings.IndexByte(")]}", p.q[before.start]) < 0:
		return item, true // x::date, a + b
	case last.kind == tokQuoted:
		return item, false
	case equalWord(p.text(last), "end"):
		return item, cases == 0
	case equalAny(p.text(last), "null", "true", "false", "unknown"):
		return item, before.kind == tokWord && operandWords.has(p.text(before))
	}
	return item, equalAny(p.text(last), postfixWords...)
}

// operandWords are words behind which an operand stands, not an alias.
var operandWords = newWordSet("is not and or from like ilike to between symmetric escape when then else")
