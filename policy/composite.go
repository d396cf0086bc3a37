package policy

import (
	"cmp"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

var compositeLengths = []int{20, 24}

func (m *mistakes) checkComposite(p place, s Source) {
	m.checkState(p, s)
	switch {
	case s.Store == StoreNone && s.EnsureSchema:
		m.wrong(p.in("ensure_schema"), "it has no use without a store; leave it out")
	case s.Store == StoreNone && s.Spread != "":
		m.wrong(p.in("store"), "several processes can have the same spread, and only a store keeps their keys apart; leave it out")
	}
	if s.Length != 0 && !slices.Contains(compositeLengths, s.Length) || s.Length == 0 && m.has(p.in("length")) {
		m.wrongField(p.in("length"), unknownNumber("the length of a composite", s.Length, compositeLengths))
		return
	}
	if s.Spread != "" && !sourceName.MatchString(s.Spread) {
		m.wrong(p.in("spread"), "the name of a value is of ASCII letters, digits, _ and -")
	}
	m.checkWorker(p, s)
}

// suitComposite checks the composite at p for a dialect.
func (n namer) suitComposite(m *mistakes, p place, s Source) {
	n.suitSnowflake(m, p, s)
	if s.Spread != "" && s.Store == "" && n.d.OneWriter {
		m.wrong(p.in("spread"), "several processes can have the same spread, and %s keeps no state apart from the statement's transaction; give the source a store, or say worker", n.d.Title)
	}
}

// completeComposite sets the fields that a composite leaves out.
func completeComposite(s *Source, _ *dialect.Dialect) {
	s.Length = cmp.Or(s.Length, compositeLengths[0])
}
