package policy

import (
	"math"
	"slices"
)

// alikeKeys are keys whose state names are equal as templates, before their words are
// replaced.
type alikeKeys struct {
	name   template
	kinds  map[alikeKind]*alikeStates
	all    []*alikeStates // by their numbers in the indexes
	globs  globIndex
	exact  globIndex
	isOpen bool // which states are the same depends on more than the entries
}

// alikeKind decides with which other keys a key may share a state.
type alikeKind struct {
	entry         *entry  // an exact one, if the name of the state contains the table
	schema, table pattern // the parts that the name of the state contains
	isGlob        bool
	isBare        bool
	source        sourceID
}

// alikeStates are alike keys of one kind.
type alikeStates struct {
	number  int
	keys    []keyUse
	wide    bool
	maxBits int // the least of the keys
}

// add adds a key and reports whether it shares states with others, or false if one of
// these has another source. A state that two exact entries share whatever the schema is
// left to useState.
func (a *alikeKeys) add(u keyUse) (ok bool) {
	kind := alikeKind{isGlob: u.isGlob(), isBare: u.isBare(), source: u.key().Source.id()}
	if a.name.has(wordSchema) {
		kind.schema = u.schema
	}
	if a.name.has(wordTable) {
		if kind.table = u.table; !kind.isGlob {
			kind.entry = u.entry
		}
	}
	own := a.kinds[kind]
	numbers := slices.Concat(a.globs.near(kind.schema, kind.table)...)
	switch {
	case kind.entry == nil:
		numbers = append(numbers, slices.Concat(a.exact.near(kind.schema, kind.table)...)...)
	case own != nil:
		numbers = append(numbers, own.number) // two exact entries never stand for one table
	}
	slices.Sort(numbers)
	if own == nil {
		own = &alikeStates{maxBits: math.MaxInt, number: len(a.all)}
		a.kinds[kind], a.all = own, append(a.all, own)
		if kind.isGlob {
			a.globs.add(kind.schema, kind.table, own.number)
		} else {
			a.exact.add(kind.schema, kind.table, own.number)
		}
	}
	own.keys, own.maxBits = append(own.keys, u), min(own.maxBits, u.key().MaxBits)
	for _, i := range numbers {
		other := a.all[i]
		v := other.keys[0]
		switch {
		case !u.isGlob() && !v.isGlob() && !a.name.has(wordSchema), !u.meetsIn(a.name, v):
		case !u.key().Source.equal(v.key().Source):
			return false
		default:
			least := min(own.maxBits, other.maxBits)
			own.wide, own.maxBits = true, least
			other.wide, other.maxBits = true, least
		}
	}
	return true
}

// mark marks the keys that share states with others.
func (a *alikeKeys) mark() {
	for _, states := range a.all {
		for _, u := range states.keys {
			if states.wide {
				u.key().wide, u.key().MaxBits = true, states.maxBits
			}
		}
	}
}
