package bind

import (
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// ExplicitKeys returns the keys that the application brings in an execution, for the key
// with the given index of an INSERT. The key must have [plans.Key].Follow: its numbering
// continues above such keys.
func ExplicitKeys(pl *plans.Plan, args []driver.NamedValue, h Holes, insert, key int) plans.Explicit {
	var e plans.Explicit
	if l := pl.Inserts[insert].Explicit; l != nil {
		e = l[key].Explicit
	}
	ownValues(pl, args, h, insert, key, func(v driver.Value) { e.TakeKey(&pl.Inserts[insert].Target.Keys[key], v) })
	return e
}

// ExplicitIntegers returns the keys of [ExplicitKeys] that can be read as integers, or the
// numbers of their texts.
func ExplicitIntegers(pl *plans.Plan, args []driver.NamedValue, h Holes, insert, key int) []int64 {
	var all []int64
	if l := pl.Inserts[insert].Explicit; l != nil {
		all = append(all, l[key].Integers...)
	}
	ownValues(pl, args, h, insert, key, func(v driver.Value) {
		if n := pl.Inserts[insert].Target.Keys[key].NumberOf(v); n > 0 {
			all = append(all, n)
		}
	})
	return all
}

// ownValues calls f with each argument that is a key which the application brings for an
// INSERT.
func ownValues(pl *plans.Plan, args []driver.NamedValue, h Holes, insert, key int, f func(driver.Value)) {
	given := Given{List: args}
	for _, i := range pl.SlotsOf(insert) {
		s := &pl.Changes.Slots[i]
		if s.Kind == plans.SlotKey || int(s.Key) != key || h.Fill == nil || h.Fill[i] {
			continue
		}
		if at, err := IndexOf(pl, s, &given); err == nil {
			f(args[at].Value)
		}
	}
}
