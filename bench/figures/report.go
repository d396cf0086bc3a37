package figures

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/bench/machine"
	"github.com/keyfill/keyfill/bench/page"
)

// Run says how much is measured.
type Run struct {
	Rounds int            // the number of rounds of each figure
	Share  float64        // the part of the repetitions of each turn that is executed; 1 means all
	Only   *regexp.Regexp // the groups that are measured; nil means all groups
}

// times returns how many of n repetitions a turn executes, at least one.
func (r Run) times(n int) int { return max(1, int(float64(n)*r.Share)) }

// Wants reports whether a group is measured.
func (r Run) Wants(group string) bool { return r.Only == nil || r.Only.MatchString(group) }

// Report holds the figures of a run.
type Report struct {
	Machine  machine.Machine `json:"machine"`
	Versions []string        `json:"versions"` // the versions of the engines and rivals (programs compared with)
	Rounds   int             `json:"rounds"`
	Figures  []Figure        `json:"figures"`
	Sizes    []PackageSize   `json:"sizes,omitempty"`
	Locks    []Lock          `json:"locks,omitempty"`
}

// Add adds the figures of a group.
func (r *Report) Add(group string, figures []Figure) {
	for _, f := range figures {
		f.Group = group
		f.Verdict = f.Bar.verdict(f.Unit, f.Value)
		r.Figures = append(r.Figures, f)
	}
}

// rivalModules are the modules that figures are measured against.
var rivalModules = []string{
	"github.com/ngrok/sqlmw", "github.com/google/uuid", "github.com/oklog/ulid/v2", "github.com/pingcap/tidb/pkg/parser",
	"github.com/jackc/pgx/v5", "github.com/go-sql-driver/mysql", "modernc.org/sqlite",
}

// AddVersions adds the versions of the rivals (programs compared with) and the drivers; it
// asks the go command, since a test binary does not contain them.
func (r *Report) AddVersions() error {
	slices.Sort(r.Versions)
	r.Versions = slices.Compact(r.Versions)
	out, err := run(".", "go", append([]string{"list", "-m"}, rivalModules...)...)
	r.Versions = append(r.Versions, strings.FieldsFunc(out, func(c rune) bool { return c == '\n' })...)
	return err
}

// Markdown returns the report as a part of a page.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s. %d rounds a figure, %d on an engine.\n\n", r.Machine, r.Rounds, moreRounds*r.Rounds)
	if len(r.Versions) > 0 {
		fmt.Fprintf(&b, "%s.\n\n", strings.Join(r.Versions, "; "))
	}
	var rows [][]string
	for _, f := range r.Figures {
		rows = append(rows, f.cells())
	}
	b.WriteString(page.Table([]string{"what", "against", "bar", "figure", "95 % of it", "A/A", "bar met"}, rows))
	if len(r.Sizes) > 0 {
		b.WriteString("\nWhere the program with keyfill is larger, by package:\n\n")
		rows = nil
		for _, s := range r.Sizes {
			rows = append(rows, []string{"`" + s.Package + "`", fmt.Sprintf("%d kB", s.Bytes/1000)})
		}
		b.WriteString(page.Table([]string{"package", "more"}, rows))
	}
	if len(r.Locks) > 0 {
		b.WriteString("\nWhere 64 goroutines wait for each other, by the function that waits:\n\n")
		rows = nil
		for _, l := range r.Locks {
			rows = append(rows, []string{l.Keys, "`" + l.Function + "`", fmt.Sprintf("%.1f %%", 100*l.Share), fmt.Sprintf("%.2f", l.Waits)})
		}
		b.WriteString(page.Table([]string{"keys", "function", "share of the time", "waits in 1,000 fills"}, rows))
	}
	return b.String()
}

// Unmet returns the figures that do not keep their bars (required limits).
func (r *Report) Unmet() []Figure {
	return slices.DeleteFunc(slices.Clone(r.Figures), func(f Figure) bool { return f.Verdict != notMet })
}
