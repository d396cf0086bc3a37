package knots_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/knots"
	"github.com/keyfill/keyfill/internal/testturn"
)

// mostBranches is how many branches there may be in all: as many as there are now. branchesBar is
// what it must never be raised above.
const (
	mostBranches = 52
	branchesBar  = 60
)

// listedBranches is a line of testdata/branches.txt: a function, how many branches it has, and
// why they are no facts of an engine.
var listedBranches = regexp.MustCompile(`^(\S* \S+) (\d+): (\S.*)$`)

// TestBranches: each place that asks for an engine outside package dialect is listed with its
// reason, and there are no more of them than there were. What is a fact of an engine is a field
// of its dialect, or of what the package has for each engine.
func TestBranches(t *testing.T) {
	testturn.WhenChanged(t, "*.go", "internal/knots/testdata/")
	found := map[string]int{}
	for _, folder := range []string{".", "cmd/keyfill", "judge", "bench", "suites", "e2e"} {
		counts, err := knots.Branches(filepath.Join("../..", folder), "./...")
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(found, counts)
	}
	text, err := os.ReadFile("testdata/branches.txt")
	if err != nil {
		t.Fatal(err)
	}
	total, listed := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		parts := listedBranches.FindStringSubmatch(line)
		if parts == nil {
			t.Errorf("testdata/branches.txt has the line %q, want \"folder function number: reason\"", line)
			continue
		}
		name, want := parts[1], parts[2]
		if got := strconv.Itoa(found[name]); got != want {
			t.Errorf("%s has %s branches, and testdata/branches.txt says %s", name, got, want)
		}
		listed[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		total += found[name]
		if !listed[name] {
			t.Errorf("%s %d: asks for an engine: make that a fact of the engine, or write the line with its reason into testdata/branches.txt", name, found[name])
		}
	}
	if total > branchesBar {
		t.Errorf("there are %d branches, want at most %d", total, branchesBar)
	}
	if total != mostBranches {
		t.Errorf("there are %d branches, want %d: no more than there were, and the number is lowered with them", total, mostBranches)
	}
}

// TestBranchesCounted: each way to ask for an engine is counted.
func TestBranchesCounted(t *testing.T) {
	t.Parallel()
	found, err := knots.Branches("../..", "./internal/knots/testdata/asking")
	want := map[string]int{"compares": 3, "switches": 3, "calls": 2, "further": 2, "indexed": 1}
	got := map[string]int{}
	for name, n := range found {
		got[strings.TrimPrefix(name, "internal/knots/testdata/asking ")] = n
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("Branches = %v, %v, want %v", got, err, want)
	}
}
