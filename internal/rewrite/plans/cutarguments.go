package plans

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// An upsert clause applies to rows whose key exists already. If every row gets a new key
// and the clause is about that key alone, it cannot apply, but GORM, for one, writes it
// anyway:
//
//	INSERT INTO t (a) VALUES ($1) ON CONFLICT (id) DO UPDATE SET a = excluded.a RETURNING id
//
// A numbering without gaps cannot leave a row out, so for such keys the clause is cut
// from the text. If a number should exist after all, the statement fails and changes no
// other row. Arguments that only the clause uses are cut too.

// UpsertClause is the span of an upsert clause in the text, such as ON CONFLICT.
type UpsertClause struct {
	scan.Span
	Key        int // the index of the key that is the clause's only target; -1 for any other target
	From, UpTo int // how many of the caller's placeholders precede the clause, and how many precede its end
}

// cutArguments returns the indexes of the caller's arguments that only cut clauses use,
// which are not sent, and renumbers the placeholders after them. ok is false if that is not
// possible.
func (p *Draft) cutArguments() (dropped []int, ok bool) {
	if p.Split.Statements > 1 || p.Params.Styles != reader.StylePosition && p.Params.Styles != reader.StyleNumber {
		return nil, false
	}
	uses := make([]bool, p.Params.Count+1) // by number, whether an argument is used outside of the cut clauses
	if p.Params.Styles == reader.StyleNumber {
		uses = make([]bool, p.Params.Max+1)
		if p.Params.Max > p.Dialect.Params.Max {
			return nil, false
		}
	}
	var behind []scan.Token // the remaining placeholders after the start of the first cut clause
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
			return nil, false // another edit may replace the placeholder before the clause
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

// standsBefore reports whether the placeholder with the number is before the first clause
// that is cut.
func (p *Draft) standsBefore(number int) bool {
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text[:p.Cuts[0].Start]}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if t.Kind == scan.Placeholder && scan.NumberOf(p.Text[t.Start+1:t.End]) == number {
			return true
		}
	}
	return false
}
