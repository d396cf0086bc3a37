package rewrite

import (
	"strconv"
	"strings"
)

// Where a query with ORDER BY becomes a common table expression, MySQL and MariaDB
// throw its order away, which decides what is stored where a row may be left out,
// replaced or updated. So what it orders by becomes more columns of the expression,
// by which the rows are ordered, and numbered, outside of it:
//
//	WITH kf (c1, kf_o1) AS (SELECT a, b + 1 FROM s ORDER BY b + 1 DESC)
//	SELECT c1, … ROW_NUMBER() OVER (ORDER BY kf_o1 DESC) … FROM kf ORDER BY kf_o1 DESC

// ordering is the ORDER BY of a query as it is written outside of it.
type ordering struct {
	by     string   // "" where the query has none
	added  string   // what the select list gets, with a comma in front of each
	at     int      // where
	names  []string // of those columns
	listed []output // the select list
}

// output is an item of a select list.
type output struct {
	text  string // without its alias
	name  string // its alias, else the name of its column, in lower case; "" for none
	alias bool   // name is an alias
}

// orderOf returns the order of a query that was read; false where it cannot be written
// outside of it. The names of the columns that the query gets for it begin with prefix.
func (p *reader) orderOf(s *queryFacts, columns []string, prefix string) (ordering, bool) {
	var o ordering
	q := p.within(s.main)
	q.toSelect()
	base := 0
	for ; q.isPunct('('); base++ {
		q.advance()
	}
	if !q.isWord("select") || columns == nil {
		return o, false
	}
	q.outputs(&o, base)
	o.at = q.prev
	for depth := base; q.tok.kind != tokEnd; q.advance() {
		switch {
		case q.isPunct('('), q.isPunct('['), q.isPunct('{'):
			depth++
		case q.isPunct(')'), q.isPunct(']'), q.isPunct('}'):
			depth--
		case depth <= base && q.isWord("order") && q.nextIs("by"):
			if o.by != "" || depth < base || base > 0 && !s.plain {
				return o, false // of several queries
			}
			q.advance()
			q.advance()
			if !q.orderItems(&o, s.plain, columns, prefix) {
				return o, false
			}
			if q.isPunct(')') {
				depth--
			}
		case depth < base && q.tok.kind == tokWord && o.by != "":
			return o, false // LIMIT or another query behind the brackets
		}
	}
	return o, o.by != ""
}

// outputs reads SELECT and its list.
func (p *reader) outputs(o *ordering, base int) {
	s := queryFacts{brackets: base}
	p.selectWords()
	for {
		start := p.tok.start
		var tokens []token
		for depth := 0; p.tok.kind != tokEnd && !(depth == 0 && p.isPunct(',')) && !p.endsList(&s, depth); p.advance() {
			switch {
			case p.isPunct('('):
				depth++
			case p.isPunct(')'):
				depth--
			}
			tokens = append(tokens, p.tok)
		}
		o.listed = append(o.listed, p.outputOf(span{start, p.prev}, tokens))
		if !p.acceptPunct(',') {
			return
		}
	}
}

// selectWords moves past SELECT and the words that may stand in front of its list.
func (p *reader) selectWords() {
	p.advance()
	for p.isAny("all", "distinct", "distinctrow", "straight_join", "sql_small_result", "sql_big_result", "sql_buffer_result") {
		p.advance()
	}
}

// outputOf returns what an item of a select list gives.
func (p *reader) outputOf(at span, tokens []token) output {
	n := len(tokens)
	if n == 0 {
		return output{} // no SQL: SELECT FROM t
	}
	out := output{text: p.q[at.start:at.end]}
	last := tokens[n-1]
	named := last.kind == tokWord || last.kind == tokQuoted
	switch {
	case n == 1 && named, n > 2 && named && p.text(tokens[n-2]) == ".":
		out.name = p.plainName(last)
	case n > 2 && (named || last.kind == tokString) && equalWord(p.text(tokens[n-2]), "as"):
		out.name, out.alias = p.plainName(last), true
		out.text = p.q[at.start:tokens[n-3].end]
	case n > 1 && named && (tokens[n-2].kind != tokPunct || p.text(tokens[n-2]) == ")") &&
		!equalAny(p.text(last), "null", "end", "true", "false", "unknown"):
		out.name, out.alias = p.plainName(last), true
		out.text = p.q[at.start:tokens[n-2].end]
	}
	return out
}

// plainName returns a name in lower case and without quotes.
func (p *reader) plainName(t token) string {
	return strings.ToLower(strings.Trim(p.text(t), "`\"'"))
}

// orderItems reads the items of an ORDER BY.
func (p *reader) orderItems(o *ordering, plain bool, columns []string, prefix string) bool {
	var by, added strings.Builder
	for n := 0; ; n++ {
		start := p.tok.start
		var tokens []token
		for depth := 0; p.tok.kind != tokEnd; p.advance() {
			if depth == 0 && (p.isPunct(',') || p.isPunct(')') || p.isIn(orderEnds) && len(tokens) > 0) {
				break
			}
			switch {
			case p.isPunct('('):
				depth++
			case p.isPunct(')'):
				depth--
			case p.tok.kind == tokParam, p.tok.kind == tokError, p.tok.kind == tokExec, p.tok.kind == tokVar,
				depth == 0 && p.isWord("with"):
				return false
			}
			tokens = append(tokens, p.tok)
		}
		if n > 0 {
			by.WriteString(", ")
		}
		direction, end := "", p.prev
		if k := len(tokens); k > 1 && tokens[k-1].kind == tokWord && equalAny(p.text(tokens[k-1]), "asc", "desc") {
			direction, tokens, end = " "+p.text(tokens[k-1]), tokens[:k-1], tokens[k-2].end
		}
		if len(tokens) == 0 {
			return false
		}
		column, ok := p.outputColumn(o, p.q[start:end], tokens, columns)
		switch {
		case !ok, column == "" && !plain:
			return false
		case column == "":
			column = prefix + strconv.Itoa(len(o.names)+1)
			o.names = append(o.names, column)
			added.WriteString(", ")
			added.WriteString(p.q[start:end])
		}
		by.WriteString(column)
		by.WriteString(direction)
		if !p.acceptPunct(',') {
			o.by, o.added = by.String(), added.String()
			return true
		}
	}
}

// outputColumn returns the column of the query that it is ordered by, "" where the item
// is an expression over what is behind FROM; false where that is not certain.
func (p *reader) outputColumn(o *ordering, text string, tokens []token, columns []string) (string, bool) {
	if len(tokens) == 1 && tokens[0].kind == tokNumber {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > len(columns) {
			return "", false
		}
		return columns[n-1], true
	}
	found := -1
	for i, out := range o.listed {
		if out.text == text && !out.star() || len(tokens) == 1 && out.name != "" && out.name == p.plainName(tokens[0]) {
			switch {
			case found < 0:
				found = i
			case o.listed[found].text != out.text:
				return "", false // which of the two is meant is not known
			}
		}
	}
	if found >= 0 {
		for _, out := range o.listed[:found] {
			if out.star() {
				return "", false // how many columns are in front of it is not known
			}
		}
		if found >= len(columns) {
			return "", false
		}
		return columns[found], true
	}
	for _, t := range tokens {
		for _, out := range o.listed {
			if out.alias && (t.kind == tokWord || t.kind == tokQuoted) && out.name == p.plainName(t) {
				return "", false // in an expression the alias may be meant, or a column
			}
		}
	}
	return "", true
}

// star reports whether the item stands for several columns.
func (out output) star() bool { return strings.HasSuffix(out.text, "*") }

// orderEnds are words that may begin what follows an ORDER BY.
var orderEnds = newWordSet("limit offset fetch for lock into procedure rows union except intersect")

// toSelect moves past a WITH clause in front of a query.
func (p *reader) toSelect() {
	if !p.isWord("with") {
		return
	}
	var d definitions
	for depth := 0; p.tok.kind != tokEnd && !d.end(p, depth); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		}
	}
}
