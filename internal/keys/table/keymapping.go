package table

import (
	"cmp"
	"database/sql/driver"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/mapping"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Sources of some kinds, and a sequence with a format, make their keys from the numbers of a
// counter: from a sequence or, for composite, from a snowflake. They have the blocks of integers, the store and
// the faults of that counter.

// shapeOf returns a mapping whose keys have the same form for every state of the key
// column (every stored counter). It is nil if the numbers themselves are the keys.
func shapeOf(k policy.RuleKey) keysource.Mapping {
	// The mapping of a scatter depends on the stored counter's name, which may not be
	// known yet; any name gives the same form.
	shape, err := k.Source.Mapping(cmp.Or(k.State, "state"), k.MaxBits)
	if err != nil {
		// Compile has checked that the mapping can be made.
		panic(fmt.Sprintf("keyfill: source %q: %v", k.State, err))
	}
	return shape
}

// IsAdjacent reports whether the keys of one INSERT are consecutive, so that all follow
// from the first one.
func (k *Column) IsAdjacent() bool { return k.Shape == nil && !k.IsWithin() }

// IsWithin reports whether keys are numbered within the values of other columns of the row, or
// within periods.
func (k *Column) IsWithin() bool {
	return len(k.Rule.Scope) > 0 || k.Rule.Source.Period != policy.Period{}
}

// StateValues returns the names of the values (such as a tenant) that distinguish the
// stored counters of a key.
func (k *Column) StateValues() []string {
	if spread := k.Rule.Source.Spread; spread != "" {
		return append(k.Rule.Values[:len(k.Rule.Values):len(k.Rule.Values)], spread)
	}
	return k.Rule.Values
}

// WarnAt returns the number from which on most of the numbers up to last are used.
func WarnAt(last int64) int64 { return int64(float64(last) * mapping.WarnShare) }

// Bounded returns the mapping of a stored counter, nil if the numbers themselves are
// the keys, and the greatest number of its counter.
func (k *Column) Bounded(state string) (keysource.Mapping, int64, error) {
	mapping, err := k.Rule.Source.Mapping(state, k.Rule.MaxBits)
	if err != nil || mapping == nil {
		return nil, k.Limit(), err
	}
	return mapping, min(mapping.Last(), GreatestNumber), nil
}

// MapTo changes row so that it counts numbers for a mapping.
func MapTo(row *sequence.Sequence, src policy.Source, mapping keysource.Mapping) {
	if mapping == nil {
		return
	}
	row.Parameters, row.Fresh = cmp.Or(row.Parameters, mapping.Parameters()), true
	if m, ok := mapping.(*numberformat.Mapping); ok {
		row.Fresh = !m.Form.IsOrdered()
	}
	if c, ok := mapping.(*keysource.Coprime); ok {
		// For a coprime, the policy's start says where its steps begin. It is not a number
		// of the counter, so the row does not begin there.
		row.Made.Start = 0
		if src.Table != nil {
			row.Codec = residues{c}
		}
	}
}

// residues converts the values in the key table of another program that steps by a
// coprime: the table holds the last key that was made, and keyfill needs the next
// number.
type residues struct{ steps *keysource.Coprime }

func (r residues) Residue(next int64) int64 { return r.steps.Residue(next) }

func (r residues) NextOf(residue int64) (int64, error) {
	next := r.steps.NextOf(residue)
	if next == 0 {
		return 0, errResidue
	}
	return next, nil
}

// errResidue is returned if the value in a key table of the application is not a key
// that the policy's coprime (a source that steps through all numbers) could have made.
var errResidue = fmt.Errorf("%w: its last key does not have the length and alphabet of the policy", keysource.ErrStoreState)

// Example returns the keys of the numbers from 1 to n.
func (k *Column) Example(n int) ([]driver.Value, error) {
	return mapping.Keys(k.FromOne(k.Shape), 1, n, k.Layout)
}

// FromOne returns a mapping to keys for numbers that count from 1, as in an example.
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

// ticksFromOne maps the numbers from 1 to the keys of a composite: each number stands
// for another millisecond, with the same spread (the number that distinguishes
// processes).
type ticksFromOne struct {
	*keysource.Composite
	spread int64
}

// Key returns the key for a number.
func (m ticksFromOne) Key(number int64, l dialect.Layout) driver.Value {
	bits := m.Bits()
	return m.Composite.Key(number<<(bits.Worker+bits.Sequence)|m.spread<<bits.Sequence, l)
}
