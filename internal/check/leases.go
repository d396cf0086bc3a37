package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// lookAtLeases adds a finding for each leased series (a range of numbers) or worker's
// number. It names the process that holds the lease, or says that the lease expired with
// numbers left.
func (c *checker) lookAtLeases() error {
	leased := func(src policy.Source) bool { return src.Kind == policy.KindRecycled || src.WorkerLease > 0 }
	now := c.engine.now
	if now == "" || !slices.ContainsFunc(c.usesOf(""), leased) || c.badTables("") {
		return nil
	}
	if _, err := c.over.Find("", "keyfill_series"); err != nil {
		return nil // no process has leased anything yet
	}
	rows, err := c.q.Rows(c.ctx, "SELECT name, owner, CASE WHEN leased_until < "+now+" THEN 1 ELSE 0 END FROM keyfill_series WHERE next_value <= series_last ORDER BY name, series_first")
	if err != nil {
		return err
	}
	for _, row := range rows {
		f := Finding{Severity: Info, Rule: ruleLease, Line: c.lineOfUse(),
			Message: fmt.Sprintf("a lease of the state %q is held by %s", textOf(row[0]), textOf(row[1])),
			Remedy:  "none is needed: the holder gives it back when it ends, and after its end the lease runs out"}
		if integerOf(row[2]) != 0 {
			f.Message = fmt.Sprintf("a lease of the state %q has run out with numbers left: the next process takes them", textOf(row[0]))
		}
		c.add(f)
	}
	return nil
}

// maxSkew is how far the clocks of the server and of this process may differ.
const maxSkew = 2 * time.Second

// lookAtClock compares the server's clock with the clock of this process.
func (c *checker) lookAtClock() error {
	query := c.engine.clock
	if query == "" {
		return nil
	}
	before := c.o.Now()
	row, err := c.row(query)
	if err != nil || len(row) == 0 {
		return err
	}
	after := c.o.Now()
	server := time.UnixMilli(integerOf(row[0]))
	skew := time.Duration(0)
	switch {
	case server.After(after):
		skew = server.Sub(after)
	case server.Before(before.Add(-time.Millisecond)):
		skew = before.Sub(server)
	}
	if skew > maxSkew {
		c.add(Finding{Severity: Warning, Rule: ruleClock,
			Message: fmt.Sprintf("the clocks of the server and of this host are %s apart: keys that hold the time sort by the clock of the host, and leases run out by the server's", skew.Round(time.Second)),
			Remedy:  "have both set their clocks by NTP"})
	}
	return nil
}

// lookAtSeries adds a finding if a recycled source has series (ranges of numbers) that its
// counter has not counted, as after keyfill's tables were restored from backups of
// different times: the counter would give such a series again, which the source refuses. f
// is the finding without its message.
func (c *checker) lookAtSeries(f Finding, t *target, i int, st *keys.State, found sequence.Looked) {
	src := t.table.KeyColumns[i].Rule.Source
	now := c.engine.now
	if src.Kind != policy.KindRecycled || st.Store != "" || now == "" || found.Next == 0 {
		return
	}
	if _, err := c.over.Find("", "keyfill_series"); err != nil {
		return // no process has opened a series (a range of numbers) yet
	}
	name := textLiteral(c.d, st.Row.Name)
	row, err := c.row(fmt.Sprintf("SELECT MAX(series_last), SUM(CASE WHEN leased_until < %s AND next_value <= series_last THEN 1 ELSE 0 END) FROM keyfill_series WHERE name = %s AND series_last >= %d",
		now, name, found.Next))
	if err != nil || len(row) < 2 || row[0] == nil {
		return
	}
	last := integerOf(row[0])
	f.Rule, f.Message = ruleStateBehind, fmt.Sprintf("its next series begins at %d or above, and one that ends at %d is there, which the state has not counted", found.Next, last)
	if f.Class = FirstInsert; integerOf(row[1]) > 0 {
		f.Class = Later // the first INSERT gets numbers of a series (a range of integers) that another process has abandoned, so a later one fails
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
