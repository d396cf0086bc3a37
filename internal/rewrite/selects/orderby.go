package selects

import (
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// If a query with ORDER BY becomes a common table expression, MySQL and MariaDB drop its
// order, which decides what is stored if a row may be left out, replaced or updated. So the
// query gets more columns, for the expressions of the ORDER BY. The SELECT around it orders
// and numbers the rows by these columns:
//
//	WITH kf (c1, kf_o1) AS (SELECT a, b + 1 FROM s ORDER BY b + 1 DESC)
//	SELECT c1, … ROW_NUMBER() OVER (ORDER BY kf_o1 DESC) … FROM kf ORDER BY kf_o1 DESC

// Ordering is the ORDER BY of a query, to be written outside of the query.
type Ordering struct {
	By     string   // the items of the ORDER BY; empty if the query has none
	Added  string   // the text that is added to the select list, with a comma before each column
	At     int      // the offset in the query at which Added is inserted
	Names  []string // the names of the added columns
	listed []output // the items of the select list
}

// output is an item of a select list.
type output struct {
	text  string // the item without its alias
	name  string // the alias, or the name of the column, in lower case; empty if it has neither
	alias bool   // whether name is an alias
}

// OrderOf returns the order of a query that was read. It reports false if the order cannot
// be written outside of the query. The names of the columns that are added for it begin
// with prefix.
func OrderOf(p *reader.Reader, s *Facts, columns []string, prefix string) (Ordering, bool) {
	var o Ordering
	q := p.Within(s.Main)
	toSelect(&q)
	base := 0
	for ; q.IsPunct('('); base++ {
		q.Advance()
	}
	if !q.IsWord("select") || columns == nil {
		return o, false
	}
	outputs(&q, &o, base)
	o.At = q.PrevEnd
	for depth := base; q.Token.Kind != scan.End; q.Advance() {
		switch {
		case q.IsPunct('('), q.IsPunct('['), q.IsPunct('{'):
			depth++
		case q.IsPunct(')'), q.IsPunct(']'), q.IsPunct('}'):
			depth--
		case depth <= base && q.IsWord("order") && q.NextIs("by"):
			if o.By != "" || depth < base || base > 0 && !s.Plain {
				return o, false // the ORDER BY is for the rows of several queries
			}
			q.Advance()
			q.Advance()
			if !orderItems(&q, &o, s.Plain, columns, prefix) {
				return o, false
			}
			if q.IsPunct(')') {
				depth--
			}
		case depth < base && q.Token.Kind == scan.Word && o.By != "":
			return o, false // LIMIT or another query follows the brackets
		}
	}
	return o, o.By != ""
}

// outputs reads SELECT and its list.
func outputs(p *reader.Reader, o *Ordering, base int) {
	s := Facts{place: placeInQuery{brackets: base}}
	selectWords(p)
	for {
		start := p.Token.Start
		var tokens []scan.Token
		for depth := 0; p.Token.Kind != scan.End && !(depth == 0 && p.IsPunct(',')) && !endsList(p, &s, depth); p.Advance() {
			switch {
			case p.IsPunct('('):
				depth++
			case p.IsPunct(')'):
				depth--
			}
			tokens = append(tokens, p.Token)
		}
		o.listed = append(o.listed, outputOf(p, scan.Span{Start: start, End: p.PrevEnd}, tokens))
		if !p.AcceptPunct(',') {
			return
		}
	}
}

// selectWords moves past SELECT and the words that may precede its list.
func selectWords(p *reader.Reader) {
	p.Advance()
	for p.IsAny("all", "distinct", "distinctrow", "straight_join", "sql_small_result", "sql_big_result", "sql_buffer_result") {
		p.Advance()
	}
}

// outputOf returns what is known about an item of a select list.
func outputOf(p *reader.Reader, at scan.Span, tokens []scan.Token) output {
	n := len(tokens)
	if n == 0 {
		return output{} // not valid SQL: SELECT FROM t
	}
	out := output{text: p.Text[at.Start:at.End]}
	last := tokens[n-1]
	named := last.Kind == scan.Word || last.Kind == scan.Quoted
	switch {
	case n == 1 && named, n > 2 && named && p.TextOf(tokens[n-2]) == ".":
		out.name = plainName(p, last)
	case n > 2 && (named || last.Kind == scan.String) && scan.EqualWord(p.TextOf(tokens[n-2]), "as"):
		out.name, out.alias = plainName(p, last), true
		out.text = p.Text[at.Start:tokens[n-3].End]
	case n > 1 && named && (tokens[n-2].Kind != scan.Punct || p.TextOf(tokens[n-2]) == ")") &&
		!scan.EqualAny(p.TextOf(last), "null", "end", "true", "false", "unknown"):
		out.name, out.alias = plainName(p, last), true
		out.text = p.Text[at.Start:tokens[n-2].End]
	}
	return out
}

// plainName returns a name in lower case and without quotes.
func plainName(p *reader.Reader, t scan.Token) string {
	return strings.ToLower(strings.Trim(p.TextOf(t), "`\"'"))
}

// orderItems reads the items of an ORDER BY.
func orderItems(p *reader.Reader, o *Ordering, plain bool, columns []string, prefix string) bool {
	var by, added strings.Builder
	for n := 0; ; n++ {
		start := p.Token.Start
		var tokens []scan.Token
		for depth := 0; p.Token.Kind != scan.End; p.Advance() {
			if depth == 0 && (p.IsPunct(',') || p.IsPunct(')') || p.IsIn(orderEnds) && len(tokens) > 0) {
				break
			}
			switch {
			case p.IsPunct('('):
				depth++
			case p.IsPunct(')'):
				depth--
			case p.Token.Kind == scan.Placeholder, p.Token.Kind == scan.Broken, p.Token.Kind == scan.Executable, p.Token.Kind == scan.Variable,
				depth == 0 && p.IsWord("with"):
				return false
			}
			tokens = append(tokens, p.Token)
		}
		if n > 0 {
			by.WriteString(", ")
		}
		direction, end := "", p.PrevEnd
		if k := len(tokens); k > 1 && tokens[k-1].Kind == scan.Word && scan.EqualAny(p.TextOf(tokens[k-1]), "asc", "desc") {
			direction, tokens, end = " "+p.TextOf(tokens[k-1]), tokens[:k-1], tokens[k-2].End
		}
		if len(tokens) == 0 {
			return false
		}
		column, ok := outputColumn(p, o, p.Text[start:end], tokens, columns)
		switch {
		case !ok, column == "" && !plain:
			return false
		case column == "":
			column = prefix + strconv.Itoa(len(o.Names)+1)
			o.Names = append(o.Names, column)
			added.WriteString(", ")
			added.WriteString(p.Text[start:end])
		}
		by.WriteString(column)
		by.WriteString(direction)
		if !p.AcceptPunct(',') {
			o.By, o.Added = by.String(), added.String()
			return true
		}
	}
}

// outputColumn returns the column of the query that an item of an ORDER BY means; empty if
// the item is an expression over the FROM clause. It reports false if this is not certain.
func outputColumn(p *reader.Reader, o *Ordering, text string, tokens []scan.Token, columns []string) (string, bool) {
	if len(tokens) == 1 && tokens[0].Kind == scan.Number {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > len(columns) {
			return "", false
		}
		return columns[n-1], true
	}
	found := -1
	for i, out := range o.listed {
		if out.text == text && !out.star() || len(tokens) == 1 && out.name != "" && out.name == plainName(p, tokens[0]) {
			switch {
			case found < 0:
				found = i
			case o.listed[found].text != out.text:
				return "", false // two items have this name, and it is not known which of them is meant
			}
		}
	}
	if found >= 0 {
		for _, out := range o.listed[:found] {
			if out.star() {
				return "", false // it is not known how many columns precede the item
			}
		}
		if found >= len(columns) {
			return "", false
		}
		return columns[found], true
	}
	for _, t := range tokens {
		for _, out := range o.listed {
			if out.alias && (t.Kind == scan.Word || t.Kind == scan.Quoted) && out.name == plainName(p, t) {
				return "", false // the name in the expression may mean the alias or a column
			}
		}
	}
	return "", true
}

// star reports whether the item stands for several columns.
func (out output) star() bool { return strings.HasSuffix(out.text, "*") }

// orderEnds are words that may begin the text after an ORDER BY.
var orderEnds = scan.NewWordSet("limit offset fetch for lock into procedure rows union except intersect")

// toSelect moves past a WITH clause before a query.
func toSelect(p *reader.Reader) {
	if !p.IsWord("with") {
		return
	}
	var d definitions
	for depth := 0; p.Token.Kind != scan.End && !d.end(p, depth); p.Advance() {
		switch {
		case p.IsPunct('('):
			depth++
		case p.IsPunct(')'):
			depth--
		}
	}
}
