package check

import (
	"fmt"
	"math"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// lookAtSeries adds a finding about series of a recycled source that its counter has not
// counted, as when the two tables were restored from different moments: the counter opens
// such a series again, which the source refuses. f is the finding without its message.
func (c *checker) lookAtSeries(f Finding, t *target, i int, st *keys.State, found sequence.Looked) {
	src := t.table.KeyColumns[i].Rule.Source
	now := c.engine().now
	if src.Kind != policy.KindRecycled || st.Store != "" || now == "" || found.Next == 0 {
		return
	}
	if _, err := c.over.Find("", "keyfill_series"); err != nil {
		return // there is no series yet
	}
	name := c.textLiteral(st.Row.Name)
	row, err := c.row(fmt.Sprintf("SELECT MAX(series_last), SUM(CASE WHEN leased_until < %s AND next_value <= series_last THEN 1 ELSE 0 END) FROM keyfill_series WHERE name = %s AND series_last >= %d",
		now, name, found.Next))
	if err != nil || len(row) < 2 || row[0] == nil {
		return
	}
	last := integerOf(row[0])
	f.Rule, f.Message = ruleStateBehind, fmt.Sprintf("its next series begins at %d or above, and one that ends at %d is there, which the state has not counted", found.Next, last)
	if f.Class = FirstInsert; integerOf(row[1]) > 0 {
		f.Class = Later // an abandoned series is taken over first
	}
	switch {
	case last == math.MaxInt64:
		f.Remedy = "in the policy: another source, since no integer is left above that"
	case found.Unmade:
		f.Remedy = fmt.Sprintf("in the policy: start: %d in the source", last+1)
	default:
		f.Remedy = fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d WHERE name = %s AND next_value < %d;", last+1, name, last+1)
	}
	c.add(f)
}
