package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

var coprimeKind = kind{
	name:      KindCoprime,
	doc:       "short text of a fixed length, spread over all that there is",
	guarantee: Guarantee{Unique: Unique, Ordered: NotOrdered},
	stateful:  true,
	layouts:   asText,
	layout:    dialect.SequentialAsString,
	fields:    slices.Concat(counterFields, []*sourceField{lengthField, alphabetField, kField, growField, collationField}),
	check:     checkCoprime,
	suit:      namer.suitCoprime,
	defaults:  completeCoprime,
	open:      ofDatabase,
}

var lengthField = of("length", "How many characters a key has; a composite has 20 or 24. Left out, it is 20 for a composite; a coprime has to say it.",
	judged(1), func(s *Source) *int { return &s.Length }).as(6, 24)

var alphabetField = of("alphabet", "The characters of a coprime's keys: base62, base32, or the characters themselves; or those that a text of format may have, with ranges as in A-Z0-9/-. Left out, a coprime's is base62 where text compares by case (PostgreSQL, Oracle, SQLite, collation: binary) and base32 elsewhere, and texts of format may have any.",
	text, func(s *Source) *string { return &s.Alphabet }).as("base32")

var kField = of("k", "By how much a key differs from the one before, as a number without a divisor in common with the number of keys. Left out, keyfill chooses it.",
	atLeast[int64](1), func(s *Source) *int64 { return &s.K }).as(202652143553)

var growField = of("grow", "Whether keys have one character more when all keys of length are used.",
	boolean, func(s *Source) *bool { return &s.Grow }).byDefault(false).as(true)

var collationField = of("collation", "How the column compares text. binary: byte for byte. Left out, it compares as the engine does where nothing else is said.",
	word[string](fieldWhat("collation"), collationWords), func(s *Source) *string { return &s.Collation }).as("binary")

var collationWords = []string{CollationBinary}

func checkCoprime(m *mistakes, p place, s Source) {
	checkCounter(m, p, s)
	checkWord(m, p, "collation", s.Collation, collationWords)
	switch at := p.in("length"); {
	case s.Length == 0 && !m.has(at):
		m.wrong(p, "length is missing; say how many characters a key has, as in {kind: coprime, length: 6}")
	case s.Length < 1:
		m.wrong(at, "%d is less than 1", s.Length)
	case s.Alphabet != "":
		checkSteps(m, p, s)
	}
	if s.Table == nil {
		return
	}
	// A coprime whose state is in an existing table follows the article on short keys (see
	// keysource.Coprime): its programs store the last key there as a number, and update the
	// row only if it still has the number that they read.
	if s.Lock == LockPessimistic {
		m.wrong(p.in("lock"), "the table of a coprime is changed if it is as it was read; say optimistic, or leave it out")
	}
	if s.Table.Stored == StoredNext {
		m.wrong(p.in("table").in("stored"), "the table of a coprime holds the last key as a number; say last")
	}
	if s.Grow {
		m.wrong(p.in("grow"), "a key table that holds the last key looks the same before the first key and after the last; leave this field out")
	}
}

// checkSteps checks that the coprime at p makes keys with its options; its alphabet must be
// known. It sets the options one after another, so that a mistake is reported at the option
// that causes it.
func checkSteps(m *mistakes, p place, s Source) {
	all := s.coprimeOptions()
	some := keysource.CoprimeOptions{Length: 1, Alphabet: all.Alphabet}
	for _, step := range []struct {
		field string
		add   func()
	}{
		{"alphabet", func() {}},
		{"length", func() { some.Length = all.Length }},
		{"k", func() { some.K = all.K }},
		{"start", func() { some.Start = all.Start }},
		{"grow", func() { some.Grow = all.Grow }},
	} {
		step.add()
		if _, err := keysource.NewCoprime(some); err != nil {
			msg := reason(err)
			if step.field == "k" && all.K > 1 {
				msg += fmt.Sprintf("; %d would do", nearestStep(some))
			}
			m.wrongField(p.in(step.field), msg)
			return
		}
	}
}

// nearestStep returns a k near the k of o with which all keys are different. n has only
// the few prime factors of the alphabet's size, so such a k is not far.
func nearestStep(o keysource.CoprimeOptions) int64 {
	for o.K < math.MaxInt64 {
		o.K++
		if _, err := keysource.NewCoprime(o); err == nil {
			return o.K
		}
	}
	return 1
}

// suitCoprime checks the coprime at p, whose defaults are set, for a dialect.
func (n namer) suitCoprime(m *mistakes, p place, s Source) {
	before := len(m.list)
	checkSteps(m, p, s)
	if len(m.list) > before {
		return
	}
	steps, err := keysource.NewCoprime(s.coprimeOptions())
	if err == nil && steps.CaseMatters() && s.Collation == "" && n.d.Caseless {
		m.wrong(p.in("alphabet"), "on %s keys that differ in case alone are equal, unless the column compares byte for byte: say collation: binary where it does, or alphabet: base32", n.d.Title)
	}
}

// completeCoprime sets the fields that a coprime leaves out to their defaults.
func completeCoprime(s *Source, d *dialect.Dialect) {
	if s.Table != nil {
		s.Lock = LockOptimistic
	}
	completeCounter(s, d)
	if s.Alphabet == "" && d != nil {
		s.Alphabet = AlphabetBase62
		if d.Caseless && s.Collation == "" {
			s.Alphabet = AlphabetBase32
		}
	}
}

// coprimeOptions returns the options for keysource.NewCoprime that s describes.
func (s Source) coprimeOptions() keysource.CoprimeOptions {
	o := keysource.CoprimeOptions{
		Length:   s.Length,
		Alphabet: s.Alphabet,
		K:        s.K,
		Start:    s.Start,
		Grow:     s.Grow,
		Residues: s.Table != nil,
	}
	switch s.Alphabet {
	case AlphabetBase62:
		o.Alphabet = keysource.AlphabetBase62
	case AlphabetBase32, "":
		o.Alphabet = keysource.AlphabetBase32
	}
	return o
}
