package rewrite

import (
	"slices"
	"sync"

	"github.com/keyfill/keyfill/dialect"
)

// Action says what keyfill does with a query.
type Action uint8

// The four outcomes.
const (
	Pass   Action = iota // no INSERT into a configured table
	Keep                 // the INSERT brings its own key
	Fill                 // a key is added
	Refuse               // the INSERT cannot be filled exactly
)

// String returns the action's word: "pass", "keep", "fill" or "refuse".
func (a Action) String() string {
	return [...]string{"pass", "keep", "fill", "refuse"}[a]
}

// Plan is the compiled rewriting of one query. It does not change and is safe
// for concurrent use.
type Plan struct {
	// Action is decided from the text alone. Keep together with AtExecution
	// means that a bound value decides.
	Action      Action
	AtExecution bool     // a placeholder stands in a key's place
	Refusal     *Refusal // why, for Refuse
	Inserts     []Insert // the INSERTs into configured tables
	Draws       []Draw   // the calls to sources that an execution may take
	Statements  int      // how many the text has

	// Parts are the statements of the text where it can be executed in parts, each of them as
	// a text of its own, so that the rows of a query are counted, and keys drawn, directly
	// before the INSERT. nil elsewhere. If it NeedsParts, it cannot be prepared, and gives no
	// rows.
	Parts []string

	// Load says that the text opens a bulk load, and stands alone: its rows come
	// as the executions of the prepared text, with a value for each column as
	// arguments, and an execution without arguments ends it. [Plan.Holes] and
	// [Plan.Bind] are for one row, as if it had a placeholder for each column;
	// keys cannot be literals.
	Load bool

	Dialect *dialect.Dialect // that the plan was made for

	query   string
	edits   []edit
	slots   []slot
	params  params
	spell   spelling
	added   int   // placeholders that Bind adds
	dropped []int // the caller's arguments that are not sent, by index: see cutclause.go
	befores []int // for each of those, the caller's placeholders in front of it
	counts  []int // how many keys each draw takes when every slot does

	boundEdits []edit // the edits of BoundText where the caller's placeholders get other numbers too

	guarded bool // see GuardsSets
	session bool // a slot holds the key that Session speaks of

	// lasts are the placeholders, counted from 0 among those that Bind adds, that are three
	// in the session's text; listed are the edits of that text where a key is listed. nil
	// elsewhere.
	lasts  []lastKey
	listed []sessionEdit

	unbound Reason // why keys are literals even where there are placeholders
	scoped  bool   // keys are numbered within other columns

	readings []reading // see Readings

	first *firstParts // see there; nil for a plan without inserts

	conflicts bool // see MayConflict

	undoes   lazyUndoes
	byInsert lazySlots

	bound, boundSession lazyText
	reads               lazyReads
	quiet               lazyQuiet

	proof *proof // nil where no text proves anything
}

// firstParts is memory for a plan, and for what most plans that fill have: one INSERT with
// one key. It is one piece, since the pieces would take longer to allocate than to fill.
type firstParts struct {
	plan    Plan
	inserts [1]Insert
	edits   [2]edit
	slots   [1]slot
	draws   [1]Draw
	counts  [1]int
	befores [1]int
}

// lazyText is a text that is written at its first use.
type lazyText struct {
	once sync.Once
	text string
}

// get returns the text, which write returns at its first use.
func (t *lazyText) get(write func() string) string {
	t.once.Do(func() { t.text = write() })
	return t.text
}

// lazySlots are the indexes of the slots of each INSERT, once they were asked for.
type lazySlots struct {
	once sync.Once
	of   [][]int32
}

// slotsOf returns the indexes of the slots of an INSERT.
func (pl *Plan) slotsOf(insert int) []int32 {
	l := &pl.byInsert
	l.once.Do(func() {
		l.of = make([][]int32, len(pl.Inserts))
		for i := range pl.slots {
			of := &l.of[pl.slots[i].insert]
			*of = append(*of, int32(i))
		}
	})
	return l.of[insert]
}

// lazyUndoes is whether a text takes back what it does, once it was asked for.
type lazyUndoes struct {
	once   sync.Once
	undoes bool
}

// Draw is one call to a source: the keys of one column of one INSERT.
type Draw struct {
	Insert int // index of Plan.Inserts
	Key    int // index of the target's Keys
}

// slotKind says what stands in a key's place.
type slotKind uint8

const (
	slotKey slotKind = iota // nothing, or a literal that is no key
	slotOwn                 // the caller's placeholder, used only here
	slotTwo                 // the caller's placeholder, used elsewhere too
)

// slot is the place of one key among the arguments.
type slot struct {
	kind   slotKind
	wrap   wrap // how the key is written in the session's text
	insert int32
	key    int32
	row    int32
	draw   int32
	before int32  // the caller's placeholders in front of the place
	text   string // the caller's placeholder, which is the one behind them
}

// plan decides what becomes of the text that was read.
func (p *parser) plan() *Plan {
	pl := p.newPlan()
	if len(p.inserts) > 0 {
		pl.Inserts = p.inserts
	}
	if p.refusal == nil && len(p.cuts) > 0 {
		var ok bool
		if pl.dropped, ok = p.cutArguments(); !ok {
			in := &p.inserts[len(p.inserts)-1]
			p.refuse(in.Target, p.cuts[0].start, ErrGap)
		}
	}
	query := p.firstQuery()
	if p.refusal == nil && (len(p.slots) > 0 || query >= 0) {
		var reason Reason
		if pl.spell, reason = p.prevented(); reason != "" {
			first := max(query, 0)
			if len(p.slots) > 0 {
				first = int(p.slots[0].insert)
			}
			p.refuse(p.inserts[first].Target, p.edits[0].start, reason)
		}
	}
	switch {
	case p.refusal != nil:
		pl.Action, pl.Refusal = Refuse, p.refusal
		pl.Refusal.Others = pl.others(p.refusal.Target)
		return pl
	case len(p.inserts) == 0:
		pl.Action = Pass
		return pl
	}
	pl.conflicts = slices.ContainsFunc(pl.Inserts, func(in Insert) bool { return in.Conflict != ConflictError })
	if len(p.slots) == 0 && query < 0 {
		pl.Action = Keep
		return pl
	}
	if pl.spell.style == styleNumber {
		pl.spell.base -= len(pl.dropped)
	}
	p.endOnce()
	pl.params, pl.edits, pl.slots = p.params, trimmed(p.edits), trimmed(p.slots)
	pl.Action = Keep
	if query >= 0 {
		pl.Action = Fill
	}
	var known map[Draw]int32
	if len(pl.Inserts) > 1 {
		known = make(map[Draw]int32, len(pl.Inserts))
	}
	for i := range pl.slots {
		s := &pl.slots[i]
		if s.kind == slotKey {
			pl.Action = Fill
		} else {
			pl.AtExecution = true
		}
		s.draw = pl.draw(Draw{int(s.insert), int(s.key)}, known)
		pl.counts[s.draw]++
	}
	p.sessionForm(pl)
	pl.scoped = pl.hasScopes()
	if pl.unbound = p.unbound; p.perStatement() {
		pl.unbound = ErrPerStatement
	}
	pl.guarded = p.guarded
	var own []edit
	if pl.AtExecution {
		pl.edits = slices.DeleteFunc(pl.edits, func(e edit) bool {
			isOwn := e.slot >= 0 && pl.slots[e.slot].kind == slotOwn
			if isOwn && pl.proves(pl.Draws[pl.slots[e.slot].draw]) {
				own = append(own, e)
			}
			return isOwn
		})
	}
	if pl.spell.renumbers {
		pl.renumber()
	}
	pl.place()
	pl.proof = pl.newProof(own)
	if pl.Statements > 1 && (pl.Counts() || p.params.count == 0 && pl.fillsBehindOwn()) {
		pl.Parts = p.parts()
	}
	return pl
}

// newPlan returns a plan without anything that was read.
func (p *parser) newPlan() *Plan {
	var pl *Plan
	if p.first != nil {
		pl = &p.first.plan
	} else {
		pl = new(Plan)
	}
	pl.Dialect, pl.query, pl.Statements, pl.Load, pl.first = p.d, p.q, p.statements, p.streams, p.first
	return pl
}

// firstQuery returns the index of the first INSERT whose rows come from a query, -1
// where there is none.
func (p *parser) firstQuery() int {
	for i := range p.inserts {
		if p.inserts[i].Query != nil {
			return i
		}
	}
	return -1
}

// place counts the placeholders that Bind adds, and notes where they go among the
// caller's if there are any that this matters for.
func (pl *Plan) place() {
	for i := range pl.edits {
		if slot := pl.edits[i].slot; slot >= 0 {
			if pl.slots[slot].wrap == wrapLast {
				pl.lasts = append(pl.lasts, lastKey{pl.added, pl.slots[slot].draw})
			}
			pl.added++
		}
	}
	if pl.spell.style&stylePosition == 0 || pl.params.count == 0 && !pl.Load {
		return
	}
	if pl.first != nil {
		pl.befores = pl.first.befores[:0]
	}
	if pl.added > cap(pl.befores) {
		pl.befores = make([]int, 0, pl.added)
	}
	for i := range pl.edits {
		if slot := pl.edits[i].slot; slot >= 0 {
			pl.befores = append(pl.befores, int(pl.slots[slot].before))
		}
	}
}

// trimmed returns a slice without much room behind it, since plans are kept.
func trimmed[S ~[]E, E any](s S) S {
	if cap(s) > 2*len(s) {
		return slices.Clone(s)
	}
	return s
}

// prevented returns why the slots that were found cannot be filled, "" when
// they can and how the placeholders of their keys are spelled. It settles which
// of the caller's placeholders are shared.
func (p *parser) prevented() (spelling, Reason) {
	switch {
	case p.jumps:
		return spelling{}, ErrBlock
	case p.uncertain() != "":
		return spelling{}, p.uncertain()
	case p.statements > 1 && slices.ContainsFunc(p.inserts, func(in Insert) bool { return in.Query != nil && in.Query.counted }) && !p.countsBeside():
		return spelling{}, ErrSelectSeveral // what stands beside it may change its rows
	case p.perStatement() && p.asking > 1 && p.params.styles != styleName && (hasOwn(p.slots) || p.asksScope()):
		return spelling{}, ErrPerStatement
	}
	sp, ok := p.spell()
	if !ok {
		return sp, ErrStyles
	}
	firstUse := p.d.Params.FirstUse && sp.open == "$"
	if sp.style == stylePosition || p.params.count == 0 ||
		sp.style != styleName && !firstUse && !hasOwn(p.slots) {
		return sp, ""
	}
	u := p.uses()
	p.params.names = u.names
	if shared := p.share(&u); shared && sp.style&stylePosition != 0 && sp.style&styleName != 0 {
		return sp, ErrShared
	}
	if !firstUse {
		return sp, ""
	}
	return p.firstUse(&u, sp)
}

// firstUse sees to it that a placeholder that drivers number by its digits or by
// where it first stands in the text gets the same argument by both: those behind a
// key get other numbers. Where the caller's own are not so, its drivers do what they
// did as long as no argument comes in between: keys are literals.
func (p *parser) firstUse(u *usage, sp spelling) (spelling, Reason) {
	for i := range p.slots {
		s := &p.slots[i]
		early := s.kind != slotOwn && int(s.before) < u.newest
		switch {
		case s.kind != slotKey && !u.ordered, s.kind == slotTwo && early:
			return sp, ErrFirstUse
		case early:
			sp.renumbers = true
		}
	}
	switch {
	case u.ordered:
	case p.asksScope():
		return sp, ErrFirstUse
	default:
		p.unbound, sp.renumbers = ErrFirstUse, false
	}
	if sp.renumbers {
		sp.style, sp.base = stylePosition, 0
	}
	return sp, ""
}

// hasOwn reports whether one of the slots is the caller's placeholder.
func hasOwn(slots []slot) bool {
	for i := range slots {
		if slots[i].kind == slotOwn {
			return true
		}
	}
	return false
}

// share makes the slots of placeholders that are used elsewhere too take one of
// their own, and reports whether there are any. Of a placeholder used for keys
// alone the first slot keeps it, so that no argument is left without a place.
func (p *parser) share(u *usage) bool {
	if u.ids == nil {
		return false // each is used once
	}
	keys := map[string]int{}
	for i := range p.slots {
		if s := &p.slots[i]; s.kind == slotOwn {
			keys[p.identity(s.text)]++
		}
	}
	shared := false
	for i := range p.slots {
		s := &p.slots[i]
		if s.kind != slotOwn {
			continue
		}
		id := p.identity(s.text)
		n := u.count(id)
		if n == 1 {
			continue
		}
		shared = true
		if keys[id] == n {
			keys[id] = 0
			continue
		}
		s.kind = slotTwo
	}
	return shared
}

// draw returns the index of a draw, which it adds at its first use. known are the indexes
// of all draws, nil if there is one INSERT, which has few.
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
	case len(pl.Inserts) == 1 && pl.first != nil:
		pl.Draws, pl.counts = pl.first.draws[:0], pl.first.counts[:0]
	default:
		pl.Draws, pl.counts = make([]Draw, 0, len(pl.Inserts)), make([]int, 0, len(pl.Inserts))
	}
	pl.Draws = append(pl.Draws, d)
	pl.counts = append(pl.counts, 0)
	return int32(len(pl.Draws) - 1)
}

// MayConflict reports whether an INSERT of the text may leave rows out or change others,
// where it would fail without its upsert clause.
func (pl *Plan) MayConflict() bool { return pl.conflicts }

// Added returns how many placeholders the bound text has more than the query. session is as
// for [Plan.BoundText].
func (pl *Plan) Added(session bool) int {
	switch {
	case !session || !pl.Session():
		return pl.added - len(pl.dropped)
	case pl.listed != nil:
		return pl.addedListed()
	}
	return pl.added + 2*len(pl.lasts) - len(pl.dropped)
}

// TooMany reports whether the bound text would have more placeholders than the
// engine takes, or drivers would not agree on which are whose: [Plan.Unbound].
func (pl *Plan) TooMany() bool { return pl.Unbound() != "" }

// Place is where a key travels: the ordinal of its argument, from 1.
type Place struct {
	Arg    int
	Row    int // from 0
	Insert int
	Key    int
}

// Places returns where the keys travel among the final arguments when the text
// decides alone: placeholders in a key's place are taken for keys. It applies
// to nameless arguments where the dialect takes both kinds. session is as for
// [Plan.BoundText].
func (pl *Plan) Places(session bool) []Place {
	if session && pl.listed != nil {
		return pl.placesListed()
	}
	var places []Place
	n := 0
	for _, e := range pl.edits {
		if e.slot < 0 {
			continue
		}
		s := &pl.slots[e.slot]
		n++
		if s.kind != slotKey {
			continue
		}
		if session && s.wrap == wrapLast {
			n++ // behind the first key
		}
		arg := int(s.before) + n
		switch pl.spell.style {
		case styleNumber:
			arg = pl.spell.base + n
		case styleName:
			arg = pl.params.names + n
		}
		places = append(places, Place{Arg: arg, Row: int(s.row), Insert: int(s.insert), Key: int(s.key)})
		if session && s.wrap == wrapLast {
			n++
		}
	}
	return places
}

// Filled is one place that takes a key in an execution: the N-th key of a draw.
type Filled struct {
	Row    int // from 0
	Insert int
	Key    int
	Draw   int
	N      int
}

// Filled returns the places that take a key, in the order of the text. An INSERT
// with a [Query] has none: its rows are not known.
func (pl *Plan) Filled(h Holes) []Filled {
	var places []Filled
	used := make([]int, len(pl.Draws))
	for i := range pl.slots {
		s := &pl.slots[i]
		if h.fill != nil && !h.fill[i] {
			continue
		}
		if pl.Inserts[s.insert].Query != nil {
			continue
		}
		places = append(places, Filled{Row: int(s.row), Insert: int(s.insert), Key: int(s.key), Draw: int(s.draw), N: used[s.draw]})
		used[s.draw]++
	}
	return places
}

// GuardsSets reports whether a value of VALUES is written as COALESCE(value), so that
// the engine refuses one that is a set.
func (pl *Plan) GuardsSets() bool { return pl.guarded }
