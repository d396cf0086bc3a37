package selects

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// MariaDB and MySQL compute ROW_NUMBER() in a temporary table, which holds each value of
// the row in a column of the value's type. Some values change there: 1/3 has 4 decimal
// places instead of 9, and 0x41 is a string, which without the table is a number if it is
// stored as one. TestSurvives in e2e/statements has the comparisons on MariaDB 10.11.

// carried says what is known about a value after it was stored in a temporary table.
type carried uint8

const (
	carriedUnknown carried = iota // the value may change
	carriedAlone                  // the value stays the same, except in a branch of IF or CASE, or in a sum
	carriedNull
	carriedText
	carriedInteger
)

// Survives reports whether the value of an item of a select list stays the same if it is
// stored in a temporary table, whatever the types of the item's columns. It is false for
// unknown expressions. The item may have an alias.
func Survives(d *dialect.Dialect, item string) bool {
	e := newCarriedExpr(d, item)
	if e.star() {
		return true
	}
	if e.hasOtherBytes() || e.expr() == carriedUnknown {
		return false
	}
	e.Accept("as")
	if e.Token.Kind == scan.Word || e.Token.Kind == scan.Quoted || e.Token.Kind == scan.String {
		e.Advance()
	}
	return e.Token.Kind == scan.End
}

// Feeding are the words after which a query in brackets gives rows, such as FROM, and not
// the value of an expression.
var Feeding = scan.NewWordSet("from join straight_join lateral as union all distinct except intersect minus")

// Doubt is a column of a query whose value may change in a temporary table. If the engine
// reports that the column is an integer, its value stays the same.
type Doubt struct {
	Column int // the index of the column, from 0

	// Call means that the column is the result of a stored function, which only changes if the
	// function's type is FLOAT, BIT or YEAR.
	Call bool

	// Operands are the columns in exact arithmetic, whose result does not change if they are
	// integers and decimals. It is nil for a column that is no such arithmetic.
	Operands []string
}

// isStored reports whether an item is the call of a stored function and nothing else but an
// alias.
func isStored(d *dialect.Dialect, item string) bool {
	e := newCarriedExpr(d, item)
	if e.Token.Kind != scan.Word || !e.MayChange() || e.IsWord("extract") {
		return false
	}
	e.behind(carriedAlone)
	e.Accept("as")
	if e.Token.Kind == scan.Word || e.Token.Kind == scan.Quoted {
		e.Advance()
	}
	return e.Token.Kind == scan.End
}

// QuerySurvives reports whether no item of a query's select lists may change in a temporary
// table. The lists of derived tables and common table expressions count too, since the
// engine may merge these into the query. If an item may change, offset is where the first
// such item begins. doubts are the columns of the query with such items; nil if other items
// may change too.
func QuerySurvives(p *reader.Reader, q scan.Span) (offset int, doubts []Doubt, ok bool) {
	e := &carriedExpr{p.Within(q)}
	if e.IsWord("table") {
		return 0, nil, true // TABLE t has only columns, whose values stay the same
	}
	if !e.IsAny("select", "with") && !e.IsPunct('(') {
		return q.Start, nil, false // VALUES
	}
	feeds := true // whether the query in the bracket that was opened last gives rows
	known := true // whether all doubts are about columns of the query itself
	offset = -1
	var last scan.Token
	for depth := 0; e.Token.Kind != scan.End; e.Advance() {
		switch {
		case e.IsPunct('('):
			depth++
			before := e.TextOf(last)
			feeds = last.End == 0 || before == "," || before == "(" && feeds || last.Kind == scan.Word && Feeding.Has(before)
		case e.IsPunct(')'):
			depth--
		case e.IsWord("values"):
			return e.Token.Start, nil, false
		case e.IsWord("select") && (feeds || e.TextOf(last) != "("):
			at, columns, stars := e.listDoubts()
			if len(columns) > 0 && offset < 0 {
				offset = at
			}
			known = known && (len(columns) == 0 || depth == 0 && !stars)
			doubts = append(doubts, columns...)
		}
		last = e.Token
	}
	switch {
	case offset < 0:
		return 0, nil, true
	case !known:
		doubts = nil
	}
	return offset, doubts, false
}

// listDoubts returns the items that may change, in the list of the SELECT at the current
// token, and the offset of the first. stars reports whether an item stands for several
// columns.
func (e *carriedExpr) listDoubts() (offset int, items []Doubt, stars bool) {
	s := *e
	s.Advance()
	for s.IsIn(selectModifiers) {
		s.Advance()
	}
	for start, depth, n := s.Token.Start, 0, 0; ; s.Advance() {
		// A SELECT in the middle of a list is a mistake. It ends the list, since its own
		// list is read separately.
		word := s.IsIn(listEnds) || s.IsWord("select")
		ends := depth == 0 && (word && s.Text[s.PrevEnd-1] != '.' || s.IsPunct(')') || s.Token.Kind == scan.End)
		switch {
		case ends, depth == 0 && s.IsPunct(','):
			item := s.Text[start:max(start, s.PrevEnd)]
			if !Survives(s.Dialect, item) {
				if items == nil {
					offset = start
				}
				items = append(items, Doubt{n, isStored(s.Dialect, item), exactOperands(s.Dialect, item)})
			} else if star := newCarriedExpr(s.Dialect, item); star.star() {
				stars = true
			}
			if ends {
				return offset, items, stars
			}
			start = s.Pos
			n++
		case s.Token.Kind == scan.End:
			if items == nil {
				offset = start
			}
			return offset, append(items, Doubt{Column: n}), true
		case s.IsPunct('('):
			depth++
		case s.IsPunct(')'):
			depth--
		}
	}
}

// selectModifiers are the words of MySQL and MariaDB between SELECT and its list.
var selectModifiers = scan.NewWordSet(`all distinct distinctrow straight_join high_priority sql_small_result sql_big_result
	sql_buffer_result sql_no_cache sql_cache sql_calc_found_rows`)
