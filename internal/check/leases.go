package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// nowIn is the server's time as keyfill's tables hold it, by family.
var nowIn = map[dialect.Family]string{
	dialect.FamilyMySQL:      "UTC_TIMESTAMP(6)",
	dialect.FamilyPostgreSQL: "clock_timestamp()",
	dialect.FamilySQLite:     "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
}

// lookAtLeases adds a finding that lists the holder of each series and worker's number,
// and the leases that have run out with numbers left.
func (c *checker) lookAtLeases() error {
	leased := func(src policy.Source) bool { return src.Kind == policy.KindRecycled || src.WorkerLease > 0 }
	now := nowIn[c.d.Family]
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

// clockIn asks for the server's time in milliseconds since 1970, by family.
var clockIn = map[dialect.Family]string{
	dialect.FamilyMySQL:      "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
	dialect.FamilyPostgreSQL: "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)",
	dialect.FamilySQLServer:  "SELECT DATEDIFF_BIG(millisecond, '1970-01-01', SYSUTCDATETIME())",
}

// maxSkew is how far the clocks may be apart.
const maxSkew = 2 * time.Second

// lookAtClock compares the server's clock with the clock of this process.
func (c *checker) lookAtClock() error {
	query := clockIn[c.d.Family]
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
