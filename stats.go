package keyfill

import (
	"cmp"
	"maps"

	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/rewrite"
)

// Stats says what a mount has done since it was opened, in statements.
//
// A statement counts once for each execution, when the driver has taken it. A
// bulk load counts once for each row. A prepared statement counts once, when it
// is prepared, if its text alone tells that it is kept or passed, if it is
// refused, or if it is sent under the mode off.
type Stats struct {
	// Passed counts statements with a word like INSERT that are not INSERTs
	// into configured tables. Statements without such a word are not counted.
	Passed uint64
	// Tables holds the counts by table, under the name that the policy matched.
	// The caller owns the map.
	Tables map[string]TableStats
}

// OtherTables is the name under which [Stats] counts all tables after the first
// 10,000, since a glob can match any number of them.
const OtherTables = "…"

// Reason is why a statement cannot be filled, as a word of lower-case letters
// and _ that will not change: "select", "no_column_list". It is fit for the
// label of a metric. The words are defined in package rewrite, whose Reasons
// errors.Is finds in an [*Error].
type Reason string

// Text returns the sentence that the error of such a statement ends in: what is
// wrong, and what to change. It is "" for a word that is no reason.
func (r Reason) Text() string { return rewrite.Reason(r).Error() }

// TableStats says what was done with the INSERTs into one table.
type TableStats struct {
	Filled  uint64            // statements that got at least one key, whatever became of them
	Keys    uint64            // keys that were added
	Kept    uint64            // statements that brought their own keys
	Refused map[Reason]uint64 // statements that cannot be filled, by cause

	// Failed counts the filled statements that ended in an error and stored no
	// key. Unknown counts the filled statements whose error does not tell whether
	// a key is stored: the connection broke, or some of several rows may be
	// stored. An error that comes only while the caller reads the rows of
	// RETURNING is not counted, unless the keys are recorded or are numbers.
	Failed, Unknown uint64

	// Withheld counts the filled and refused statements that were sent as they
	// came, because of the mode or of "unsupported: unfilled".
	Withheld uint64

	// Suspects counts the keys that the engine found in the table already: another
	// program fills the column too, or the store has gone back.
	Suspects uint64
}

// statsOf returns the counts of one database.
func statsOf(db *fill.Database) Stats {
	passed, tables := db.Tally.Counts()
	s := Stats{Passed: passed, Tables: make(map[string]TableStats, len(tables))}
	for name, c := range tables {
		t := TableStats{
			Filled: c.Filled, Keys: c.Keys, Kept: c.Kept,
			Failed: c.Failed, Unknown: c.Unknown, Withheld: c.Withheld, Suspects: c.Suspects,
		}
		if len(c.Refused) > 0 {
			t.Refused = make(map[Reason]uint64, len(c.Refused))
		}
		for reason, n := range c.Refused {
			t.Refused[Reason(reason)] = n
		}
		s.Tables[cmp.Or(name, OtherTables)] = t
	}
	return s
}

// add adds other to s and keeps nothing of it.
func (s *Stats) add(other Stats) {
	s.Passed += other.Passed
	for name, from := range other.Tables {
		if s.Tables == nil {
			s.Tables = map[string]TableStats{}
		}
		t := s.Tables[name]
		t.Filled += from.Filled
		t.Keys += from.Keys
		t.Kept += from.Kept
		t.Failed += from.Failed
		t.Unknown += from.Unknown
		t.Withheld += from.Withheld
		t.Suspects += from.Suspects
		t.Refused = maps.Clone(t.Refused)
		for reason, n := range from.Refused {
			if t.Refused == nil {
				t.Refused = map[Reason]uint64{}
			}
			t.Refused[reason] += n
		}
		s.Tables[name] = t
	}
}
