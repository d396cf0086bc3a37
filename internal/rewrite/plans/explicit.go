package plans

import (
	"database/sql/driver"
	"math"
	"strconv"
	"strings"
)

// Explicit describes the keys that the application brings in an execution, for a key column
// of an INSERT.
type Explicit struct {
	// Sure is the greatest of these keys that every engine reads as the same integer; zero if
	// there is none.
	Sure int64

	// Open means that a key can be read only by the engine: an expression, the rows of a
	// query, a text that is not decimal digits, a fraction, a date; or that the engine may
	// number the row itself, as for NULL and 0. Guess is the greatest integer that an engine
	// may read in such keys, as far as known.
	Open  bool
	Guess int64
}

// Any reports whether the execution may bring an integer as a key.
func (e Explicit) Any() bool { return e.Open || e.Sure > 0 }

// Add merges the keys of another execution or INSERT.
func (e *Explicit) Add(o Explicit) {
	e.Sure, e.Guess, e.Open = max(e.Sure, o.Sure), max(e.Guess, o.Guess), e.Open || o.Open
}

// Take adds a key that was read as the integer n. For the key 0 the engine may number the
// row itself.
func (e *Explicit) Take(n int64, sure bool) {
	if sure && n != 0 {
		e.Sure = max(e.Sure, n)
		return
	}
	e.Open, e.Guess = true, max(e.Guess, n)
}

// ExplicitLiterals are the keys that the text of an INSERT has as constants.
type ExplicitLiterals struct {
	Explicit
	Integers []int64
}

// Follows reports whether the text may bring integers for a key with [Key].Follow, whose
// numbering has to continue above them.
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

// TakeKey adds a key that the application brings as a value, for the key column k.
func (e *Explicit) TakeKey(k *Key, v driver.Value) {
	if k.Number == nil {
		e.Take(IntegerOf(v))
		return
	}
	if n := k.NumberOf(v); n > 0 {
		e.Take(n, true)
	}
}

// NumberOf returns the number of a key that the application brings, 0 if it has none.
func (k *Key) NumberOf(v driver.Value) int64 {
	if k.Number == nil {
		n, _ := IntegerOf(v)
		return n
	}
	text, isText := v.(string)
	if b, isBytes := v.([]byte); isBytes {
		text, isText = string(b), true
	}
	if n, ok := k.Number(text); ok && isText {
		return n
	}
	return 0
}

// IntegerOf returns the integer that a driver binds for v, or 0 if v is no integer. sure
// reports whether every engine reads the same integer.
func IntegerOf(v driver.Value) (n int64, sure bool) {
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
		return IntegerIn(v)
	case []byte:
		return IntegerOf(string(v))
	case bool:
		return 1, false
	default:
		if driver.IsValue(v) {
			return 0, false
		}
		if r, err := driver.DefaultParameterConverter.ConvertValue(v); err == nil && driver.IsValue(r) {
			return IntegerOf(r)
		}
	}
	return 0, false
}

// IntegerIn returns the integer that an engine may read in a text: engines ignore spaces,
// and some accept fractions, exponents, other bases or separators. sure reports whether the
// text has decimal digits and nothing else but a minus sign.
func IntegerIn(text string) (n int64, sure bool) {
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
		n, _ := IntegerOf(f)
		return n, false
	}
	return 0, false
}

// Brings returns the constants that are noted for the key with the given index.
func (in *Insert) Brings(key int) *ExplicitLiterals {
	if in.Explicit == nil {
		in.Explicit = make([]ExplicitLiterals, len(in.Target.Keys))
	}
	return &in.Explicit[key]
}

// Follow adds the constants that another INSERT of the same MERGE has as keys.
func (in *Insert) Follow(explicit []ExplicitLiterals) {
	for key := range explicit {
		l, more := in.Brings(key), &explicit[key]
		l.Add(more.Explicit)
		l.Integers = append(l.Integers, more.Integers...)
	}
}
