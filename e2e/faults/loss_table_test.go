package faults_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

const (
	lossesFile = "testdata/losses.txt"
	lossesHead = "# What becomes of INSERTs after a loss: see TestLosses. \"make losses\" writes this file.\n" +
		"# store/source/loss: where all processes are started anew, and where one runs on;\n" +
		"# each in a column with a unique index and in one without\n"
)

// lossGroup is a loss of the state of a source in a store. Its cells have the words of a line
// of the file.
type lossGroup struct {
	store  *lossStore
	source lossSource
	loss   lossKind
}

func (g lossGroup) name() string { return g.store.name + "/" + g.source.name + "/" + g.loss.name }

// lossVariants is how many cells a group has.
const lossVariants = 4

func (g lossGroup) cells() (all [lossVariants]lossCell) {
	for i := range all {
		all[i] = lossCell{source: g.source, loss: g.loss, runsOn: i/2 == 1, indexed: i%2 == 0}
	}
	return all
}

func (g lossGroup) applies(c lossCell) bool {
	return c.applies() && !slices.Contains(g.store.lacks, g.loss.name)
}

// groups returns the groups of a store in the table's order.
func (s *lossStore) groups() (all []lossGroup) {
	for _, src := range lossSources {
		if slices.Contains(s.sources, src.name) {
			for _, loss := range lossKinds {
				all = append(all, lossGroup{s, src, loss})
			}
		}
	}
	return all
}

// lossOutcomes are the outcomes of the cells of each group, by its name.
type lossOutcomes struct {
	mu  sync.Mutex
	all map[string][lossVariants]lossOutcome
}

// readLosses reads the file.
func readLosses(t *testing.T) *lossOutcomes {
	t.Helper()
	o := &lossOutcomes{all: map[string][lossVariants]lossOutcome{}}
	text, err := os.ReadFile(lossesFile)
	if err != nil && !(*harness.UpdateDocs && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		if len(words) != lossVariants {
			t.Fatalf("%s: %q has no %d words after its name", lossesFile, line, lossVariants)
		}
		var of [lossVariants]lossOutcome
		for i, word := range words {
			of[i] = lossOutcome(word)
		}
		o.all[name] = of
	}
	return o
}

// of returns the outcomes of a group, which are empty before the first measurement.
func (o *lossOutcomes) of(g lossGroup) [lossVariants]lossOutcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[g.name()]
}

func (o *lossOutcomes) set(g lossGroup, cell int, outcome lossOutcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.all[g.name()]
	of[cell] = outcome
	o.all[g.name()] = of
}

// text returns the file.
func (o *lossOutcomes) text() string {
	var b strings.Builder
	b.WriteString(lossesHead)
	for i := range lossStores {
		for _, g := range lossStores[i].groups() {
			of := o.of(g)
			for i := range of {
				of[i] = cmp.Or(of[i], "?")
			}
			fmt.Fprintf(&b, "%-34s %-7s %-7s   %-7s %s\n", g.name()+":", of[0], of[1], of[2], of[3])
		}
	}
	return b.String()
}

// TestLosses loses the state of each source in each store in every way, and inserts: by a
// process that is started then, and beside it by one that runs on. The outcomes are in
// testdata/losses.txt; without KEYFILL_TEST_LOSSES it tries some of the stores and few of
// the losses.
func TestLosses(t *testing.T) {
	t.Parallel()
	outcomes := readLosses(t)
	stores, all := fewLosses(t, lossStores, 4), *harness.UpdateDocs || os.Getenv("KEYFILL_TEST_LOSSES") != ""
	if all {
		stores = lossStores
	}
	if *harness.UpdateDocs {
		t.Cleanup(func() { outcomes.write(t) })
	}
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			groups := store.groups()
			if !all {
				groups = fewLosses(t, groups, 24)
			}
			place := store.start(t)
			for _, g := range groups {
				g.run(t, place, outcomes)
			}
		})
	}
}

// fewLosses returns one of n of the elements: those whose turn it is, without turns the same
// ones.
func fewLosses[T any](t *testing.T, all []T, n int) (some []T) {
	t.Helper()
	if testturn.Enabled(t) {
		return testturn.Some(t, all, n)
	}
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// run runs the cells of a group, one after the other: they use the same servers.
func (g lossGroup) run(t *testing.T, place func(t *testing.T) *lossPlace, outcomes *lossOutcomes) {
	want := outcomes.of(g)
	for i, c := range g.cells() {
		if !g.applies(c) {
			outcomes.set(g, i, lossNone)
			continue
		}
		t.Run(g.source.name+"/"+g.loss.name+"/"+c.name(), func(t *testing.T) {
			got, why := c.run(t, place(t))
			t.Logf("%s: %v", got, why)
			if *harness.UpdateDocs {
				outcomes.set(g, i, got)
			} else if got != want[i] {
				t.Errorf("%q, want %q: run make losses, and look at what has changed", got, want[i])
			}
		})
	}
}

// write writes the file and the table.
func (o *lossOutcomes) write(t *testing.T) {
	if err := errors.Join(os.WriteFile(lossesFile, []byte(o.text()), 0o644), o.writePage()); err != nil {
		t.Error(err)
	}
}
