package keys

import (
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// A test without a database gives stand-ins for the stores (Options.Reservers). The
// counters over them are made here. Everything else knows only that the tables are
// detached: see session.Server.

// newStandIn returns a counter over the stand-in for stores.
func (dr making) newStandIn() (*counter, error) {
	if len(dr.key.Rule.Scope) > 0 {
		return &counter{numbers: dr.newScopedStandIn()}, nil
	}
	o := dr.key.Rule.Source.SequenceOptions()
	mapping, last, err := dr.key.bounded(dr.state)
	if err != nil {
		return nil, err
	}
	if mapping != nil {
		mapping, o.EndRemedy = dr.key.fromOne(mapping), keysource.EndRemedy(mapping)
	}
	o.Reserver, o.Max = dr.standIn(dr.state), last
	source, err := keysource.NewSequence(o, dr.tables.env)
	if err != nil {
		return nil, err
	}
	return &counter{numbers: &blockSequence{source: source}, mapping: mapping}, nil
}

// newScopedStandIn is newScoped without a catalog: the columns are as the policy says.
func (dr making) newScopedStandIn() *scopedStandIn {
	s := &scopedStandIn{
		scopeRows: scopeRows{scope: scope.Scope{Name: dr.state}},
		newRow:    dr.standIn, rows: map[string]keysource.Reserver{},
	}
	for _, rc := range dr.key.Rule.Scope {
		s.columns = append(s.columns, scopeColumn{rule: rc, dialect: dr.tables.AnyEngine().Dialect, found: &catalog.Column{Name: rc.Column}})
	}
	return s
}
