package rewrite

import (
	"cmp"
	"slices"
	"strconv"
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

// upsertClause is an upsert clause in the text.
type upsertClause struct {
	span
	key        int // the index of the key that is its only target, -1 for another target
	from, upTo int // the caller's placeholders in front of it, and up to its end
}

// openClause notes an upsert clause that begins at the current token.
func (in *insertState) openClause(p *reader) {
	in.upserts = append(in.upserts, upsertClause{span: span{p.tok.start, -1}, key: -1, from: p.params.count})
}

// endClause notes where the last upsert clause ends, if it has not ended.
func (in *insertState) endClause(p *reader) {
	if n := len(in.upserts); n > 0 && in.upserts[n-1].end < 0 {
		in.upserts[n-1].end, in.upserts[n-1].upTo = p.prev, p.params.count
	}
}

// noteClauses notes the upsert clauses: at and next are the places in front of the current
// token and behind it.
func (in *insertState) noteClauses(p *reader, at, next clausePlace) {
	switch {
	case next == placeOn && at != placeOn:
		in.endClause(p)
		in.openClause(p)
	case next == placeRest && at != placeRest, next == placeLog && at != placeLog:
		in.endClause(p)
	case at == placeConflict && next == placeTarget:
		q := *p
		q.advance()
		key := q.keyAt(in.Target)
		if q.advance(); q.isPunct(')') {
			in.upserts[len(in.upserts)-1].key = key
		}
	case next == placeDuplicate:
		in.upserts[len(in.upserts)-1].key = slices.IndexFunc(in.Target.Keys, func(k Key) bool { return k.Sole })
	}
}

// cut cuts the upsert clauses of an INSERT whose slots begin with the m-th, if none of them
// can apply. before says what the INSERT does with a row that is there without them.
func (p *parser) cut(in *insertState, m int, before Conflict) {
	if len(in.upserts) == 0 || before != ConflictError || in.conditional {
		return
	}
	for _, c := range in.upserts {
		if c.key < 0 || !in.Target.Keys[c.key].Gapless || !p.fillsAll(in, m, c.key) || c.upTo > c.from && !p.cutsArguments(c) {
			return
		}
	}
	for _, c := range in.upserts {
		p.edit(p.blanksBefore(c.span), c.end, "")
		if c.upTo > c.from {
			p.cuts = append(p.cuts, c)
		}
	}
	in.Conflict, in.UpdatesKey, in.LeavesRow, in.Idiom, in.assigned, in.sure = ConflictError, false, false, false, false, false
}

// blanksBefore returns where the blanks begin that a clause leaves behind when it is cut.
// Line ends stay, since a comment may end there.
func (p *reader) blanksBefore(s span) int {
	if s.end < len(p.q) && !isSpace(p.q[s.end]) && p.q[s.end] != ';' && p.q[s.end] != ')' {
		return s.start
	}
	for s.start > 0 && (p.q[s.start-1] == ' ' || p.q[s.start-1] == '\t') {
		s.start--
	}
	return s.start
}

// fillsAll reports whether every row of an INSERT gets a key of a column, whatever the
// arguments are.
func (p *parser) fillsAll(in *insertState, m, key int) bool {
	n := 0
	for i := range p.slots[m:] {
		switch s := &p.slots[m+i]; {
		case int(s.key) != key:
		case s.kind != slotKey:
			return false
		default:
			n++
		}
	}
	if in.Query != nil {
		return n > 0 && in.listed.of(key) < 0 && in.Target.Keys[key].Counted
	}
	return n > 0 && n == in.Rows
}

// cutsArguments reports whether the arguments of a clause can be cut: its placeholders are
// all ?, or all $1, $2 … where these are numbers to every driver.
func (p *reader) cutsArguments(c upsertClause) bool {
	s := scanner{d: p.d, q: p.q[:c.end], pos: c.start}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if text := p.q[t.start:t.end]; t.kind == tokParam && text != "?" && (text[0] != '$' || p.d.Params.FirstUse) {
			return false
		}
	}
	return true
}

// cutArguments settles which of the caller's arguments are not sent, and gives the
// placeholders behind them other numbers. It reports false where that is not possible.
func (p *parser) cutArguments() (dropped []int, ok bool) {
	if p.statements > 1 || p.params.styles != stylePosition && p.params.styles != styleNumber {
		return nil, false
	}
	uses := make([]bool, p.params.count+1) // by the number of an argument, which others than the clauses have
	if p.params.styles == styleNumber {
		uses = make([]bool, p.params.max+1)
		if p.params.max > p.d.Params.Max {
			return nil, false
		}
	}
	var behind []token // what stands behind the first clause, and stays
	inside := make([]bool, len(uses))
	n := 0
	s := scanner{d: p.d, q: p.q}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind != tokParam {
			continue
		}
		n++
		number := n
		if p.params.styles == styleNumber {
			number = numberOf(p.q[t.start+1 : t.end])
		}
		if slices.ContainsFunc(p.cuts, func(c upsertClause) bool { return c.start <= t.start && t.end <= c.end }) {
			inside[number] = true
			continue
		}
		uses[number] = true
		if t.start > p.cuts[0].start {
			behind = append(behind, t)
		}
	}
	for number := 1; number < len(uses); number++ {
		if inside[number] && !uses[number] {
			dropped = append(dropped, number-1)
		}
	}
	if p.params.styles == stylePosition || len(dropped) == 0 {
		return dropped, true
	}
	for number := dropped[0] + 1; number < len(uses); number++ {
		later := slices.ContainsFunc(behind, func(t token) bool { return numberOf(p.q[t.start+1:t.end]) == number })
		if uses[number] && (!later || p.standsBefore(number)) {
			return nil, false // its place is another edit's, maybe
		}
	}
	for _, t := range behind {
		number := numberOf(p.q[t.start+1 : t.end])
		if less, _ := slices.BinarySearch(dropped, number-1); less > 0 {
			p.edits = append(p.edits, edit{start: t.start, end: t.end, text: "$" + strconv.Itoa(number-less), slot: -1})
		}
	}
	slices.SortStableFunc(p.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return dropped, true
}

// standsBefore reports whether the placeholder of a number stands in front of the first
// clause that is cut.
func (p *parser) standsBefore(number int) bool {
	s := scanner{d: p.d, q: p.q[:p.cuts[0].start]}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		if t.kind == tokParam && numberOf(p.q[t.start+1:t.end]) == number {
			return true
		}
	}
	return false
}
