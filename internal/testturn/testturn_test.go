package testturn_test

import (
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// TestTurns: whatever the turn is, each of some places has its turn in one of some tests,
// and one of each three in each of them.
func TestTurns(t *testing.T) {
	for _, turn := range []string{"1", "2", "a"} {
		t.Setenv("KEYFILL_TEST_TURN", turn)
		taken, chosen := map[int]bool{}, map[int]bool{}
		for test := range 30 {
			t.Run(fmt.Sprint(turn, test), func(t *testing.T) {
				n := 0
				for place := range 9 {
					if testturn.Of(t, place, 3) {
						taken[place] = true
						n++
					}
				}
				if n != 3 {
					t.Errorf("%d places of 9 have their turn, want 3", n)
				}
				if some := testturn.Some(t, []int{0, 1, 2, 3, 4, 5}, 3); len(some) != 2 {
					t.Errorf("%v of six, want two", some)
				}
				chosen[testturn.One(t, []int{0, 1, 2, 3})] = true
			})
		}
		if len(taken) != 9 || len(chosen) != 4 {
			t.Errorf("turn %q: %d places of 9 and %d of 4 had their turn in 30 tests", turn, len(taken), len(chosen))
		}
		if got := testturn.Share(1000, 10); got != 10 {
			t.Errorf("the share is %d, want 10", got)
		}
	}
}

// TestWhole: without turns everything has its turn.
func TestWhole(t *testing.T) {
	t.Setenv("KEYFILL_TEST_TURN", "")
	for place := range 9 {
		if !testturn.Of(t, place, 3) {
			t.Errorf("place %d is left out", place)
		}
	}
	if some := testturn.Some(t, []int{0, 1, 2}, 3); len(some) != 3 {
		t.Errorf("%v, want all three", some)
	}
	if got := testturn.Share(1000, 10); got != 1000 {
		t.Errorf("the share is %d, want 1000", got)
	}
}
