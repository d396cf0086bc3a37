package statements_test

import (
	"context"
	"maps"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// pair is two databases of one engine, a plain one and one opened through keyfill, on
// which programs run.
type pair interface {
	// open opens the handles of a batch of programs.
	open(ctx context.Context) error

	// run runs one program, and reports whether the handles can serve another one.
	run(t testing.TB, number string, input []byte) bool

	// close closes the handles.
	close()

	seen() *tally
}

// newPairs makes a pair for each mode of an engine.
type newPairs func(testing.TB, []harness.Engine) []pair

// tally is what the programs of a pair have seen.
type tally struct {
	harness.Engine
	failed   bool // the last program was a finding
	ran      int  // programs
	outcomes map[string]int
}

func newTally(e harness.Engine) tally { return tally{Engine: e, outcomes: map[string]int{}} }

func (w *tally) seen() *tally { return w }

// add adds what another pair of the same mode has seen.
func (w *tally) add(other *tally) {
	w.ran += other.ran
	for what, n := range maps.All(other.outcomes) {
		w.outcomes[what] += n
	}
}

// report prints how often each outcome came, and fails where what was filled is too
// little to have shown anything.
func (w *tally) report(t testing.TB) {
	if w.ran < 15 {
		return // one input that is run again, or the process that only hands them out
	}
	t.Logf("%s: %d programs: %v", w.Name, w.ran, w.outcomes)
	if sent := w.outcomes["same"]; sent < 10*w.outcomes["refused"] {
		t.Errorf("%s: %d statements were compared and %d refused: too many", w.Name, sent, w.outcomes["refused"])
	}
}
