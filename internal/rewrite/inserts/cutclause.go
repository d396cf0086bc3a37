package inserts

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// openClause notes an upsert clause that begins at the current token.
func (in *State) openClause(p *reader.Reader) {
	in.upserts = append(in.upserts, plans.UpsertClause{Span: scan.Span{Start: p.Token.Start, End: -1}, Key: -1, From: p.Params.Count})
}

// endClause notes the end of the last upsert clause, if it is still open.
func (in *State) endClause(p *reader.Reader) {
	if n := len(in.upserts); n > 0 && in.upserts[n-1].End < 0 {
		in.upserts[n-1].End, in.upserts[n-1].UpTo = p.PrevEnd, p.Params.Count
	}
}

// noteClauses notes where upsert clauses begin and end. at and next are the places before
// and after the current token.
func (in *State) noteClauses(p *reader.Reader, at, next clausePlace) {
	switch {
	case next == placeOn && at != placeOn:
		in.endClause(p)
		in.openClause(p)
	case next == placeRest && at != placeRest, next == placeLog && at != placeLog:
		in.endClause(p)
	case at == placeConflict && next == placeTarget:
		q := *p
		q.Advance()
		key := keyAt(&q, in.Target)
		if q.Advance(); q.IsPunct(')') {
			in.upserts[len(in.upserts)-1].Key = key
		}
	case next == placeDuplicate:
		in.upserts[len(in.upserts)-1].Key = slices.IndexFunc(in.Target.Keys, func(k plans.Key) bool { return k.Sole })
	}
}

// Cut cuts the upsert clauses of an INSERT out of the text if none of them can apply,
// because every row gets a new key. The slots of the INSERT, which are the places for its
// keys, begin with the m-th. before is how the INSERT treats existing rows without the
// clauses.
func Cut(p *plans.Draft, in *State, m int, before plans.Conflict) {
	if len(in.upserts) == 0 || before != plans.ConflictError || in.conditional {
		return
	}
	for _, c := range in.upserts {
		if c.Key < 0 || !in.Target.Keys[c.Key].Gapless || !fillsAll(p, in, m, c.Key) || c.UpTo > c.From && !cutsArguments(&p.Reader, c) {
			return
		}
	}
	for _, c := range in.upserts {
		p.Edit(blanksBefore(&p.Reader, c.Span), c.End, "")
		if c.UpTo > c.From {
			p.Cuts = append(p.Cuts, c)
		}
	}
	in.Upsert.Conflict, in.Upsert.UpdatesKey, in.Upsert.LeavesRow, in.Upsert.Idiom, in.Upsert.Assigned, in.Upsert.Sure = plans.ConflictError, false, false, false, false, false
}

// blanksBefore returns where to cut a clause, so that no blanks before it remain. Line ends
// stay, since a comment may end there.
func blanksBefore(p *reader.Reader, s scan.Span) int {
	if s.End < len(p.Text) && !scan.IsSpace(p.Text[s.End]) && p.Text[s.End] != ';' && p.Text[s.End] != ')' {
		return s.Start
	}
	for s.Start > 0 && (p.Text[s.Start-1] == ' ' || p.Text[s.Start-1] == '\t') {
		s.Start--
	}
	return s.Start
}

// fillsAll reports whether every row of an INSERT gets a new key in a column, whatever the
// arguments are.
func fillsAll(p *plans.Draft, in *State, m, key int) bool {
	n := 0
	for i := range p.Slots[m:] {
		switch s := &p.Slots[m+i]; {
		case int(s.Key) != key:
		case s.Kind != plans.SlotKey:
			return false
		default:
			n++
		}
	}
	if in.Query != nil {
		return n > 0 && in.Listed.Of(key) < 0 && in.Target.Keys[key].Counted
	}
	return n > 0 && n == in.Rows
}

// cutsArguments reports whether the arguments of a clause can be cut: its placeholders
// are all ?, or all $1, $2 … and every driver takes these as numbers.
func cutsArguments(p *reader.Reader, c plans.UpsertClause) bool {
	s := scan.Scanner{Dialect: p.Dialect, Text: p.Text[:c.End], Pos: c.Start}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		if text := p.Text[t.Start:t.End]; t.Kind == scan.Placeholder && text != "?" && (text[0] != '$' || p.Dialect.Params.FirstUse) {
			return false
		}
	}
	return true
}
