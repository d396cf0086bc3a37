package plans

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// An upsert clause says what becomes of a row whose key is there already. Where every row
// gets a new key and the clause is about that key alone, it cannot apply, and GORM, say,
// writes it nevertheless:
//
//	INSERT INTO t (a) VALUES ($1) ON CONFLICT (id) DO UPDATE SET a = excluded.a RETURNING id
//
// A numbering without gaps cannot leave a row out, so for such keys the clause is cut from
// the text. If a number should be there after all, the statement is an error and changes no
// other row. The arguments that only the clause has are cut too.

// UpsertClause is an upsert clause in the text.
type UpsertClause struct {
	scan.Span
	Key        int // the index of the key that is its only target, -1 for another target
	From, UpTo int // the caller's placeholders in front of it, and up to its end
}

// cutArguments settles which of the caller's arguments are not sent, and gives the
// placeholders behind them other numbers. It reports false where that is not possible.
func (p *Draft) cutArguments() (dropped []int, ok bool) {
	if p.Statements > 1 || p.Params.Styles != reader.StylePosition && p.Params.Styles != reader.StyleNumber {
		return nil, false
	}
	uses := make([]bool, p.Params.Count+1) // by the number of an argument, which others than the clauses have
	if p.Params.Styles == reader.StyleNumber {
		uses = make([]bool, p.Params.Max+1)
		if p.Params.Max > p.Dialect.Params.Max {
			return nil, false
		}
	}
	var behind []scan.Token // what stands behind the first clause, and stays
	inside := make([]bool, len(uses))
	n := 0
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind != scan.Placeholder {
			continue
		}
		n++
		number := n
		if p.Params.Styles == reader.StyleNumber {
			number = scan.NumberOf(p.Text[t.Start+1 : t.End])
		}
		if slices.ContainsFunc(p.Cuts, func(c UpsertClause) bool { return c.Start <= t.Start && t.End <= c.End }) {
			inside[number] = true
			continue
		}
		uses[number] = true
		if t.Start > p.Cuts[0].Start {
			behind = append(behind, t)
		}
	}
	for number := 1; number < len(uses); number++ {
		if inside[number] && !uses[number] {
			dropped = append(dropped, number-1)
		}
	}
	if p.Params.Styles == reader.StylePosition || len(dropped) == 0 {
		return dropped, true
	}
	for number := dropped[0] + 1; number < len(uses); number++ {
		later := slices.ContainsFunc(behind, func(t scan.Token) bool { return scan.NumberOf(p.Text[t.Start+1:t.End]) == number })
		if uses[number] && (!later || p.standsBefore(number)) {
			return nil, false // its place is another edit's, maybe
		}
	}
	for _, t := range behind {
		number := scan.NumberOf(p.Text[t.Start+1 : t.End])
		if less, _ := slices.BinarySearch(dropped, number-1); less > 0 {
			p.Edits = append(p.Edits, Edit{Start: t.Start, End: t.End, Text: "$" + strconv.Itoa(number-less), Slot: -1})
		}
	}
	slices.SortStableFunc(p.Edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	return dropped, true
}

// standsBefore reports whether the placeholder of a number stands in front of the first
// clause that is cut.
func (p *Draft) standsBefore(number int) bool {
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text[:p.Cuts[0].Start]}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind == scan.Placeholder && scan.NumberOf(p.Text[t.Start+1:t.End]) == number {
			return true
		}
	}
	return false
}
