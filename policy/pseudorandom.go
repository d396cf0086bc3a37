package policy

import "github.com/keyfill/keyfill/keysource"

var pseudorandomKind = kind{
	name:      KindPseudorandom,
	doc:       "integers below 2^31 in the order of a minimal standard random number generator",
	guarantee: Guarantee{Unique: Unique, Ordered: NotOrdered},
	integer:   true,
	stateful:  true,
	layouts:   asText,
	fields:    counterFields,
	check:     checkPseudorandom,
	defaults:  completeCounter,
	open:      ofDatabase,
}

// lastSeed is the greatest seed of a pseudorandom source. The seed after it, the
// modulus, would give the key 0, and so would the seed 0.
var lastSeed = keysource.NewPseudorandom().Last()

func checkPseudorandom(m *mistakes, p place, s Source) {
	checkCounter(m, p, s)
	switch at := p.in("start"); {
	case s.Start == 0 && m.has(at), s.Start == lastSeed+1:
		m.wrong(at, "from the seed %d all keys would be 0; a seed is from 1 to %d", s.Start, lastSeed)
	case s.Start < 0 || s.Start > lastSeed:
		m.wrong(at, "%d is not a seed, which is from 1 to %d", s.Start, lastSeed)
	}
}
