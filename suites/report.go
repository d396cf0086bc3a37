package suites

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/suites/filled"
)

// Row is one filled run, and the plain run of the same program. Filled is nil if the suite
// has no table for the policy.
type Row struct {
	Suite         *Suite
	Run           Run
	Policy        Policy
	Plain, Filled *Outcome
	Counts        filled.Counts
	Comparison    Comparison
}

// Head is the head of the table of rows. The counts of INSERTs may lack the last INSERTs of
// a program: see package filled.
const Head = "| suite | version | engine, driver | policy | tests run | INSERTs filled, at least | refused | failed plain | failed only when filled | failed only when plain, or not run when filled |\n|---|---|---|---|---|---|---|---|---|---|\n"

// String returns the row as a line of the table.
func (r Row) String() string {
	if r.Filled == nil {
		return fmt.Sprintf("| %s | %s | %s, %s | %s | not run: %s | – | – | %d | – | – |\n", r.Suite.Name, r.Suite.Version, r.Run.Engine, r.Run.Driver,
			r.Policy.Name, r.Suite.NoUUIDs, len(r.Plain.Failed()))
	}
	c := r.Comparison
	others := append(append([]string(nil), c.Mended...), c.Lost...)
	return fmt.Sprintf("| %s | %s | %s, %s | %s | %d | %d | %d | %d | %s | %s |\n", r.Suite.Name, r.Suite.Version, r.Run.Engine, r.Run.Driver, r.Policy.Name,
		r.Filled.Tests(), r.Counts.Filled, r.Counts.Refused, len(r.Plain.Failed()), names(c.Broken), names(others))
}

// names writes names into a cell.
func names(all []string) string {
	if len(all) == 0 {
		return "–"
	}
	return strings.ReplaceAll(strings.Join(all, ", "), "|", `\|`)
}
