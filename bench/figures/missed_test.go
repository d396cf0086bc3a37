package figures_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMissedBars: each bar that docs/performance.md calls not met has a row in the
// section "Bars that are hard to meet", and a profile that shows where the time goes. The
// size of a program has a table by package instead of a profile.
func TestMissedBars(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../docs/performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	tables, hard, found := strings.Cut(string(text), "\n## Bars that are hard to meet\n")
	if !found {
		t.Fatal("docs/performance.md has no section of the bars that are hard to meet")
	}
	missed := 0
	for line := range strings.Lines(tables) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasSuffix(strings.TrimSpace(cells[len(cells)-1]), "not met") {
			continue
		}
		missed++
		name, profile := missedBar(cells)
		if !slices.ContainsFunc(firstCells(hard), func(cell string) bool { return hasWords(cell, name) }) {
			t.Errorf("%q misses its bar and has no row in \"Bars that are hard to meet\"", name)
		}
		if profile != "" && !strings.Contains(tables, "\n**"+profile+"**: ") {
			t.Errorf("%q misses its bar and has no profile %q: give \"make profiles\" the way", name, profile)
		}
	}
	if missed == 0 {
		t.Error("no bar is missed: is the text of the last column another one?")
	}
}

// missedBar returns what a row of the first table or of the table of layouts measures,
// and the head of its profile, which may be empty.
func missedBar(cells []string) (name, profile string) {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if strings.HasPrefix(cells[len(cells)-1], "≤ ") { // the bar stands in the last column
		return "2,000,000 rows, v7", cells[0] + ", " + cells[1] + ", a row of 500 in a statement"
	}
	name, _, _ = strings.Cut(cells[0], ": ")
	if strings.HasPrefix(name, "program with ") {
		return name, ""
	}
	profile = strings.TrimSuffix(strings.TrimSuffix(name, ", times as fast"), ", 1 connection")
	return profile, profile
}

// firstCells returns the first cell of each row of the tables in a text.
func firstCells(text string) (cells []string) {
	for line := range strings.Lines(text) {
		if row, isRow := strings.CutPrefix(line, "| "); isRow {
			cell, _, _ := strings.Cut(row, " | ")
			cells = append(cells, cell)
		}
	}
	return cells
}

// aside are words that distinguish variants of one bar, which have one row.
var aside = regexp.MustCompile(`, (seen before|unseen|interpolateParams|[0-9]+ connections?|a key)`)

// hasWords reports whether a cell has all words of a name.
func hasWords(cell, name string) bool {
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,:;", r) })
	}
	all := split(cell)
	return !slices.ContainsFunc(split(aside.ReplaceAllString(name, "")), func(word string) bool { return !slices.Contains(all, word) })
}
