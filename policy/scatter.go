package policy

import "slices"

var scatterKind = kind{
	name:      KindScatter,
	doc:       "integers in an order that looks random, all of as many bits as max_bits says",
	guarantee: Guarantee{Unique: Unique, Ordered: NotOrdered},
	integer:   true,
	stateful:  true,
	layouts:   asText,
	fields:    slices.Concat(counterFields, []*sourceField{keyField}),
	check:     checkScatter,
	defaults:  completeCounter,
	open:      ofDatabase,
}

var keyField = of("key", "Any text, on which the order of the keys depends; it must stay as it is. Left out, it is the name of the state.",
	text, func(s *Source) *string { return &s.Key }).as("shop")

func checkScatter(m *mistakes, p place, s Source) {
	checkCounter(m, p, s)
	checkStart(m, p, s)
}
