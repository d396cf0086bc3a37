package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/bench/page"
)

// rows returns the rows of the first table between the markers of a command in a page,
// without its head: the cells of each, and the line that says when and where the figures
// were measured.
func rows(text, command string) (cells [][]string, measured string, err error) {
	begin, end := page.Marker(command)
	_, rest, ok := strings.Cut(text, begin)
	if !ok {
		return nil, "", fmt.Errorf("charts: the page has no figures of make %s", command)
	}
	rest, _, _ = strings.Cut(rest, end)
	head := 2 // a table of Markdown has two lines before its rows
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Measured "):
			measured = line
		case !strings.HasPrefix(line, "|"):
			if len(cells) > 0 {
				return cells, measured, nil
			}
		case head > 0:
			head--
		default:
			var row []string
			for _, cell := range strings.Split(strings.Trim(line, "|"), " | ") {
				row = append(row, strings.TrimSpace(cell))
			}
			cells = append(cells, row)
		}
	}
	if len(cells) == 0 {
		return nil, "", fmt.Errorf("charts: the figures of make %s are no table", command)
	}
	return cells, measured, nil
}

var (
	when = regexp.MustCompile(`^Measured (\d{4}-\d\d-\d\d)[^;]*; ([^,;]*), ([^,;]*), [^;]*; (go[0-9.]+);`)
	unit = regexp.MustCompile(`^([0-9.]+) ?(ns|s|MB|x)$`)
)

// where returns the day, the machine and the version of Go of figures, for a note.
func where(measured string) (string, error) {
	m := when.FindStringSubmatch(measured)
	if m == nil {
		return "", fmt.Errorf("charts: %q does not say when and where the figures were measured", measured)
	}
	machine := strings.NewReplacer("(R)", "", " Processor", "").Replace(m[2])
	return m[1] + ", " + machine + ", " + m[4], nil
}

// number returns the number of a cell such as 8.3 s.
func number(cell string) (float64, error) {
	m := unit.FindStringSubmatch(cell)
	if m == nil {
		return 0, fmt.Errorf("charts: %q is no figure", cell)
	}
	return strconv.ParseFloat(m[1], 64)
}
