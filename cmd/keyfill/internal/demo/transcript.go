package demo

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
)

// labelWidth is the width of the labels of a transcript.
const labelWidth = 10

// printPerformed prints a statement as the application wrote it, as it was sent, and the
// rows that it returned and stored.
func printPerformed(w *bufio.Writer, number int, p performed) {
	fmt.Fprintf(w, "%d. %s\n\n", number, p.title)
	block(w, "written", messageLines(message{p.query, p.args}, p.rows))
	for _, m := range p.sent {
		block(w, "sent", messageLines(m, p.rows))
	}
	if len(p.sent) == 0 {
		block(w, "sent", []string{"nothing"})
	}
	if p.refusal != nil {
		block(w, "error", terminal.Wrap(p.refusal.Error(), terminal.LineWidth-labelWidth))
	}
	if p.returned != nil {
		block(w, "returned", tableLines(p.returned))
	}
	if len(p.stored.rows) == 0 {
		block(w, "stored", []string{"nothing"})
		return
	}
	block(w, "stored", tableLines(p.stored))
}

// block prints lines beside a label.
func block(w *bufio.Writer, label string, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%*s  %s", labelWidth, label, line), " "))
		label = ""
	}
}

// messageLines returns the text of a statement, and its arguments with a line
// for each row.
func messageLines(m message, rows int) []string {
	lines := []string{m.query}
	if len(m.args) == 0 {
		return lines
	}
	for row := range slices.Chunk(m.args, max(len(m.args)/max(rows, 1), 1)) {
		var values []string
		for _, v := range row {
			values = append(values, literal(v))
		}
		lines = append(lines, "  "+strings.Join(values, ", "))
	}
	return lines
}

// tableLines returns the rows as lines of text, in aligned columns below the columns'
// names.
func tableLines(t *table) []string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(t.columns, "\t"))
	for _, row := range t.rows {
		var cells []string
		for _, v := range row {
			cells = append(cells, literal(v))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // into memory
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
