// Package testturn lets tests go by turns: of several engines, drivers, sources or faults
// that a test knows, one run takes some, and over all tests each of them has its turn.
//
// What belongs together in tests is the same for most engines and drivers, and each costs
// the same in each test. "make test" goes by turns, so that a contributor waits for
// minutes. "make test WHOLE=1", "make test RACE=1", which .ci/run is, and "go test" take
// all.
package testturn

import (
	"hash/fnv"
	"os"
	"testing"
)

// variable makes tests go by turns. Its text says which turn it is: with another one,
// tests take others of what they know.
const variable = "KEYFILL_TEST_TURN"

// Enabled reports whether tests go by turns.
func Enabled() bool { return os.Getenv(variable) != "" }

// Share returns a number of rows, seeds or tenants: whole, or few where tests go by turns.
func Share[N any](whole, few N) N {
	if Enabled() {
		return few
	}
	return whole
}

// Of reports whether it is the turn of a place. The places of a test are numbered from 0,
// and one of each so many places has its turn. Without turns each place has.
func Of(t testing.TB, place, each int) bool {
	return !Enabled() || (place+number(t, each))%each == 0
}

// Some returns the elements of all whose turn it is: one of each so many elements. Without
// turns it returns all.
func Some[T any](t testing.TB, all []T, each int) (some []T) {
	for place, one := range all {
		if Of(t, place, each) {
			some = append(some, one)
		}
	}
	return some
}

// One returns the one of several whose turn it is.
func One[T any](t testing.TB, all []T) T { return all[number(t, len(all))] }

// number returns a number below n, which depends on the name of the test and the turn.
func number(t testing.TB, n int) int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(os.Getenv(variable) + t.Name())) // it never fails
	return int(sum.Sum32() % uint32(n))
}
