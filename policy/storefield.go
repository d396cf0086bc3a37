package policy

var storeField = of("store", "Where the state is kept: the name of an entry of stores, or none, for a snowflake or composite whose state is kept nowhere. Left out, it is the application's own database.",
	text.matching(sourceNamePattern), func(s *Source) *string { return &s.Store }).as("central")

// checkStored reports a source at p that has store: none, although its kind needs a
// store.
func checkStored(m *mistakes, p place, s Source) {
	if s.Store == StoreNone {
		m.wrong(p.in("store"), "a %s source needs a store; none is only for snowflake and composite", s.Kind)
	}
}
