package testturn_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// engines is a list as tests in e2e have it: one dialect has two drivers, the other three.
var engines = [][]string{{"mysql", "mysql-interpolate"}, {"pgx", "pgx-simple", "pq"}}

// named is a test of another name, since a test that runs again gets a new one.
type named struct {
	*testing.T
	name string
}

func (n named) Name() string { return n.name }

// combination makes the choices of a test and of its subtest.
func combination(t *testing.T) string {
	test := named{t, "TestX"}
	file := testturn.One(test, []string{"file", "memory"})
	group, place := testturn.Nested(test, engines)
	engine := engines[group][place]
	subtest := named{t, "TestX/" + engine}
	some := testturn.Some(subtest, []int{0, 1, 2, 3}, 2)
	for kind := range 3 {
		// Kinds have their turn at another place for each file: one choice all the same.
		if testturn.Of(subtest, kind, 3) && testturn.Of(subtest, kind+3, 3) {
			return fmt.Sprint(file, engine, some, kind)
		}
	}
	t.Error("no kind has its turn")
	return ""
}

// TestTurns: as many successive turns as there are combinations reach each of them,
// among them the choices of a subtest, and two choices that divide by the same number.
func TestTurns(t *testing.T) {
	got := map[string]bool{}
	// Two files, two dialects, up to three drivers, two and three.
	for turn := range 2 * 2 * 3 * 2 * 3 {
		t.Run("turn", func(t *testing.T) {
			t.Setenv("KEYFILL_TEST_TURN", strconv.Itoa(1000+turn))
			got[combination(t)] = true
		})
	}
	if want := 2 * 5 * 2 * 3; len(got) != want {
		t.Errorf("the turns reach %d combinations, want %d", len(got), want)
	}
}

// TestReplay: a replay of what a test chose without turns says how many turns it needs.
func TestReplay(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("KEYFILL_TEST_TURN", "")
	t.Setenv("KEYFILL_TEST_CHOICES", folder)
	t.Run("record", func(t *testing.T) {
		testturn.One(named{t, "TestX"}, []string{"file", "memory"})
		testturn.Nested(named{t, "TestX"}, engines)
		for _, engine := range slices.Concat(engines...) {
			subtest := named{t, "TestX/" + engine}
			if some := testturn.Some(subtest, []int{0, 1, 2, 3}, 2); len(some) != 4 {
				t.Errorf("%v without turns, want all four", some)
			}
			testturn.Of(subtest, 0, 3)
		}
	})
	t.Setenv("KEYFILL_TEST_CHOICES", "")
	suite := read(t, folder)
	// For two files and five engines: one that the subtest is one of, and six in it.
	all := suite.Replay(1000)
	if len(all) != 1 || all[0].Test != "TestX" || all[0].Combinations != 2*5*(1+2*3) || len(all[0].Missed) > 0 {
		t.Fatalf("Replay() = %+v, want one test with 70 combinations, all reached", all)
	}
	last, met := 0, map[string]bool{}
	for turn := range all[0].Turns {
		t.Run("turn", func(t *testing.T) {
			t.Setenv("KEYFILL_TEST_TURN", strconv.Itoa(turn+1))
			if made := combination(t); !met[made] {
				met[made], last = true, turn+1
			}
		})
	}
	if len(met) != 60 || last != all[0].Turns {
		t.Errorf("%d combinations, the last one in turn %d; want 60, the last one in turn %d", len(met), last, all[0].Turns)
	}
	// A turn less leaves one out, and says which.
	if all := suite.Replay(all[0].Turns - 1); len(all[0].Missed) == 0 {
		t.Errorf("Replay() = %+v with a turn less, want what it misses", all)
	}
}

// read returns the choices of one program.
func read(t *testing.T, folder string) (s testturn.Suite) {
	files, _ := filepath.Glob(filepath.Join(folder, "internal-testturn~*.jsonl")) // the pattern is good
	if len(files) != 1 {
		t.Fatalf("%d files of choices, want one", len(files))
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.Add(f); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWhole: without turns everything has its turn, and so it has in a test that is named.
func TestWhole(t *testing.T) {
	for _, c := range []struct{ name, turn, whole string }{
		{"no turn", "", ""},
		{"named", "1", "TestOther TestWhole"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KEYFILL_TEST_TURN", c.turn)
			t.Setenv("KEYFILL_TEST_WHOLE", c.whole)
			for place := range 9 {
				if !testturn.Of(t, place, 3) {
					t.Errorf("place %d is left out", place)
				}
			}
			if some := testturn.Some(t, []int{0, 1, 2}, 3); len(some) != 3 {
				t.Errorf("%v, want all three", some)
			}
			if got := testturn.Share(t, 1000, 10); got != 1000 {
				t.Errorf("the share is %d, want 1000", got)
			}
		})
	}
	t.Setenv("KEYFILL_TEST_TURN", "1")
	t.Setenv("KEYFILL_TEST_WHOLE", "TestWhole2")
	if got := testturn.Share(t, 1000, 10); got != 10 {
		t.Errorf("the share is %d, want 10", got)
	}
}

// TestWhenChanged: a test runs by turns when one of its files has changed, and without
// turns always.
func TestWhenChanged(t *testing.T) {
	for _, c := range []struct {
		name, turn, changed, pattern string
		runs                         bool
	}{
		{"without turns", "", "", "docs/", true},
		{"nothing", "1", "", "docs/", false},
		{"another folder", "1", "doc/a.md\ndocs.go\n", "docs/", false},
		{"folder", "1", "a.go\ndocs/a.md\n", "docs/", true},
		{"file", "1", "README.md", "README.md", true},
		{"another file", "1", "e2e/README.md", "README.md", false},
		{"ending", "1", "internal/fill/fill.go\n", "*.go", true},
		{"another ending", "1", "go.mod\n", "*.go", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KEYFILL_TEST_TURN", c.turn)
			t.Setenv("KEYFILL_TEST_CHANGED", c.changed)
			t.Setenv("KEYFILL_TEST_WHOLE", "")
			ran := false
			t.Run("test", func(t *testing.T) {
				testturn.WhenChanged(t, "go.sum", c.pattern)
				ran = true
			})
			if ran != c.runs {
				t.Errorf("it runs: %v, want %v", ran, c.runs)
			}
		})
	}
}

// TestOnlyWhole: such a test runs only without turns, whatever has changed.
func TestOnlyWhole(t *testing.T) {
	for _, turn := range []string{"", "1"} {
		t.Setenv("KEYFILL_TEST_TURN", turn)
		t.Setenv("KEYFILL_TEST_WHOLE", "TestOnlyWhole")
		ran := false
		t.Run("turn "+turn, func(t *testing.T) {
			testturn.OnlyWhole(t)
			ran = true
		})
		if ran != (turn == "") {
			t.Errorf("turn %q: it runs: %v", turn, ran)
		}
	}
}
