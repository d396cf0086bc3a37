package selects

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// A SELECT without FROM is one row, like a row of VALUES, and UNION ALL combines such
// rows:
//
//	rows = row { UNION ALL row }
//	row  = SELECT item { "," item } [ FROM DUAL ] [ WHERE condition ]
//
// Each row gets its key as one more item, so that nothing has to be counted. A condition
// may leave the row out. A single row may have ORDER BY and LIMIT. In PostgreSQL an item
// may be a set, which makes several rows: see valuesquery.go.
//
// The number of rows of any other query is not known before it runs: DISTINCT and a UNION
// without ALL compare rows, which would differ by their keys, and GROUP BY, window
// functions, INTO and locks are not read here.

// SelectRow is one SELECT of a query that consists of rows.
type SelectRow struct {
	End    int // the offset after its select list
	Before int // how many of the caller's placeholders precede that offset
}

// SelectRows is what was read so far of a query that consists of rows.
type SelectRows struct {
	Width       int  // the number of items that each row needs
	Numbers     bool // whether the engine can number the rows, or make their keys
	Facts       Facts
	Rows        []SelectRow
	Values      []scan.Span // the items that may be sets, without their aliases
	Conditional bool        // whether a row may be left out
}

// RowQuery reads the query up to its end, and reports whether it consists of rows.
func RowQuery(p *reader.Reader, s *SelectRows) bool {
	if p.IsWord("with") {
		var d definitions
		for depth := 0; !p.AtEnd() && depth >= 0 && !d.end(p, depth); p.Advance() {
			surveyed(p, &s.Facts, &depth)
		}
	}
	if !rowUnion(p, s, 0) || !endsQuery(p, &s.Facts, 0) {
		return false
	}
	// Most engines refuse a number that touches a word, such as 0RETURNING. A key written
	// between the two would make the text valid.
	return p.Token.Kind != scan.Word || p.Token.Start != p.PrevEnd || !p.IsPart(p.Text[p.PrevEnd-1])
}

// rowUnion reads rows with UNION ALL between them, to the closing bracket or the end.
func rowUnion(p *reader.Reader, s *SelectRows, depth int) bool {
	for several := false; ; several = true {
		ordered := false
		switch {
		case p.IsPunct('('):
			if depth == MaxBrackets {
				return false
			}
			p.Advance()
			if !rowUnion(p, s, depth+1) || !p.AcceptPunct(')') {
				return false
			}
		case p.IsWord("select"):
			var ok bool
			if ordered, ok = readRow(p, s); !ok {
				return false
			}
		default:
			return false
		}
		if !p.Accept("union") {
			return !ordered || !several // an ORDER BY after several rows is for all of them
		}
		if ordered || !p.Accept("all") {
			return false
		}
	}
}

// readRow reads one SELECT. ordered reports whether ORDER BY or LIMIT follows it.
func readRow(p *reader.Reader, s *SelectRows) (ordered, ok bool) {
	p.Advance()
	p.Accept("all")
	if p.IsIn(listModifiers) {
		return false, false
	}
	for n := 1; ; n++ {
		if !rowItem(p, s) {
			return false, false
		}
		if !p.AcceptPunct(',') {
			if n != s.Width {
				return false, false
			}
			break
		}
	}
	if p.Token.Kind == scan.Word && p.Token.Start == p.PrevEnd && p.IsPart(p.Text[p.PrevEnd-1]) {
		return false, false
	}
	row := SelectRow{p.PrevEnd, p.Params.Count}
	if p.Accept("from") && !(p.Dialect.Grammar.Dual && p.Accept("dual")) {
		return false, false
	}
	s.Rows = append(s.Rows, row)
	if p.IsWord("where") {
		s.Conditional = s.Conditional || !isTrueAlone(p)
		if p.Advance(); !rowClause(p, s) {
			return false, false
		}
	}
	for p.IsAny("order", "limit", "offset", "fetch") {
		ordered = true
		s.Conditional = s.Conditional || !p.IsWord("order")
		if p.Advance(); !rowClause(p, s) {
			return false, false
		}
	}
	return ordered, true
}

// isTrueAlone reports whether the condition after WHERE is the single word TRUE.
func isTrueAlone(p *reader.Reader) bool {
	q := *p
	q.Advance()
	facts := Facts{}
	return q.Accept("true") && (endsQuery(&q, &facts, 0) || q.IsPunct(')') || q.IsWord("union"))
}

// rowClause moves past the text after a keyword such as WHERE, up to the next clause of a
// row. It reports whether there is any text, and a clause of a row, or the end, follows it.
func rowClause(p *reader.Reader, s *SelectRows) bool {
	begins := p.Token.Start
	for depth := 0; ; p.Advance() {
		switch {
		case depth == 0 && (p.IsPunct(')') || endsQuery(p, &s.Facts, 0)):
			return p.Token.Start > begins && !runsOn(p, scan.Span{Start: begins, End: p.PrevEnd})
		case p.AtEnd(), p.Token.Kind == scan.Broken, p.Token.Kind == scan.Executable:
			return false
		case depth == 0 && p.IsIn(rowClauses) && !isNamed(p):
			return p.Token.Start > begins && !runsOn(p, scan.Span{Start: begins, End: p.PrevEnd})
		case depth == 0 && p.IsIn(otherClauses) && !isNamed(p):
			return false
		}
		surveyed(p, &s.Facts, &depth)
	}
}

// rowClauses are words that may follow a clause of a row; otherClauses are words that only
// other queries have.
var (
	rowClauses   = scan.NewWordSet("order limit offset fetch union")
	otherClauses = scan.NewWordSet("from where group having window for lock procedure into intersect except minus start connect model qualify")
)

// listModifiers are words that may stand between SELECT and its list, except ALL.
var listModifiers = scan.NewWordSet(`distinct distinctrow unique top straight_join high_priority sql_small_result sql_big_result
	sql_buffer_result sql_no_cache sql_cache sql_calc_found_rows`)

// rowItem reads one item of a select list, and reports whether it is one value.
func rowItem(p *reader.Reader, s *SelectRows) bool {
	start := p.Token.Start
	item := readItem(p, &s.Facts)
	v := scan.Span{Start: start, End: p.PrevEnd}
	if item.star || p.Token.Start == start || hasWindow(p, v) || runsOn(p, v) {
		return false
	}
	if !p.Dialect.Grammar.ValueSets || item.value.Kind != scan.End {
		return true
	}
	return guardsItem(p, s, v)
}

// hasWindow reports whether an item has a window function, or one of the clauses after a
// select list that begin with no word of listEnds.
func hasWindow(p *reader.Reader, v scan.Span) bool {
	q := p.Within(v)
	for ; q.Token.Kind != scan.End; q.Advance() {
		if q.IsAny("over", "procedure", "lock", "bulk") {
			return true
		}
	}
	return false
}

// runsOn reports whether a part of a row has words of another statement, in a text whose
// statements need no semicolons: SELECT 1 SELECT 2, or the END of a block. followsQuery
// knows the other words that begin a statement.
func runsOn(p *reader.Reader, v scan.Span) bool {
	if !p.Dialect.Grammar.NoSemicolon {
		return false
	}
	cases, depth := 0, 0
	q := p.Within(v)
	for ; q.Token.Kind != scan.End; q.Advance() {
		switch {
		case q.IsPunct('('):
			depth++
		case q.IsPunct(')'):
			depth--
		case depth > 0 || q.PrevEnd > 0 && q.Text[q.PrevEnd-1] == '.':
		case q.IsWord("case"):
			cases++
		case q.IsWord("end") && cases > 0:
			cases--
		case q.IsAny("when", "then", "else") && cases > 0:
		case q.IsAny("select", "end", "when", "then", "else", "open", "close", "deallocate", "backup", "restore", "revert", "shutdown", "checkpoint"):
			return true
		}
	}
	return false
}

// guardsItem notes an item that may be a set of rows. It reports whether the item is known
// to be one value, or can be written so that the engine refuses a set. If the engine can
// number rows, an item that calls the application's function is not written so.
func guardsItem(p *reader.Reader, s *SelectRows, item scan.Span) bool {
	v, known := unnamed(p, item)
	switch {
	case IsOne(p, v) || !MayBeSet(p, v):
		return true
	case !known, CallsSet(p, v), s.Numbers && callsOther(p, v):
		return false
	}
	s.Values = append(s.Values, v)
	return true
}

// callsOther reports whether an item calls a function that is not known as the engine's
// own.
func callsOther(p *reader.Reader, v scan.Span) bool {
	q := p.Within(v)
	for ; q.Token.Kind != scan.End; q.Advance() {
		isType := q.PrevEnd > 0 && q.Text[q.PrevEnd-1] == ':' // x::numeric(9, 2)
		isName := q.Token.Kind == scan.Word || q.Token.Kind == scan.Quoted
		if isName && !isType && !q.IsIn(words.ScalarFunctions) && q.MayChange() {
			return true
		}
	}
	return false
}

// unnamed returns an item without its alias. It reports false if it is not clear whether
// the last word is an alias or a part of the expression.
func unnamed(p *reader.Reader, item scan.Span) (scan.Span, bool) {
	q := p.Within(item)
	var third, before, last scan.Token // the last three tokens
	n, cases := 0, 0
	for ; q.Token.Kind != scan.End; q.Advance() {
		third, before, last = before, last, q.Token
		n++
		switch {
		case before.Kind == scan.Punct && p.TextOf(before) == ".":
		case q.IsWord("case"):
			cases++
		case q.IsWord("end"):
			cases--
		}
	}
	isName := last.Kind == scan.Word || last.Kind == scan.Quoted
	switch {
	case n > 2 && isName && before.Kind == scan.Word && scan.EqualWord(p.TextOf(before), "as"):
		return scan.Span{Start: item.Start, End: third.End}, true
	case n < 2, !isName, before.Kind == scan.Word && scan.EqualWord(p.TextOf(before), "collate"):
		return item, true
	case before.Kind == scan.Punct && strings.IndexByte(")]}", p.Text[before.Start]) < 0:
		return item, true // no alias, as in x::date or a + b
	case last.Kind == scan.Quoted:
		return item, false
	case scan.EqualWord(p.TextOf(last), "end"):
		return item, cases == 0
	case scan.EqualAny(p.TextOf(last), "null", "true", "false", "unknown"):
		return item, before.Kind == scan.Word && operandWords.Has(p.TextOf(before))
	}
	return item, scan.EqualAny(p.TextOf(last), postfixWords...)
}

// operandWords are words that precede an operand, so that no alias follows them.
var operandWords = scan.NewWordSet("is not and or from like ilike to between symmetric escape when then else")
