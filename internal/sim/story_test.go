package sim_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/sim"
)

// TestStory: the story of a world says what its seed has drawn, what has happened, and
// which law was broken by what.
func TestStory(t *testing.T) {
	right := (&sim.Trial{Open: newCounter, Faults: withoutLosses}).One(t, 4).Story("counter")
	for _, part := range []string{"World 4 of the trial \"counter\".\n", " each draw keys and insert rows with them.\n",
		"Nothing goes wrong in this world.\n", "process 0.1 starts\n", "No law is broken: ", ", none of them twice.\n"} {
		if !strings.Contains(right, part) {
			t.Errorf("no %q in\n%s", part, right)
		}
	}
	trial := &sim.Trial{Open: newCounter, Faults: []sim.Fault{sim.Failover}}
	found := trial.SearchFor(t, "unique", 1000)
	if found == nil {
		t.Fatal("no seed breaks the law")
	}
	story := trial.One(t, found.Seed).Story("lossy")
	_, end, _ := strings.Cut(story, "A law is broken. unique: key ")
	key, _, _ := strings.Cut(end, " ")
	_, about, ok := strings.Cut(end, "The lines about the key "+key+", and about what went wrong in between:\n\n")
	if !ok {
		t.Fatalf("no lines about the key %q in\n%s", key, story)
	}
	for part, times := range map[string]int{"the store commits for process": 2, " gets the key": 2, "another server takes over the store": 1} {
		if n := strings.Count(about, part); n < times {
			t.Errorf("%q is told %d times, want %d, in\n%s", part, n, times, about)
		}
	}
}

func TestName(t *testing.T) {
	for test, want := range map[string]string{
		"TestSequenceOnConnectionSimulation": "sequence on connection",
		"TestEtcdMutants":                    "etcd mutants",
		"TestEtcdMutants/no_compare":         "etcd mutants/no compare",
	} {
		if got := sim.Name(test); got != want {
			t.Errorf("Name(%q) = %q, want %q", test, got, want)
		}
	}
}
