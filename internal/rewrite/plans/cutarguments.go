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
	// These say, by the number of an argument, whether it is used inside of the cut clauses
	// (inside), outside of them (uses), before the first cut clause (before), and outside
	// of them after the first has begun (later).
	most := p.Params.Count
	if p.Params.Styles == reader.StyleNumber {
		if most = p.Params.Max; most > p.Dialect.Params.Max {
			return nil, false
		}
	}
	inside, uses := make([]bool, most+1), make([]bool, most+1)
	before, later := make([]bool, most+1), make([]bool, most+1)
	var behind []scan.Token // the placeholders outside of the cut clauses, after the first has begun
	cuts := slices.Clone(p.Cuts)
	slices.SortFunc(cuts, func(a, b UpsertClause) int { return cmp.Compare(a.Start, b.Start) })
	end := 0 // the end of the clauses that begin before the current token
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
		for ; len(cuts) > 0 && cuts[0].Start <= t.Start; cuts = cuts[1:] {
			end = max(end, cuts[0].End)
		}
		before[number] = before[number] || t.Start < p.Cuts[0].Start
		if t.End <= end {
			inside[number] = true
			continue
		}
		uses[number] = true
		if t.Start > p.Cuts[0].Start {
			behind = append(behind, t)
			later[number] = true
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
		if uses[number] && (!later[number] || before[number]) {
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
