package rewrite

import (
	"database/sql/driver"
	"math"
	"strconv"
	"strings"
)

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

// Explicit returns the greatest integer that an execution brings itself for a
// key of an INSERT, 0 where it brings none that is greater. What the engine works
// out, as an expression or a SELECT, is not seen.
func (pl *Plan) Explicit(args []driver.NamedValue, h Holes, insert, key int) int64 {
	greatest := int64(0)
	if e := pl.Inserts[insert].explicit; e != nil {
		greatest = e[key]
	}
	for i := range pl.slots {
		s := &pl.slots[i]
		if s.kind == slotKey || int(s.insert) != insert || int(s.key) != key || h.fill == nil || h.fill[i] {
			continue
		}
		if at, err := pl.argument(s, args); err == nil {
			greatest = max(greatest, integerOf(args[at].Value))
		}
	}
	return greatest
}

// integerOf returns an integer as drivers bind it, 0 for anything else.
func integerOf(v driver.Value) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case uint64:
		return int64(min(v, math.MaxInt64))
	case float64:
		if v >= 1 && v < 1<<63 {
			return int64(math.Ceil(min(v, 1<<62)))
		}
	case string:
		return integerIn(v)
	case []byte:
		return integerOf(string(v))
	default:
		if driver.IsValue(v) {
			return 0
		}
		if r, err := driver.DefaultParameterConverter.ConvertValue(v); err == nil && driver.IsValue(r) {
			return integerOf(r)
		}
	}
	return 0
}

// integerIn returns the integer that an engine may read in a text: engines leave out
// spaces, and take fractions, exponents, other bases and separators, each some of
// them. One that is read here and not there is a gap; 0 is for what is none.
func integerIn(text string) int64 {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseInt(strings.TrimLeft(text, "0"), 10, 64)
	if err == nil || n == math.MaxInt64 {
		return n
	}
	if n, err = strconv.ParseInt(text, 0, 64); err == nil || n == math.MaxInt64 {
		return n
	}
	if f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err == nil {
		return integerOf(f)
	}
	return 0
}

// bring notes a literal that is a key.
func (in *insertion) bring(key int, text string) {
	n := integerIn(text)
	if n == 0 {
		return
	}
	if in.explicit == nil {
		in.explicit = make([]int64, len(in.Target.Keys))
	}
	in.explicit[key] = max(in.explicit[key], n)
}
