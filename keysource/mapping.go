package keysource

import (
	"database/sql/driver"
	"fmt"
	"math"
	"strconv"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// Mapping turns the numbers of a counter, from 1 on, into keys that are all different:
// each number is one key, and no two numbers are the same key. So a [Sequence] whose Max
// is Last, and which never hands out a number twice, makes unique keys. A Mapping is
// immutable and safe for concurrent use.
type Mapping interface {
	// Key returns the key of a number from 1 to Last in the form that a driver takes:
	// int64 for an integer in the empty layout, otherwise text. It panics on any other
	// number; the function [Keys] returns an error instead.
	Key(number int64, l dialect.Layout) driver.Value

	// Last returns the greatest number: after it the mapping is used up.
	Last() int64

	// Parameters returns the settings that may never change for the keys of one state, in
	// at most 1,000 characters that hold no secret. It is kept beside the state and
	// compared at every start: with other parameters a later number can have the key of
	// an earlier one.
	Parameters() string
}

// Keys returns the keys of n numbers from first on, in their order. Its error wraps
// [ErrCount] if n is less than 1; [ErrStoreState] if first is less than 1, which a
// store that was set up for keys never gives; and [ErrExhausted] if there are fewer
// numbers: then no key is handed out, rather than an old one again.
func Keys(m Mapping, first int64, n int, l dialect.Layout) ([]driver.Value, error) {
	keys, err := AppendKeys(nil, m, first, n, l)
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// AppendKeys is like [Keys], but appends the keys to room. If it fails, it returns room
// as it was.
func AppendKeys(room []driver.Value, m Mapping, first int64, n int, l dialect.Layout) ([]driver.Value, error) {
	switch last := m.Last(); {
	case n < 1:
		return room, ErrCount
	case first < 1:
		return room, anchor.Endf("%w: it counts from below 1; set it to the next number, at least 1", ErrStoreState)
	case int64(n) > last || first > last-int64(n)+1:
		return room, anchor.Endf("%w: there are %d keys with these parameters", ErrExhausted, last)
	}
	room = grow(room, n)
	for i := range int64(n) {
		room = append(room, m.Key(first+i, l))
	}
	return room, nil
}

// WarnShare is the used part of a mapping's numbers from which on an operator should
// plan for its end; see [Share].
const WarnShare = 0.8

// Share returns the part of a mapping's numbers that is used, from 0 to 1, if next is
// the first unused number.
func Share(m Mapping, next int64) float64 {
	return min(max(float64(next-1)/float64(m.Last()), 0), 1)
}

// EndRemedy returns advice for the time when all numbers of a mapping are used,
// for [SequenceOptions].EndRemedy.
func EndRemedy(m Mapping) string {
	switch m := m.(type) {
	case *Coprime:
		return m.endRemedy()
	case *Pseudorandom, *Scatter:
		if last := m.Last(); last < math.MaxInt64 {
			return fmt.Sprintf("a wider column and a sequence with start: %d", last+1)
		}
	}
	return "another table"
}

// checkNumber panics on a number that is not from 1 to Last: the caller has not
// respected Last, and the key would belong to another number.
func checkNumber(m Mapping, number int64) {
	if last := m.Last(); number < 1 || number > last {
		panic(fmt.Sprintf("keysource: %T: number %d is not from 1 to %d", m, number, last))
	}
}

// integerKey returns an integer in the form that a driver takes: int64, or decimal text
// for [dialect.SequentialAsString].
func integerKey(key int64, l dialect.Layout) driver.Value {
	if l == dialect.SequentialAsString {
		return strconv.FormatInt(key, 10)
	}
	return key
}
