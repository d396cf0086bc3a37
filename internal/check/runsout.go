package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// A reading is a row of keyfill_sequences that records the next number of a state (the
// stored counter of a source) at some time. Its name is the name of the state and a day,
// and its parameters are "reading". Only the statement that the rule runs-out prints as its
// remedy makes such a row.
const readingParameters = "reading"

const (
	soon      = 3 * 365 * 24 * time.Hour // a finding is added this long before the numbers end
	muchShare = 0.5                      // if the end is not known, a finding is added from this share of used numbers on
)

// reading is the next number of a state (a stored counter) at some time.
type reading struct {
	next int64
	at   time.Time
}

// lookAtEnd adds a finding with the day on which a state (a stored counter) has no numbers
// left, from two readings that have dates: the state's own row, and an older one.
func (c *checker) lookAtEnd(f Finding, st *keys.State, found sequence.Looked) {
	if st.Row == nil || found.Unmade || found.Next <= 0 || found.Last <= 0 {
		return
	}
	if found.Next > found.Last && !st.Series { // another series (a range of integers) may have numbers left
		f.Severity, f.Rule = Error, ruleRunsOut
		f.Message = fmt.Sprintf("all integers up to %d are used, so that an INSERT fails", found.Last)
		f.Remedy = widen(st, ", or take another source")
		c.add(f)
		return
	}
	share := float64(found.Next) / float64(found.Last)
	f.Severity, f.Rule = Warning, ruleRunsOut
	first, last, ok := c.readings(st)
	switch {
	case ok && last.next > first.next && last.at.After(first.at):
		rate := float64(last.next-first.next) / last.at.Sub(first.at).Hours()
		left := float64(found.Last-found.Next) / rate // in hours
		if left > soon.Hours() {
			return
		}
		day := c.o.Now().Add(time.Duration(left * float64(time.Hour)))
		f.Message = fmt.Sprintf("at the pace of the two readings of %s and %s the integers run out on %s: %.0f%% are used",
			first.at.Format(time.DateOnly), last.at.Format(time.DateOnly), day.Format(time.DateOnly), 100*share)
		f.Remedy = widen(st, " before that day")
	case share >= muchShare:
		f.Message = fmt.Sprintf("%.0f%% of the integers are used, and on which day they run out is unknown: there are no two readings of the state with dates", 100*share)
		f.Remedy = c.takeReading(st)
	default:
		return
	}
	c.add(f)
}

// widen returns the remedy for a state that has few numbers left. rest ends it.
func widen(st *keys.State, rest string) string {
	if st.Row.Columns[0].Texts != nil {
		return "in the policy: " + store.TextRemedy
	}
	return "make the column wider and raise max_bits" + rest
}

// readings returns the oldest reading of a state (a stored counter) and its row's own.
func (c *checker) readings(st *keys.State) (first, last reading, ok bool) {
	if st.Store != "" || st.Row.Table != nil {
		return first, last, false
	}
	name := textLiteral(c.d, st.Row.Name)
	rows, err := c.q.Rows(c.ctx, "SELECT name, next_value, updated_at FROM keyfill_sequences WHERE name = "+name+" OR parameters = '"+readingParameters+"'")
	if err != nil {
		return first, last, false
	}
	seen := 0
	for _, row := range rows {
		at, dated := timeOf(row[2])
		one := reading{integerOf(row[1]), at}
		switch own := textOf(row[0]); {
		case !dated:
		case own == st.Row.Name:
			last = one
			seen |= 1
		case strings.HasPrefix(own, st.Row.Name+" read ") && (seen&2 == 0 || at.Before(first.at)):
			first = one
			seen |= 2
		}
	}
	return first, last, seen == 3
}

// takeReading returns the statement that stores a reading of the state: its next number,
// with the day.
func (c *checker) takeReading(st *keys.State) string {
	name := textLiteral(c.d, st.Row.Name)
	return fmt.Sprintf("INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) SELECT %s, next_value, '', '', '%s', incarnation, updated_at FROM keyfill_sequences WHERE name = %s;",
		textLiteral(c.d, st.Row.Name+" read "+c.o.Now().UTC().Format(time.DateOnly)), readingParameters, name)
}
