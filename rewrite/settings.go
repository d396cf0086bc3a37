package rewrite

import (
	"math/bits"
	"reflect"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// reading is the plan of a query under other settings than its main plan's.
type reading struct {
	settings dialect.Settings
	plan     *Plan
}

// Readings is [Compile] for a connection whose settings are not known. The plan
// holds under the dialect's own settings. It is [Plan.Ambiguous] where the
// engine may run the text under other settings and the plan would be another one
// under these.
//
// Not every text with a quote or a backslash is ambiguous: its tokens have to
// differ, and then the plans. A setting under which the engine can only refuse
// the text does not count: a string without an end, or a backslash outside of
// strings, stays one when keys are added, whose quotes come in pairs.
func Readings(d *dialect.Dialect, lookup Lookup, query string) *Plan {
	p := Compile(d, lookup, query)
	for _, s := range othersOf(d, query) {
		o := Compile(d.With(s), lookup, p.query)
		if !o.stringTarget() && !p.same(o) {
			p.readings = append(p.readings, reading{s, o})
		}
	}
	return p
}

// Ambiguous reports whether something else may become of the text under other
// settings of the session.
func (pl *Plan) Ambiguous() bool { return len(pl.readings) > 0 }

// Under returns the plan under the settings that a session has.
func (pl *Plan) Under(s dialect.Settings) *Plan {
	if !pl.Ambiguous() {
		return pl
	}
	s = s.Of(pl.Dialect.Setting.In(pl.query))
	for _, r := range pl.readings {
		if r.settings == s {
			return r.plan
		}
	}
	return pl
}

// Unsettled returns the refusal of a text that is ambiguous when the settings
// cannot be known.
func (pl *Plan) Unsettled() *Plan {
	targets := pl.Targets()
	t := targets[0]
	r := &Refusal{Target: t, Table: t.Table, Column: t.Keys[0].Column, Reason: ErrSettings, Others: targets[1:]}
	all := []*Plan{pl}
	for _, other := range pl.readings {
		all = append(all, other.plan)
	}
	for _, p := range slices.Backward(all) {
		for i := range p.Inserts {
			if p.Inserts[i].Target == t {
				r.Offset = p.Inserts[i].Offset
			}
		}
	}
	return &Plan{Action: Refuse, Refusal: r, Statements: pl.Statements, Dialect: pl.Dialect, query: pl.query}
}

// ReadsAny returns what the text reads under any settings that are in question:
// see [Plan.Reads].
func (pl *Plan) ReadsAny() Reads {
	reads := pl.Reads()
	for _, r := range pl.readings {
		reads |= r.plan.Reads()
	}
	return reads
}

// Targets returns the configured tables that the text may insert into, under
// any settings that are in question, each once.
func (pl *Plan) Targets() []*Target {
	var all []*Target
	add := func(t *Target) {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	for i := range pl.Inserts {
		add(pl.Inserts[i].Target)
	}
	if pl.Refusal != nil {
		add(pl.Refusal.Target)
		for _, t := range pl.Refusal.Others {
			add(t)
		}
	}
	for _, r := range pl.readings {
		for _, t := range r.plan.Targets() {
			add(t)
		}
	}
	return all
}

// TransactionOfAny is [TransactionOf] for a connection whose settings are not
// known: where they matter, the state is unknown.
func TransactionOfAny(d *dialect.Dialect, query string) Transaction {
	tx := TransactionOf(d, query)
	for _, s := range othersOf(d, query) {
		if TransactionOf(d.With(s), query) != tx {
			return TxUnknown
		}
	}
	return tx
}

// TemporaryOfAny is [Temporary] for a connection whose settings are not known:
// the names under any of them.
func TemporaryOfAny(d *dialect.Dialect, query string) []string {
	names := Temporary(d, query)
	for _, s := range othersOf(d, query) {
		names = append(names, Temporary(d.With(s), query)...)
	}
	return names
}

// othersOf returns the settings besides the dialect's own under which a text has
// other tokens and the engine may run it.
func othersOf(d *dialect.Dialect, query string) []dialect.Settings {
	others := d.Others(query)
	if len(others) == 0 || !tokensDiffer(d, others, query) {
		return nil
	}
	return slices.DeleteFunc(others, func(s dialect.Settings) bool { return hopeless(d.With(s), query) })
}

// tokensDiffer reports whether one of the settings changes a token of the text.
// If no single one does at any token, all of them together do not.
func tokensDiffer(d *dialect.Dialect, others []dialect.Settings, query string) bool {
	var alone [bits.UintSize]*dialect.Dialect
	n := 0
	for _, s := range others {
		if changed := s ^ d.Settings; bits.OnesCount16(uint16(changed&^dialect.ANSIQuotes)) <= 1 {
			alone[n] = d.With(s)
			n++
		}
	}
	s := scanner{d: d, q: query}
	for t := s.next(); t.kind != tokEnd; t = s.next() {
		switch t.kind {
		case tokSpace, tokComment, tokNumber:
			continue
		case tokWord:
			if query[t.end-1] < 0x80 {
				continue
			}
			// In a client's character set the next byte may be a part of the name.
		}
		if d.Setting.In(query[t.start:min(t.end+1, len(query))]) == 0 {
			continue
		}
		if t.kind == tokExec {
			return true // its content may differ
		}
		for _, other := range alone[:n] {
			o := scanner{d: other, q: query, pos: t.start}
			if o.next() != t {
				return true
			}
		}
	}
	return false
}

// hopeless reports whether the engine refuses the text as a whole, before it
// runs a statement of it, because no grammar has a token of it.
func hopeless(d *dialect.Dialect, query string) bool {
	oneByOne := d.Setting != nil && d.Setting.OneByOne
	s := scanner{d: d, q: query}
	for {
		switch t := s.next(); {
		case t.kind == tokError, t.kind == tokPunct && query[t.start] == '\\':
			return true
		case t.kind == tokEnd, t.kind == tokExec, oneByOne && t.kind == tokPunct && query[t.start] == ';':
			return false
		}
	}
}

// stringTarget reports whether the plan is of a text that the engine refuses as
// a whole because a name in it is a string. Keys are added behind the name.
func (pl *Plan) stringTarget() bool {
	return pl.Action == Refuse && pl.Refusal.Reason == ErrDoubleQuotes && (pl.Statements == 1 || !pl.Dialect.Setting.OneByOne)
}

// same reports whether two plans of a text do the same with it: they send the
// same text with the same keys, and report the same afterwards.
func (pl *Plan) same(o *Plan) bool {
	switch {
	case pl.Action != o.Action:
		return false
	case pl.Action == Pass:
		return true
	case pl.Action == Refuse:
		// Once the columns are known, the rows may differ.
		return pl.Refusal.Reason != ErrNoColumnList && o.Refusal.Reason != ErrNoColumnList &&
			slices.Equal(pl.Targets(), o.Targets())
	case pl.query != o.query, pl.AtExecution != o.AtExecution, pl.Statements != o.Statements, pl.Load != o.Load,
		pl.params != o.params, pl.spell != o.spell, pl.added != o.added,
		pl.guarded != o.guarded, pl.session != o.session, pl.unbound != o.unbound:
		return false
	}
	// What is known of an INSERT is compared as a whole, so that what it gets in
	// the future counts too.
	return reflect.DeepEqual(pl.Inserts, o.Inserts) &&
		slices.Equal(pl.Draws, o.Draws) && slices.Equal(pl.edits, o.edits) && slices.Equal(pl.boundEdits, o.boundEdits) && slices.Equal(pl.listed, o.listed) && slices.Equal(pl.slots, o.slots) &&
		slices.Equal(pl.befores, o.befores) && slices.Equal(pl.dropped, o.dropped) && slices.Equal(pl.counts, o.counts) &&
		pl.Reads() == o.Reads() && (pl.Statements == 1 || pl.Undoes() == o.Undoes())
}
