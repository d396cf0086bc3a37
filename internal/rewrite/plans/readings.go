package plans

import (
	"reflect"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/rewrite"
)

// Reading is the plan of a query under session settings other than its main plan's.
type Reading struct {
	Settings dialect.Settings
	Plan     *Plan
}

// Ambiguous reports whether the text has another plan under other session settings.
func (pl *Plan) Ambiguous() bool { return len(pl.Readings) > 0 }

// Under returns the plan that applies under the settings of a session.
func (pl *Plan) Under(s dialect.Settings) *Plan {
	if !pl.Ambiguous() {
		return pl
	}
	s = s.Of(pl.Dialect.Setting.In(pl.Changes.Query))
	for _, r := range pl.Readings {
		if r.Settings == s {
			return r.Plan
		}
	}
	return pl
}

// Unsettled returns a plan that refuses an ambiguous text, for sessions whose settings
// cannot be known.
func (pl *Plan) Unsettled() *Plan {
	targets := pl.Targets()
	t := targets[0]
	r := &Refusal{Target: t, Table: t.Table, Column: t.Keys[0].Column, Reason: rewrite.ErrSettings, Others: targets[1:]}
	all := []*Plan{pl}
	for _, other := range pl.Readings {
		all = append(all, other.Plan)
	}
	for _, p := range slices.Backward(all) {
		for i := range p.Inserts {
			if p.Inserts[i].Target == t {
				r.Offset = p.Inserts[i].Offset
			}
		}
	}
	return &Plan{Action: Refuse, Refusal: r, Statements: pl.Statements, Dialect: pl.Dialect, Changes: Changes{Query: pl.Changes.Query}}
}

// ReadsAny returns which results of the connection's last statement the text reads under
// any possible settings: see [Plan.Reads].
func (pl *Plan) ReadsAny() effects.Reads {
	reads := pl.Reads()
	for _, r := range pl.Readings {
		reads |= r.Plan.Reads()
	}
	return reads
}

// Targets returns the configured tables that the text may insert into, under any possible
// settings, each once.
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
	for _, r := range pl.Readings {
		for _, t := range r.Plan.Targets() {
			add(t)
		}
	}
	return all
}

// StringTarget reports whether the engine refuses the plan's whole text because a name in
// it is a string. It does so with added keys too, since these stand after the name.
func (pl *Plan) StringTarget() bool {
	return pl.Action == Refuse && pl.Refusal.Reason == rewrite.ErrDoubleQuotes && (pl.Statements == 1 || !pl.Dialect.Setting.OneByOne)
}

// Same reports whether two plans of a text have the same effect: they send the same text
// with the same keys, and report the same results afterwards.
func (pl *Plan) Same(o *Plan) bool {
	switch {
	case pl.Action != o.Action:
		return false
	case pl.Action == Pass:
		return true
	case pl.Action == Refuse:
		// Once the columns of the table are known, the two plans may fill different rows.
		return pl.Refusal.Reason != rewrite.ErrNoColumnList && o.Refusal.Reason != rewrite.ErrNoColumnList &&
			slices.Equal(pl.Targets(), o.Targets())
	case pl.Changes.Query != o.Changes.Query, pl.AtExecution != o.AtExecution, pl.Statements != o.Statements, pl.Load != o.Load,
		pl.Changes.Params != o.Changes.Params, pl.Changes.Spelling != o.Changes.Spelling, pl.Changes.Added != o.Changes.Added,
		pl.GuardsSets != o.GuardsSets, pl.Session != o.Session, pl.LiteralReason != o.LiteralReason:
		return false
	}
	rare, others := pl.Changes.Rare(), o.Changes.Rare()
	// Inserts are compared as a whole, so that future fields count too.
	return reflect.DeepEqual(pl.Inserts, o.Inserts) &&
		slices.Equal(pl.Draws, o.Draws) && slices.Equal(pl.Changes.Edits, o.Changes.Edits) && slices.Equal(rare.BoundEdits, others.BoundEdits) && slices.Equal(rare.Listed, others.Listed) && slices.Equal(pl.Changes.Slots, o.Changes.Slots) &&
		slices.Equal(pl.Changes.ArgsBefore, o.Changes.ArgsBefore) && slices.Equal(rare.DroppedArgs, others.DroppedArgs) && slices.Equal(pl.Changes.KeyCounts, o.Changes.KeyCounts) &&
		pl.Reads() == o.Reads() && (pl.Statements == 1 || pl.Undoes() == o.Undoes())
}
