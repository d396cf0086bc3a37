package inserts

import (
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// bring notes a key that the INSERT has as a literal.
func (in *State) bring(key int, text string) {
	l, k := in.Brings(key), &in.Target.Keys[key]
	n := k.NumberOf(text)
	if l.TakeKey(k, text); n > 0 {
		l.Integers = append(l.Integers, n)
	}
}

// open notes that the INSERT has a key of its own whose value only the engine can read.
func (in *State) open(key int) {
	if in.Target.Keys[key].Follow {
		in.Brings(key).Open = true
	}
}

// OpenMissing notes the keys that the engine makes, because the INSERT does not list them
// and the policy does not fill missing keys.
func (in *State) OpenMissing() {
	for key := range in.Target.Keys {
		if in.Listed.Of(key) < 0 && in.Target.Keys[key].Fill&plans.FillMissing == 0 {
			in.open(key)
		}
	}
}
