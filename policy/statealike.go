package policy

import (
	"math"
	"slices"

	"github.com/keyfill/keyfill/internal/glob"
)

// alikeKeys holds the keys whose states (counters) have names made from the same template,
// such as {schema}-{table}.
type alikeKeys struct {
	name   template
	kinds  map[alikeKind]*alikeStates
	all    []*alikeStates // all states, indexed by the numbers that globs and exact return
	globs  glob.Index
	exact  glob.Index
	isOpen bool // whether entries with wildcards or without a schema decide which of the keys share a state
}

// alikeKind holds the facts about a key that decide with which other keys it may share a
// state (counter).
type alikeKind struct {
	entry         *entry       // the key's entry, if that is exact and the name of the state contains the table
	schema, table glob.Pattern // the entry's schema and table, as far as the name of the state contains them
	isGlob        bool
	isBare        bool
	source        sourceID
}

// alikeStates holds the keys that have the same alikeKind: the same facts that decide
// whether keys may share a state (counter).
type alikeStates struct {
	number  int
	keys    []keyUse
	wide    bool
	maxBits int // the least MaxBits (width of an integer) of the keys
}

// add adds a key, and finds the keys that may share a state with it. It returns false if
// one of the keys found has a different source. Two exact entries whose states are equal
// for every schema are not compared here, but by useState.
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
	numbers := slices.Concat(a.globs.Near(kind.schema, kind.table)...)
	switch {
	case kind.entry == nil:
		numbers = append(numbers, slices.Concat(a.exact.Near(kind.schema, kind.table)...)...)
	case own != nil:
		numbers = append(numbers, own.number) // compare with the keys of this entry alone, since two exact entries never match the same table
	}
	slices.Sort(numbers)
	if own == nil {
		own = &alikeStates{maxBits: math.MaxInt, number: len(a.all)}
		a.kinds[kind], a.all = own, append(a.all, own)
		if kind.isGlob {
			a.globs.Add(kind.schema, kind.table, own.number)
		} else {
			a.exact.Add(kind.schema, kind.table, own.number)
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

// mark sets wide and the least MaxBits in the keys that may share states with others.
func (a *alikeKeys) mark() {
	for _, states := range a.all {
		for _, u := range states.keys {
			if states.wide {
				u.key().wide, u.key().MaxBits = true, states.maxBits
			}
		}
	}
}
