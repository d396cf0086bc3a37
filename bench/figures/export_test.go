package figures

import (
	"fmt"

	"github.com/keyfill/keyfill/internal/stats"
)

// What the tests of this package's parts look at.
var (
	PackageOf = packageOf
	Sizes     = sizes
	Larger    = larger
	Owner     = owner
	LocksOf   = locksOf
	AtMost    = atMost
	AsFast    = asFast
)

// Verdict is the verdict of a bar.
func (b Bar) Verdict(u Unit, e stats.Estimate) string { return b.verdict(u, e) }

// Round is round.
func (u Unit) Round(v float64) float64 { return u.round(v) }

// Cells are the cells of a figure.
func (f Figure) Cells() []string { return f.cells() }

// Waiting is waited.
type Waiting = waited

// ReadTraces reads traces, and says of each part what it takes.
func ReadTraces(text string) (map[string]string, error) {
	t, err := readTraces(text)
	parts := map[string]string{}
	for name, took := range t.parts {
		parts[name] = fmt.Sprintf("%v, %v of it memory", took, t.memory[name])
	}
	return parts, err
}
