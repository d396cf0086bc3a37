package keysource

import (
	"database/sql/driver"
	"fmt"
	"math"

	"github.com/keyfill/keyfill/dialect"
)

// Mapping turns the numbers of a counter, from 1 on, into keys that are all different:
// each number is one key, and no two numbers are the same key. So a sequence whose greatest
// integer is Last, and which never hands out a number twice, makes unique keys. A Mapping is
// immutable and safe for concurrent use.
type Mapping interface {
	// Key returns the key of a number from 1 to Last in the form that a driver takes:
	// int64 for an integer in the empty layout, otherwise text. It panics on any other
	// number.
	Key(number int64, l dialect.Layout) driver.Value

	// Last returns the greatest number: after it the mapping is used up.
	Last() int64

	// Parameters returns the settings that may never change for the keys of one state
	// (stored counter), in at most 1,000 characters that hold no secret. It is kept beside
	// the state and compared at every start: with other parameters a later number can have
	// the key of an earlier one.
	Parameters() string
}

// EndRemedy returns advice for the time when all numbers of a mapping are used,
// for the text of [ErrExhausted].
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
