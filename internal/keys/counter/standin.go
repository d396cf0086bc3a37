package counter

import (
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// A test without a database replaces the stores by stand-ins (Options.Reservers). The
// counters that use them are made here. All other code knows only that the tables are
// detached: see session.Server.

// newStandIn returns a counter that uses the stand-in for the store.
func (dr Making) newStandIn() (*Counter, error) {
	if dr.Key.IsWithin() {
		s, err := dr.newScopedStandIn()
		return &Counter{Numbers: s}, err
	}
	o := SequenceOptions(dr.Key.Rule.Source)
	mapping, last, err := dr.Key.Bounded(dr.State)
	if err != nil {
		return nil, err
	}
	if mapping != nil {
		mapping, o.EndRemedy = dr.Key.FromOne(mapping), table.EndRemedy(mapping)
	}
	o.Reserver, o.Max = dr.StandIn(dr.State), last
	source, err := counting.NewSequence(o, dr.Tables.Env)
	if err != nil {
		return nil, err
	}
	return &Counter{Numbers: &numbering.BlockSequence{Source: source}, Mapping: mapping}, nil
}

// newScopedStandIn does what newScoped does, but takes the columns from the policy,
// since there is no catalog.
func (dr Making) newScopedStandIn() (*numbering.ScopedStandIn, error) {
	rows, err := numbering.ScopeRowsOf(dr.Tables.AnyEngine().Dialect, nil, dr.Key, &sequence.Sequence{Name: dr.State})
	if err == nil && rows.Scope.Periods != nil {
		rows.Scope.Periods.Now = dr.Tables.Env.Now
	}
	return &numbering.ScopedStandIn{ScopeRows: rows, NewRow: dr.StandIn, Rows: map[string]keysource.Reserver{}}, err
}
