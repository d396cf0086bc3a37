package keys

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"

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

// width returns the length in characters of the longest key of a kind with an alphabet of
// its own; 0 where it is not known.
func (k *Column) width() int {
	switch shape := k.shape.(type) {
	case *keysource.Coprime:
		return shape.Width()
	case *keysource.Composite:
		return k.Rule.Source.Length
	}
	return 0
}

// cased reports whether two keys may differ by the case of a letter alone.
func (k *Column) cased() bool {
	c, ok := k.shape.(*keysource.Coprime)
	return ok && c.CaseMatters()
}

// IsAdjacent reports whether the keys of one INSERT are consecutive, so that the
// first of them tells the others.
func (k *Column) IsAdjacent() bool { return k.shape == nil && len(k.Rule.Scope) == 0 }

// StateValues returns the names of the values that tell the states of a key apart.
func (k *Column) StateValues() []string {
	if spread := k.Rule.Source.Spread; spread != "" {
		return append(k.Rule.Values[:len(k.Rule.Values):len(k.Rule.Values)], spread)
	}
	return k.Rule.Values
}

// mapped returns n keys that are made of numbers.
func (dr Drawing) mapped(ctx context.Context, n int) ([]driver.Value, error) {
	if _, ok := dr.key.shape.(*keysource.Composite); !ok {
		c, first, err := dr.numbers(ctx, int64(n))
		if err != nil {
			return nil, err
		}
		keys, err := keysource.Keys(c.mapping, first, n, dr.key.Layout)
		if err == nil {
			dr.warn(ctx, c, first+int64(n)-1)
		}
		return keys, err
	}
	// A tick may have room for one key only, and a statement takes many.
	keys := make([]driver.Value, 0, n)
	for range n {
		c, number, err := dr.numbers(ctx, 1)
		if err != nil {
			return nil, err
		}
		one, err := keysource.Keys(c.mapping, number, 1, dr.key.Layout)
		if err != nil {
			return nil, err
		}
		keys = append(keys, one[0])
	}
	return keys, nil
}

// warnAt returns the number from which on most of the numbers up to last are used.
func warnAt(last int64) int64 { return int64(float64(last) * keysource.WarnShare) }

// warnOfEnd reports once that most numbers of a counter are used, whose numbers are keys.
func (dr Drawing) warnOfEnd(ctx context.Context, c *counter) {
	if c.warned.CompareAndSwap(false, true) {
		dr.logNearEnd(ctx, dr.key.Limit(), c.remedy)
	}
}

// warn reports once that most keys of a source are used.
func (dr Drawing) warn(ctx context.Context, c *counter, last int64) {
	if keysource.Share(c.mapping, last+1) < keysource.WarnShare || !c.warned.CompareAndSwap(false, true) {
		return
	}
	dr.logNearEnd(ctx, c.mapping.Last(), keysource.EndRemedy(c.mapping))
}

// bounded returns the mapping of a state, nil where numbers are keys, and the greatest
// number of its counter.
func (k *Column) bounded(state string) (keysource.Mapping, int64, error) {
	mapping, err := k.Rule.Source.Mapping(state, k.Rule.MaxBits)
	if err != nil || mapping == nil {
		return nil, k.Limit(), err
	}
	return mapping, min(mapping.Last(), greatestNumber), nil
}

// mapTo configures row to count for a mapping.
func mapTo(row *sequence.Sequence, src policy.Source, mapping keysource.Mapping) {
	if mapping == nil {
		return
	}
	row.Parameters, row.Fresh = mapping.Parameters(), true
	if c, ok := mapping.(*keysource.Coprime); ok {
		// The policy's start of a coprime is not one of its numbers.
		row.Start = 0
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

// example returns the keys of the numbers from 1 to n.
func (k *Column) example(n int) ([]driver.Value, error) {
	return keysource.Keys(k.fromOne(k.shape), 1, n, k.Layout)
}
