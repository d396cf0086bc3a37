package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

var compositeKind = kind{
	name:      KindComposite,
	doc:       "20 or 24 digits of a worker's number or another spread, and the time in UTC",
	guarantee: Guarantee{Unique: Unique, Ordered: OrderedInSpread},
	stateful:  true,
	layouts:   asText,
	layout:    dialect.SequentialAsString,
	fields: []*sourceField{
		nameField, storeField, ensureSchemaField, exclusiveField,
		workerField, workerEnvField, workerOrdinalField, workerLeaseField, spreadField, lengthField,
	},
	check:    checkComposite,
	suit:     namer.suitComposite,
	defaults: completeComposite,
	open:     ofDatabase,
}

var spreadField = of("spread", "The name of a value from 0 to 999 that comes with the execution, instead of a worker's number. Left out, keys begin with the worker's number.",
	text.matching(sourceNamePattern), func(s *Source) *string { return &s.Spread }).as("user")

var compositeLengths = []int{20, 24}

func checkComposite(m *mistakes, p place, s Source) {
	checkState(m, p, s)
	switch {
	case s.Store == StoreNone && s.EnsureSchema:
		m.wrong(p.in("ensure_schema"), "this field has no use without a store; leave the field out")
	case s.Store == StoreNone && s.Spread != "":
		m.wrong(p.in("store"), "several processes can have the same spread, and only a store keeps their keys apart; leave store: none out")
	}
	if s.Length != 0 && !slices.Contains(compositeLengths, s.Length) || s.Length == 0 && m.has(p.in("length")) {
		m.wrongField(p.in("length"), unknownNumber("the length of a composite", s.Length, compositeLengths))
		return
	}
	if s.Spread != "" && !sourceName.MatchString(s.Spread) {
		m.wrong(p.in("spread"), "the name of a value is of ASCII letters, digits, _ and -")
	}
	checkWorker(m, p, s)
}

// suitComposite checks the composite at p for a dialect.
func (n namer) suitComposite(m *mistakes, p place, s Source) {
	n.suitSnowflake(m, p, s)
	if s.Spread != "" && s.Store == "" && n.d.OneWriter {
		m.wrong(p.in("spread"), "several processes can have the same spread, and %s keeps no state apart from the statement's transaction; give the source a store, or say worker", n.d.Title)
	}
}

// completeComposite sets the fields that a composite leaves out to their defaults.
func completeComposite(s *Source, _ *dialect.Dialect) {
	s.Length = cmp.Or(s.Length, compositeLengths[0])
}
