package rewrite

import (
	"database/sql/driver"
	"slices"
)

// Holes says which places of a plan take a key in one execution.
type Holes struct {
	Counts []int  // how many keys each of the plan's Draws takes; not to be changed
	fill   []bool // for each slot; nil when all do
}

// isHole reports whether the place of a slot takes a key.
func (h Holes) isHole(slot int) bool { return h.fill == nil || h.fill[slot] }

// Any reports whether there is a place to fill.
func (h Holes) Any() bool {
	for _, n := range h.Counts {
		if n > 0 {
			return true
		}
	}
	return false
}

// Assumed returns the holes that are known without arguments: every
// placeholder in a key's place is taken for a key.
func (pl *Plan) Assumed() Holes {
	h := Holes{Counts: make([]int, len(pl.Draws)), fill: make([]bool, len(pl.slots))}
	for i := range pl.slots {
		if s := &pl.slots[i]; s.kind == slotKey {
			h.fill[i] = true
			h.Counts[s.draw]++
		}
	}
	return h
}

// Holes decides which places take a key, given the arguments of an execution.
// It fails with [ErrArguments], [ErrNamed] or [ErrArray] when the arguments
// are not those that the placeholders ask for; then nothing may be sent, since
// a key could end in another column. It fails with [ErrScope] when a key is
// numbered within a column whose value is not known.
func (pl *Plan) Holes(args []driver.NamedValue) (Holes, error) {
	if err := pl.check(args); err != nil {
		return Holes{}, err
	}
	if !pl.AtExecution {
		return pl.orScopeless(args, Holes{Counts: pl.counts})
	}
	h := Holes{Counts: make([]int, len(pl.Draws)), fill: make([]bool, len(pl.slots))}
	given := arguments{list: args}
	for i := range pl.slots {
		s := &pl.slots[i]
		if s.kind != slotKey {
			at, err := pl.argument(s, &given)
			if err != nil {
				return Holes{}, err
			}
			if !pl.isHole(args[at].Value, &pl.Inserts[s.insert].Target.Keys[s.key]) {
				continue
			}
		}
		h.fill[i] = true
		h.Counts[s.draw]++
	}
	return pl.orScopeless(args, h)
}

// orScopeless returns the holes, or the error of one in a row without a value that its
// key is numbered within.
func (pl *Plan) orScopeless(args []driver.NamedValue, h Holes) (Holes, error) {
	if !pl.scoped {
		return h, nil
	}
	if err := pl.checkScopes(args, h); err != nil {
		return Holes{}, err
	}
	return h, nil
}

// Equal reports whether the same places take a key.
func (h Holes) Equal(o Holes) bool {
	return slices.Equal(h.Counts, o.Counts) && slices.Equal(h.fill, o.fill)
}
