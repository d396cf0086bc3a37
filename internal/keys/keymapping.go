package keys

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"log/slog"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Keys of some kinds are made of the numbers of a counter: a sequence or, for composite,
// a snowflake. What is said of the counter's blocks, store and faults holds for them
// too.

// shapeOf returns the mapping of a key column as far as it is the same for all of
// its states: what its keys look like. It is nil where numbers are keys.
func shapeOf(k policy.RuleKey) keysource.Mapping {
	// The mapping of a scatter depends on the state's name, which may not be known yet.
	shape, err := k.Source.Mapping(cmp.Or(k.State, "state"), k.MaxBits)
	if err != nil {
		// Compile has made sure that it can be made.
		panic(fmt.Sprintf("keyfill: source %q: %v", k.State, err))
	}
	return shape
}

// width returns how many characters the longest key has that is text of its own
// alphabet; 0 where that is not known.
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

// Adjacent reports whether the keys of one INSERT are consecutive, so that the
// first of them tells the others.
func (k *Column) Adjacent() bool { return k.shape == nil && len(k.Rule.Scope) == 0 }

// StateValues returns the names of the values that tell the states of a key apart.
func (k *Column) StateValues() []string {
	if spread := k.Rule.Source.Spread; spread != "" {
		return append(k.Rule.Values[:len(k.Rule.Values):len(k.Rule.Values)], spread)
	}
	return k.Rule.Values
}

// mapped gives keys that are made of numbers.
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

// warn reports once that most keys of a source are used.
func (dr Drawing) warn(ctx context.Context, c *counter, last int64) {
	if keysource.Share(c.mapping, last+1) < keysource.WarnShare || !c.warned.CompareAndSwap(false, true) {
		return
	}
	dr.db.CurrentLogger().LogAttrs(ctx, slog.LevelWarn, "keyfill: most keys of a source are used",
		slog.String("table", dr.table.Table), slog.String("column", dr.key.Name),
		slog.Int64("keys", c.mapping.Last()), slog.String("remedy", keysource.EndRemedy(c.mapping)))
}

// bounded returns a counter's mapping, nil where numbers are keys, and its
// greatest number.
func (k *Column) bounded(state string) (keysource.Mapping, int64, error) {
	mapping, err := k.Rule.Source.Mapping(state, k.Rule.MaxBits)
	if err != nil || mapping == nil {
		return nil, k.Limit(), err
	}
	return mapping, min(mapping.Last(), greatestNumber), nil
}

// mapTo configures row to count for a mapping.
func mapTo(row *store.Sequence, src policy.Source, mapping keysource.Mapping) {
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

// residues is how the table of a program that steps by a coprime holds the next
// number: as the last key that was made.
type residues struct{ steps *keysource.Coprime }

func (r residues) Residue(next int64) int64 { return r.steps.Residue(next) }

func (r residues) NextOf(residue int64) (int64, error) {
	next := r.steps.NextOf(residue)
	if next == 0 {
		return 0, errResidue
	}
	return next, nil
}

// errResidue is for a table that steps by another coprime.
var errResidue = fmt.Errorf("%w: its last key is none of this length and alphabet", keysource.ErrStoreState)

// example returns keys of the right shape, those of the numbers from 1.
func (k *Column) example(n int) ([]driver.Value, error) {
	return keysource.Keys(k.fromOne(k.shape), 1, n, k.Layout)
}
