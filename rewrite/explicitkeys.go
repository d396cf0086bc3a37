package rewrite

import (
	"database/sql/driver"
	"math"
	"strconv"
	"strings"
)

// Explicit describes the keys that an execution brings itself for a key column
// of an INSERT.
type Explicit struct {
	// Sure is the greatest integer that every engine reads as it is written; 0: none.
	Sure int64

	// Open says that there is more, which the engine alone can read: an expression, the
	// rows of a query, a text that is not decimal digits, a fraction, a date; or that the
	// engine may number the row itself, as for NULL and 0. Guess is the greatest integer
	// that some engine may read in it, as far as that can be told.
	Open  bool
	Guess int64
}

// Any reports whether the execution may bring an integer.
func (e Explicit) Any() bool { return e.Open || e.Sure > 0 }

// Add adds what another execution or INSERT brings.
func (e *Explicit) Add(o Explicit) {
	e.Sure, e.Guess, e.Open = max(e.Sure, o.Sure), max(e.Guess, o.Guess), e.Open || o.Open
}

// take adds an integer that was read. The engine may number a row whose key is 0.
func (e *Explicit) take(n int64, sure bool) {
	if sure && n != 0 {
		e.Sure = max(e.Sure, n)
		return
	}
	e.Open, e.Guess = true, max(e.Guess, n)
}

// literals are the constants that the text of an INSERT brings for a key.
type literals struct {
	Explicit
	integers []int64
}

// Follows reports whether the text may bring integers for a key that the policy
// follows ([Key].Follow).
func (pl *Plan) Follows() bool {
	for i := range pl.Inserts {
		for _, k := range pl.Inserts[i].Target.Keys {
			if k.Follow {
				return true
			}
		}
	}
	return false
}

// Explicit returns what an execution brings itself for a key of an INSERT that is
// followed.
func (pl *Plan) Explicit(args []driver.NamedValue, h Holes, insert, key int) Explicit {
	var e Explicit
	if l := pl.Inserts[insert].explicit; l != nil {
		e = l[key].Explicit
	}
	pl.ownValues(args, h, insert, key, func(v driver.Value) { e.take(integerOf(v)) })
	return e
}

// ExplicitIntegers returns the integers that can be read among what Explicit tells of.
func (pl *Plan) ExplicitIntegers(args []driver.NamedValue, h Holes, insert, key int) []int64 {
	var all []int64
	if l := pl.Inserts[insert].explicit; l != nil {
		all = append(all, l[key].integers...)
	}
	pl.ownValues(args, h, insert, key, func(v driver.Value) {
		if n, _ := integerOf(v); n > 0 {
			all = append(all, n)
		}
	})
	return all
}

// ownValues calls f with the arguments that are keys of an INSERT.
func (pl *Plan) ownValues(args []driver.NamedValue, h Holes, insert, key int, f func(driver.Value)) {
	given := arguments{list: args}
	for _, i := range pl.slotsOf(insert) {
		s := &pl.slots[i]
		if s.kind == slotKey || int(s.key) != key || h.fill == nil || h.fill[i] {
			continue
		}
		if at, err := pl.argument(s, &given); err == nil {
			f(args[at].Value)
		}
	}
}

// integerOf returns the integer that a driver binds for v, 0 where v is none,
// and whether every engine reads the same integer.
func integerOf(v driver.Value) (n int64, sure bool) {
	switch v := v.(type) {
	case nil:
		return 0, false
	case int64:
		return v, true
	case uint64:
		return int64(min(v, math.MaxInt64)), true
	case float64:
		if v >= 1 && v < 1<<63 {
			return int64(math.Ceil(min(v, 1<<62))), false
		}
	case string:
		return integerIn(v)
	case []byte:
		return integerOf(string(v))
	case bool:
		return 1, false
	default:
		if driver.IsValue(v) {
			return 0, false
		}
		if r, err := driver.DefaultParameterConverter.ConvertValue(v); err == nil && driver.IsValue(r) {
			return integerOf(r)
		}
	}
	return 0, false
}

// integerIn returns the integer that an engine may read in a text: engines leave out
// spaces, and take fractions, exponents, other bases and separators, each some of
// them. It is sure where there are decimal digits and nothing else but a minus sign.
func integerIn(text string) (n int64, sure bool) {
	if digits := strings.TrimPrefix(text, "-"); digits != "" && strings.Trim(digits, "0123456789") == "" {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil || n == math.MaxInt64 || n == math.MinInt64
	}
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(strings.TrimLeft(text, "0"), 10, 64); err == nil || n == math.MaxInt64 {
		return max(n, 0), false
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil || n == math.MaxInt64 {
		return max(n, 0), false
	}
	if f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err == nil {
		n, _ := integerOf(f)
		return n, false
	}
	return 0, false
}

// brings returns the notes on the constants of a key.
func (in *Insert) brings(key int) *literals {
	if in.explicit == nil {
		in.explicit = make([]literals, len(in.Target.Keys))
	}
	return &in.explicit[key]
}

// bring notes a literal that is a key.
func (in *insertState) bring(key int, text string) {
	n, sure := integerIn(text)
	l := in.brings(key)
	if l.take(n, sure); n > 0 {
		l.integers = append(l.integers, n)
	}
}

// open notes that only the engine can read a value in a key's place.
func (in *insertState) open(key int) {
	if in.Target.Keys[key].Follow {
		in.brings(key).Open = true
	}
}

// openMissing notes the keys that the INSERT leaves to the engine: it does not name them,
// and the policy does not fill them then.
func (in *insertState) openMissing() {
	for key := range in.Target.Keys {
		if in.listed.of(key) < 0 && in.Target.Keys[key].Fill&FillMissing == 0 {
			in.open(key)
		}
	}
}

// follow notes the constants of another INSERT of the same MERGE.
func (in *Insert) follow(explicit []literals) {
	for key := range explicit {
		l, more := in.brings(key), &explicit[key]
		l.Add(more.Explicit)
		l.integers = append(l.integers, more.integers...)
	}
}
