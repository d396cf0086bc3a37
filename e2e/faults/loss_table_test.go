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
	"github.com/keyfill/keyfill/keysource"
)

const (
	lossesFile = "testdata/losses.txt"

	// lossesBefore has the outcomes of an old commit.
	lossesBefore = "testdata/losses-944dd75.txt"

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

// readLosses reads a file of outcomes.
func readLosses(t *testing.T, file string) *lossOutcomes {
	t.Helper()
	o := &lossOutcomes{all: map[string][lossVariants]lossOutcome{}}
	text, err := os.ReadFile(file)
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
			t.Fatalf("%s: %q has no %d words after its name", file, line, lossVariants)
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
	outcomes := readLosses(t, lossesFile)
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

// lossesWorse are the losses after which more keys are stored twice, or stopped by an index,
// than before, with the reason.
var lossesWorse = map[string]string{
	"SQLite/sequence/lowered": "a sequence on SQLite follows explicit keys now, so that a row below them is raised; with on_behind: error it is told, see TestLoweredOnSQLite",
}

// TestLossesNoneWorse: no loss is told later than it was.
func TestLossesNoneWorse(t *testing.T) {
	t.Parallel()
	before, now := readLosses(t, lossesBefore), readLosses(t, lossesFile)
	harm := func(o lossOutcome) int { return 1 + slices.Index([]lossOutcome{lossStopped, lossTwice}, o) }
	for i := range lossStores {
		for _, g := range lossStores[i].groups() {
			was, is := before.of(g), now.of(g)
			worse := false
			for cell := range is {
				worse = worse || harm(is[cell]) > harm(was[cell])
			}
			if _, known := lossesWorse[g.name()]; worse != known {
				t.Errorf("%s: %v, and %v before; listed as worse: %t", g.name(), is, was, known)
			}
		}
	}
}

// TestLoweredOnSQLite: a row that was lowered is told where the sequence does not raise it.
func TestLoweredOnSQLite(t *testing.T) {
	t.Parallel()
	place := lossDatabase(harness.SQLiteFile)(t)
	loss := lossKinds[slices.IndexFunc(lossKinds, func(k lossKind) bool { return k.name == "lowered" })]
	for remedy, want := range map[keysource.Remedy]lossOutcome{keysource.RemedyError: lossTold, "": lossTwice} {
		source := lossSources[0]
		source.source.OnBehind = remedy
		if got, why := (lossCell{source: source, loss: loss, runsOn: true}).run(t, place(t)); got != want {
			t.Errorf("on_behind %q: %s, %v; want %s", remedy, got, why, want)
		}
	}
}
