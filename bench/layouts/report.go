package layouts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/bench/machine"
	"github.com/keyfill/keyfill/bench/page"
	"github.com/keyfill/keyfill/internal/measure"
)

// Report is the results of a run.
type Report struct {
	Machine  machine.Machine `json:"machine"`
	Versions []string        `json:"versions"`
	Rows     int             `json:"rows"`
	Results  []Result        `json:"results"`
}

// Compare fills in Times: the ratio to the engine's own keys, whose time is the mean of the
// times of their two tables.
func (r *Report) Compare() {
	own := map[string][]time.Duration{}
	for _, x := range r.Results {
		if x.Layout == measure.Own || x.Layout == measure.OwnAgain {
			own[x.Engine] = append(own[x.Engine], x.Took)
		}
	}
	for i, x := range r.Results {
		var sum time.Duration
		for _, took := range own[x.Engine] {
			sum += took
		}
		if sum > 0 {
			r.Results[i].Times = float64(x.Took) * float64(len(own[x.Engine])) / float64(sum)
		}
	}
}

// barred are the engines on which uuidv7 in 16 bytes may take at most mostV7 times the
// engine's own keys.
var barred = []string{"MariaDB", "PostgreSQL"}

const mostV7 = 1.2

// bar returns the limit that a result has to keep (its bar), and whether it does, as text.
func bar(x Result) string {
	switch {
	case x.Layout != measure.V7 || !slices.Contains(barred, x.Engine) || x.Times == 0:
		return ""
	case x.Times <= mostV7:
		return fmt.Sprintf("≤ %.1fx: met", mostV7)
	}
	return fmt.Sprintf("≤ %.1fx: not met", mostV7)
}

// Markdown returns the report as a part of a page.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s. %d rows a table.\n\n", r.Machine, r.Rows)
	if len(r.Versions) > 0 {
		fmt.Fprintf(&b, "%s.\n\n", strings.Join(r.Versions, "; "))
	}
	var rows [][]string
	for _, x := range r.Results {
		rows = append(rows, []string{
			x.Engine, x.Layout, seconds(x.Took), fmt.Sprintf("%.2fx", x.Times), seconds(x.First), seconds(x.Last),
			megabytes(x.Table), megabytes(x.Indexes), bar(x),
		})
	}
	b.WriteString(page.Table([]string{"engine", "key", "time", "of the engine's own", "first quarter", "last quarter",
		"table", "indexes beside it", "bar"}, rows))
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
func megabytes(n int64) string       { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }
