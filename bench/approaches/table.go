package approaches

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/keyfill/keyfill/internal/measure"
)

// Table holds the results of one form of transactions on one engine.
type Table struct {
	Heading     string
	Connections []int // the numbers of connections of the cells, ascending
	rows        []row
}

// row holds the results of a method, in the order of Table.Connections.
type row struct {
	method  measure.Method
	results []Result
}

// Add adds the results of a method, one for each number of connections.
func (t *Table) Add(m measure.Method, results []Result) { t.rows = append(t.rows, row{m, results}) }

// rates returns the rows a second of a method; false if it was not measured.
func (t *Table) rates(method string) ([]float64, bool) {
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.method.Name == method })
	if i < 0 {
		return nil, false
	}
	return t.rows[i].rates(), true
}

func (r row) rates() []float64 {
	var rates []float64
	for _, one := range r.results {
		rates = append(rates, one.Rate)
	}
	return rates
}

// Print writes the table: rows a second, how many statements the engine has ended with an
// error, and where the lines of two methods cross.
func (t *Table) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s\n", t.Heading, strings.Repeat("=", len([]rune(t.Heading))))
	t.printRates(&b)
	t.printEnds(&b)
	t.printCrossings(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) printRates(b *strings.Builder) {
	fmt.Fprintf(b, "\nrows a second (times those of %s)\n", plural(t.Connections[0]))
	columns := newColumns(b)
	columns.line("", t.heads()...)
	for _, r := range t.rows {
		var cells []string
		for _, one := range r.results {
			cell := fmt.Sprintf("%.0f", one.Rate)
			if first := r.results[0].Rate; first > 0 {
				cell += fmt.Sprintf(" (%.2f)", one.Rate/first)
			}
			cells = append(cells, cell)
		}
		columns.line(r.method.Title, cells...)
	}
	columns.flush()
}

func (t *Table) heads() []string {
	var heads []string
	for _, n := range t.Connections {
		heads = append(heads, fmt.Sprint(n))
	}
	return heads
}

func (t *Table) printEnds(b *strings.Builder) {
	b.WriteString("\nended by the engine: deadlocks/lock timeouts/serialization failures/duplicate keys (of these the caller saw)\n")
	columns := newColumns(b)
	var none []string
	for _, r := range t.rows {
		var cells []string
		any := false
		for _, one := range r.results {
			cells = append(cells, fmt.Sprintf("%v (%d)", one.Ends, one.Refused))
			any = any || one.Ends != Tally{} || one.Refused > 0
		}
		if !any {
			none = append(none, r.method.Title)
			continue
		}
		if columns.lines == 0 {
			columns.line("", t.heads()...)
		}
		columns.line(r.method.Title, cells...)
	}
	columns.flush()
	if none != nil {
		fmt.Fprintf(b, "none: %s\n", strings.Join(none, "; "))
	}
}

// printCrossings compares every method with the methods of the monotonic
// approach.
func (t *Table) printCrossings(b *strings.Builder) {
	monotonic := []string{measure.Joined, measure.MaxRange, measure.Identity}
	var heads []string
	var lines [][]float64
	for _, name := range monotonic {
		if line, ok := t.rates(name); ok {
			i := slices.IndexFunc(t.rows, func(r row) bool { return r.method.Name == name })
			heads, lines = append(heads, t.rows[i].method.Title), append(lines, line)
		}
	}
	if lines == nil || len(t.Connections) < 2 {
		return
	}
	b.WriteString("\nwhere the lines cross: with how many connections a method is ahead of\n")
	columns := newColumns(b)
	columns.line("", heads...)
	for _, r := range t.rows {
		if slices.Contains(monotonic, r.method.Name) {
			continue
		}
		var cells []string
		for _, line := range lines {
			cells = append(cells, describe(t.Connections, r.rates(), line))
		}
		columns.line(r.method.Title, cells...)
	}
	columns.flush()
}

func plural(connections int) string {
	if connections == 1 {
		return "one connection"
	}
	return fmt.Sprintf("%d connections", connections)
}

// columns writes lines in aligned columns.
type columns struct {
	w     *tabwriter.Writer
	lines int
}

func newColumns(w io.Writer) *columns {
	return &columns{w: tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)}
}

// line writes a line into memory, which never fails.
func (c *columns) line(first string, cells ...string) {
	c.lines++
	_, _ = fmt.Fprintln(c.w, strings.Join(append([]string{first}, cells...), "\t"))
}

func (c *columns) flush() { _ = c.w.Flush() }
