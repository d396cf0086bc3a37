package table

import (
	"cmp"
	"database/sql/driver"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Some kinds make their keys of the numbers of a counter: a sequence or, for composite, a
// snowflake. They have the counter's blocks, store and faults.

// shapeOf returns a mapping that makes keys of the same form as every state of the key
// column. It is nil where numbers are keys.
func shapeOf(k policy.RuleKey) keysource.Mapping {
	// The mapping of a scatter depends on the state's name, which may not be known yet.
	shape, err := k.Source.Mapping(cmp.Or(k.State, "state"), k.MaxBits)
	if err != nil {
		// Compile has made sure that it can be made.
		panic(fmt.Sprintf("keyfill: source %q: %v", k.State, err))
	}
	return shape
}

// IsAdjacent reports whether the keys of one INSERT are consecutive, so that they follow from
// the first one.
func (k *Column) IsAdjacent() bool { return k.Shape == nil && len(k.Rule.Scope) == 0 }

// StateValues returns the names of the values that distinguish the states of a key.
func (k *Column) StateValues() []string {
	if spread := k.Rule.Source.Spread; spread != "" {
		return append(k.Rule.Values[:len(k.Rule.Values):len(k.Rule.Values)], spread)
	}
	return k.Rule.Values
}

// WarnAt returns the number from which most of the numbers up to last are used.
func WarnAt(last int64) int64 { return int64(float64(last) * keysource.WarnShare) }

// Bounded returns the mapping of a state, nil where numbers are keys, and the greatest
// number of its counter.
func (k *Column) Bounded(state string) (keysource.Mapping, int64, error) {
	mapping, err := k.Rule.Source.Mapping(state, k.Rule.MaxBits)
	if err != nil || mapping == nil {
		return nil, k.Limit(), err
	}
	return mapping, min(mapping.Last(), GreatestNumber), nil
}

// MapTo configures row to count for a mapping.
func MapTo(row *sequence.Sequence, src policy.Source, mapping keysource.Mapping) {
	if mapping == nil {
		return
	}
	row.Parameters, row.Fresh = mapping.Parameters(), true
	if c, ok := mapping.(*keysource.Coprime); ok {
		// The policy's start of a coprime is not one of its numbers.
		row.Made.Start = 0
		if src.Table != nil {
			row.Codec = residues{c}
		}
	}
}

// residues reads and writes the key table of another program that steps by a coprime: it
// holds the last key that was made, where keyfill keeps the next number.
type residues struct{ steps *keysource.Coprime }

func (r residues) Residue(next int64) int64 { return r.steps.Residue(next) }

func (r residues) NextOf(residue int64) (int64, error) {
	next := r.steps.NextOf(residue)
	if next == 0 {
		return 0, errResidue
	}
	return next, nil
}

// errResidue is returned for a key table that steps by another coprime.
var errResidue = fmt.Errorf("%w: its last key does not have the length and alphabet of the policy", keysource.ErrStoreState)

// Example returns the keys of the numbers from 1 to n.
func (k *Column) Example(n int) ([]driver.Value, error) {
	return keysource.Keys(k.FromOne(k.Shape), 1, n, k.Layout)
}

// FromOne returns a mapping for numbers that count from 1.
func (k *Column) FromOne(mapping keysource.Mapping) keysource.Mapping {
	c, ok := mapping.(*keysource.Composite)
	if !ok {
		return mapping
	}
	spread := 0
	if w := k.Rule.Source.Worker; w != nil {
		spread = *w
	}
	return ticksFromOne{c, int64(spread)}
}

// ticksFromOne is the mapping of a composite for numbers that count from 1: each is
// another millisecond of one spread.
type ticksFromOne struct {
	*keysource.Composite
	spread int64
}

// Key returns the key of a number.
func (m ticksFromOne) Key(number int64, l dialect.Layout) driver.Value {
	bits := m.Bits()
	return m.Composite.Key(number<<(bits.Worker+bits.Sequence)|m.spread<<bits.Sequence, l)
}
