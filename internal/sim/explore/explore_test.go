package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
)

const root = "../../.."

// explored runs the program on the trial of numbers within parents, which is quick.
func explored(t *testing.T, e explorer, seed, trial string) string {
	t.Helper()
	var out strings.Builder
	e.out, e.root, e.from = &out, root, 1
	if err := e.main(seed, trial); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}

// TestExplore: every mutant is found, and the worlds of the trial are counted, of which each
// has a history of its own.
func TestExplore(t *testing.T) {
	summed := regexp.MustCompile(`(?m)^scope +(\d+) +(\d+) +\d+ +(\d+) +\d+ +0  none$`)
	var out string
	var sum []string
	worlds := 0
	for limit := time.Second; worlds < 5 && limit < 5*time.Minute; limit *= 2 { // a busy machine has fewer in a second
		out = explored(t, explorer{limit: limit}, "", "scope")
		if sum = summed.FindStringSubmatch(out); sum != nil {
			worlds, _ = strconv.Atoi(sum[1]) // 0 if that fails
		}
	}
	if n := strings.Count(out, "mutant  found by seed"); n != 3 {
		t.Errorf("%d mutants were found, want 3, in\n%s", n, out)
	}
	if sum == nil {
		t.Fatalf("no sum of the trial in\n%s", out)
	}
	if worlds < 5 || sum[1] != sum[2] || sum[3] == "0" {
		t.Errorf("%s worlds, %s histories, %s keys", sum[1], sum[2], sum[3])
	}
}

// TestTell: the story of one world of a trial, and of a mutant, is printed.
func TestTell(t *testing.T) {
	if out := explored(t, explorer{}, "42", "scope"); !strings.HasPrefix(out, "World 42 of the trial \"scope\".\n") ||
		!strings.Contains(out, "No law is broken") || strings.Count(out, "World ") != 1 {
		t.Errorf("the story is\n%s", out)
	}
	if out := explored(t, explorer{}, "4", "scope mutants/left out"); !strings.HasPrefix(out,
		"World 4 of the trial \"scope mutants/the parent is left out of the name\".\n") {
		t.Errorf("the story is\n%s", out)
	}
}

// TestChoose: a name means its trial and the mutants of it, anything else is an expression.
func TestChoose(t *testing.T) {
	all, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	names := func(wanted string) string {
		tests, err := choose(all, wanted)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, t := range tests {
			names = append(names, sim.Name(t.name))
		}
		return strings.Join(names, ", ")
	}
	for wanted, want := range map[string]string{
		"scope":         "scope, scope mutants",
		"scope muta":    "scope mutants",
		"scope/left":    "scope mutants",
		"^leased$":      "leased",
		"^(pseudo|cop)": "coprime, pseudorandom",
	} {
		if got := names(wanted); got != want {
			t.Errorf("%q means %s, want %s", wanted, got, want)
		}
	}
	if _, err := choose(all, "nothing"); err == nil || !strings.Contains(err.Error(), "\trecycled on connection\n") {
		t.Errorf("a trial that is not there: %v", err)
	}
	for _, folder := range []string{"internal/counting", "internal/store/scope", "internal/store/upstream"} {
		found := false
		for _, t := range all {
			found = found || t.folder == filepath.Join(root, folder)
		}
		if !found {
			t.Errorf("no trial of %s is found", folder)
		}
	}
}
