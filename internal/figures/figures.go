// Package figures converts the statistics of a mount (keyfill's handle on a database) to
// the figures that the metrics of keyfillprom and keyfillotel show: counts by entry of the
// policy, and the present condition of each source. Their number depends on the policy
// alone, however many tables and tenants there are.
package figures

//row:changes | the section of docs/errors.md that an error ends in | `anchor.New` or `anchor.Errorf`; `anchor.Last`, `Lastf` or `Endf` in packages that programs call. `TestErrorPage` writes the texts
//row:changes | a metric | `internal/figures`, for `keyfillprom` with its alert rules and dashboard, and `keyfillotel`

import (
	"cmp"
	"maps"
	"slices"

	"github.com/keyfill/keyfill"
)

// Outcome is the outcome of an INSERT. The outcomes exclude each other.
type Outcome string

// The outcomes of INSERTs. A filled INSERT is stored, left out, failed or unknown.
const (
	Stored  Outcome = "stored"   // all of its keys are stored
	LeftOut Outcome = "left_out" // the rows of an upsert, or of INSERT IGNORE, existed already
	Failed  Outcome = "failed"   // it stored no key, or got none and was not sent
	Unknown Outcome = "unknown"  // it is not known whether its keys are stored
	Kept    Outcome = "kept"     // it brought its own keys
	Refused Outcome = "refused"  // it cannot be filled
	Passed  Outcome = "passed"   // it is not an INSERT into a configured table
)

// Statements is the number of statements of one entry that had one outcome for one reason.
type Statements struct {
	Entry   string // empty for passed INSERTs
	Outcome Outcome
	Reason  string // a [keyfill.Cause] or [keyfill.Reason]; may be empty
	Count   uint64
}

// Entry has the other counts of the INSERTs into the tables of one entry of the policy.
type Entry struct {
	Name                             string
	Filled, Keys, Withheld, Suspects uint64
}

// Figures are all figures of a mount (keyfill's handle on a database) at one moment.
type Figures struct {
	Statements []Statements
	Entries    []Entry               // by name
	Sources    []keyfill.SourceStats // each once
}

// Read returns the figures of a mount (keyfill's handle on a database). It sends no query.
// An entry that has matched no INSERT has zeros, so that the metrics show the entry.
func Read(m *keyfill.Mount) Figures {
	stats := m.Stats()
	f := Figures{Sources: m.Sources()}
	tables := map[string][]keyfill.TableStats{}
	for _, s := range f.Sources {
		for _, entry := range s.Tables {
			tables[entry] = nil
		}
	}
	for _, t := range stats.Tables {
		tables[t.Entry] = append(tables[t.Entry], t)
	}
	f.Statements = append(f.Statements, Statements{Outcome: Passed, Count: stats.Passed})
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		f.add(name, tables[name])
	}
	return f
}

// add adds the counts of the tables that an entry has matched.
func (f *Figures) add(name string, tables []keyfill.TableStats) {
	e := Entry{Name: name}
	counts := map[Statements]uint64{ // keys have no count; the first three exist from the start
		{Entry: name, Outcome: Stored}:  0,
		{Entry: name, Outcome: LeftOut}: 0,
		{Entry: name, Outcome: Kept}:    0,
	}
	for _, t := range tables {
		e.Filled += t.Filled
		e.Keys += t.Keys
		e.Withheld += t.Withheld
		e.Suspects += t.Suspects
		counts[Statements{Entry: name, Outcome: Stored}] += t.Stored
		counts[Statements{Entry: name, Outcome: LeftOut}] += t.LeftOut
		counts[Statements{Entry: name, Outcome: Kept}] += t.Kept
		for cause, n := range t.FailedBy {
			counts[Statements{Entry: name, Outcome: Failed, Reason: string(cause)}] += n
		}
		for cause, n := range t.UnknownBy {
			counts[Statements{Entry: name, Outcome: Unknown, Reason: string(cause)}] += n
		}
		for reason, n := range t.Refused {
			counts[Statements{Entry: name, Outcome: Refused, Reason: string(reason)}] += n
		}
	}
	f.Entries = append(f.Entries, e)
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b Statements) int {
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
	})
	for _, s := range keys {
		s.Count = counts[s]
		f.Statements = append(f.Statements, s)
	}
}
