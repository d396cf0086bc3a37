package plans

import (
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/rewrite"
)

// Plan returns the plan for the text that was read.
func (p *Draft) Plan() *Plan {
	pl := p.newPlan()
	if len(p.Inserts) > 0 {
		pl.Inserts = p.Inserts
	}
	if p.Refusal == nil && len(p.Cuts) > 0 {
		dropped, ok := p.cutArguments()
		if dropped != nil {
			pl.Changes.seldom().DroppedArgs = dropped
		}
		if !ok {
			in := &p.Inserts[len(p.Inserts)-1]
			p.Refuse(in.Target, p.Cuts[0].Start, rewrite.ErrGap)
		}
	}
	query := p.firstQuery()
	if p.Refusal == nil && (len(p.Slots) > 0 || query >= 0) {
		var reason rewrite.Reason
		if pl.Changes.Spelling, reason = p.spellingOrReason(); reason != "" {
			first := max(query, 0)
			if len(p.Slots) > 0 {
				first = int(p.Slots[0].Insert)
			}
			p.Refuse(p.Inserts[first].Target, p.Edits[0].Start, reason)
		}
	}
	switch {
	case p.Refusal != nil:
		pl.Action, pl.Refusal = Refuse, p.Refusal
		pl.Refusal.Others = pl.Others(p.Refusal.Target)
		return pl
	case len(p.Inserts) == 0:
		pl.Action = Pass
		return pl
	}
	pl.MayConflict = slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Upsert.Conflict != ConflictError })
	if len(p.Slots) == 0 && query < 0 {
		pl.Action = Keep
		return pl
	}
	if pl.Changes.Spelling.Style == reader.StyleNumber {
		pl.Changes.Spelling.Base -= len(pl.Changes.Rare().DroppedArgs)
	}
	p.endOnce()
	pl.Changes.Params, pl.Changes.Edits, pl.Changes.Slots = p.Params, trimmed(p.Edits), trimmed(p.Slots)
	pl.Action = Keep
	if query >= 0 {
		pl.Action = Fill
	}
	var known map[Draw]int32
	if len(pl.Inserts) > 1 {
		known = make(map[Draw]int32, len(pl.Inserts))
	}
	for i := range pl.Changes.Slots {
		s := &pl.Changes.Slots[i]
		if s.Kind == SlotKey {
			pl.Action = Fill
		} else {
			pl.AtExecution = true
		}
		s.Draw = pl.draw(Draw{int(s.Insert), int(s.Key)}, known)
		pl.Changes.KeyCounts[s.Draw]++
	}
	p.sessionForm(pl)
	pl.Scoped = pl.hasScopes()
	if pl.LiteralReason = p.unbound; p.perStatement() {
		pl.LiteralReason = rewrite.ErrPerStatement
	}
	pl.GuardsSets = p.Guarded
	var own []Edit
	if pl.AtExecution {
		pl.Changes.Edits = slices.DeleteFunc(pl.Changes.Edits, func(e Edit) bool {
			isOwn := e.Slot >= 0 && pl.Changes.Slots[e.Slot].Kind == SlotOwn
			if isOwn && pl.proves(pl.Draws[pl.Changes.Slots[e.Slot].Draw]) {
				own = append(own, e)
			}
			return isOwn
		})
	}
	if pl.Changes.Spelling.Renumbers {
		pl.renumber()
	}
	pl.place()
	pl.Proof = pl.newProof(own)
	if p.divides(pl) {
		pl.Parts = p.parts()
	}
	return pl
}

// newPlan returns a plan of the text, still without its changes.
func (p *Draft) newPlan() *Plan {
	var pl *Plan
	if p.Memory != nil {
		pl = &p.Memory.plan
	} else {
		pl = new(Plan)
	}
	pl.Dialect, pl.Changes.Query, pl.Statements, pl.Load, pl.memory = p.Dialect, p.Text, p.Split.Statements, p.Streams, p.Memory
	return pl
}

// firstQuery returns the index of the first INSERT whose rows come from a query, -1 if
// there is none.
func (p *Draft) firstQuery() int {
	for i := range p.Inserts {
		if p.Inserts[i].Query != nil {
			return i
		}
	}
	return -1
}

// place counts the added placeholders. If drivers find arguments by position, it also notes
// for each added placeholder how many of the caller's placeholders precede it.
func (pl *Plan) place() {
	for i := range pl.Changes.Edits {
		if slot := pl.Changes.Edits[i].Slot; slot >= 0 {
			if pl.Changes.Slots[slot].Wrap == WrapLast {
				pl.Changes.seldom().LastKeys = append(pl.Changes.Rare().LastKeys, LastKey{pl.Changes.Added, pl.Changes.Slots[slot].Draw})
			}
			pl.Changes.Added++
		}
	}
	if pl.Changes.Spelling.Style&reader.StylePosition == 0 || pl.Changes.Params.Count == 0 && !pl.Load {
		return
	}
	if pl.memory != nil {
		pl.Changes.ArgsBefore = pl.memory.befores[:0]
	}
	if pl.Changes.Added > cap(pl.Changes.ArgsBefore) {
		pl.Changes.ArgsBefore = make([]int, 0, pl.Changes.Added)
	}
	for i := range pl.Changes.Edits {
		if slot := pl.Changes.Edits[i].Slot; slot >= 0 {
			pl.Changes.ArgsBefore = append(pl.Changes.ArgsBefore, int(pl.Changes.Slots[slot].Before))
		}
	}
}

// trimmed returns the slice without most of its spare capacity, since plans are cached.
func trimmed[S ~[]E, E any](s S) S {
	if cap(s) > 2*len(s) {
		return slices.Clone(s)
	}
	return s
}

// spellingOrReason returns how the placeholders of the keys are spelled, or the reason why
// the keys cannot be added. It also notes which of the caller's placeholders for keys have
// other uses.
func (p *Draft) spellingOrReason() (reader.Spelling, rewrite.Reason) {
	switch {
	case p.uncertain() != "":
		return reader.Spelling{}, p.uncertain()
	case p.Split.Statements > 1 && slices.ContainsFunc(p.Inserts, func(in Insert) bool { return in.Query != nil && in.Query.Counted }) && !p.countsBeside():
		return reader.Spelling{}, rewrite.ErrSelectSeveral // another statement may change the query's rows
	case p.perStatement() && p.Split.WithPlaceholders > 1 && p.Params.Styles != reader.StyleName && (hasOwn(p.Slots) || p.asksScope()):
		return reader.Spelling{}, rewrite.ErrPerStatement
	}
	sp, ok := p.spelling()
	if !ok {
		return sp, rewrite.ErrStyles
	}
	firstUse := p.Dialect.Params.FirstUse && sp.Open == "$"
	if sp.Style == reader.StylePosition || p.Params.Count == 0 ||
		sp.Style != reader.StyleName && !firstUse && !hasOwn(p.Slots) {
		return sp, ""
	}
	u := p.Uses()
	p.Params.Names = u.Names
	if shared := p.share(&u); shared && sp.Style&reader.StylePosition != 0 && sp.Style&reader.StyleName != 0 {
		return sp, rewrite.ErrShared
	}
	if !firstUse {
		return sp, ""
	}
	return p.firstUse(&u, sp)
}

// firstUse ensures that a placeholder gets the same argument in drivers that number it by
// its digits and in drivers that number it by its first use in the text: it renumbers the
// placeholders after a key. If the two numberings differ already in the caller's text, keys
// are written as literals, which leave both as they are.
func (p *Draft) firstUse(u *reader.Usage, sp reader.Spelling) (reader.Spelling, rewrite.Reason) {
	for i := range p.Slots {
		s := &p.Slots[i]
		early := s.Kind != SlotOwn && int(s.Before) < u.Newest
		switch {
		case s.Kind != SlotKey && !u.Ordered, s.Kind == SlotTwo && early:
			return sp, rewrite.ErrFirstUse
		case early:
			sp.Renumbers = true
		}
	}
	switch {
	case u.Ordered:
	case p.asksScope():
		return sp, rewrite.ErrFirstUse
	default:
		p.unbound, sp.Renumbers = rewrite.ErrFirstUse, false
	}
	if sp.Renumbers {
		sp.Style, sp.Base = reader.StylePosition, 0
	}
	return sp, ""
}

// hasOwn reports whether a slot (a place for a key) is one of the caller's own
// placeholders.
func hasOwn(slots []Slot) bool {
	for i := range slots {
		if slots[i].Kind == SlotOwn {
			return true
		}
	}
	return false
}

// share finds keys whose placeholder has other uses too. Each of them gets a placeholder of
// its own, and share reports whether there are any. If all uses of a placeholder are keys,
// the first of these keys keeps the placeholder, so that its argument is still used.
func (p *Draft) share(u *reader.Usage) bool {
	if u.Ids == nil {
		return false // each placeholder is used once
	}
	keys := map[string]int{}
	for i := range p.Slots {
		if s := &p.Slots[i]; s.Kind == SlotOwn {
			keys[p.Identity(s.Text)]++
		}
	}
	shared := false
	for i := range p.Slots {
		s := &p.Slots[i]
		if s.Kind != SlotOwn {
			continue
		}
		id := p.Identity(s.Text)
		n := u.Count(id)
		if n == 1 {
			continue
		}
		shared = true
		if keys[id] == n {
			keys[id] = 0
			continue
		}
		s.Kind = SlotTwo
	}
	return shared
}

// draw returns the index of d in the plan's draws (calls to key sources), and adds d at its
// first use. known has the indexes of all draws; it is nil for a single INSERT, which has
// few.
func (pl *Plan) draw(d Draw, known map[Draw]int32) int32 {
	if known != nil {
		if i, ok := known[d]; ok {
			return i
		}
		known[d] = int32(len(pl.Draws))
	} else if i := slices.Index(pl.Draws, d); i >= 0 {
		return int32(i)
	}
	switch {
	case pl.Draws != nil:
	case len(pl.Inserts) == 1 && pl.memory != nil:
		pl.Draws, pl.Changes.KeyCounts = pl.memory.draws[:0], pl.memory.counts[:0]
	default:
		pl.Draws, pl.Changes.KeyCounts = make([]Draw, 0, len(pl.Inserts)), make([]int, 0, len(pl.Inserts))
	}
	pl.Draws = append(pl.Draws, d)
	pl.Changes.KeyCounts = append(pl.Changes.KeyCounts, 0)
	return int32(len(pl.Draws) - 1)
}
