package apps_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

// shownKeys are the keys of docs/performance.md that docs/sources.md shows, with the
// sources that make them.
var shownKeys = []struct{ key, source string }{
	{"the engine's own", "the engine's own"},
	{"block", "`sequence`"},
	{"snowflake", "`snowflake`"},
	{"uuidv7, 16 bytes", "`uuidv7`, 16 bytes"},
	{"uuidv7, text", "`uuidv7`, text"},
	{"uuidv4, 16 bytes", "`uuidv4`, 16 bytes"},
	{"coprime of 6", "`coprime`, `length: 6`"},
}

// TestFigures: docs/sources.md shows the figures that docs/performance.md has.
func TestFigures(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	const begin, end = "<!-- figures: cd e2e && go test -run TestFigures ./apps -update -->\n", "<!-- end of figures -->"
	shown, want := sectionOf(t, "sources.md", begin, end), figures(t)
	if *harness.UpdateDocs {
		shown.write(t, want)
		return
	}
	if shown.text != want {
		t.Errorf("%s has the figures\n%s\nwant\n%s", shown.page, shown.text, want)
	}
}

// figures returns the table for docs/sources.md.
func figures(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, measured, found := strings.Cut(string(text), "<!-- layouts: make layouts -->\n")
	if !found {
		t.Fatal("docs/performance.md has no layouts")
	}
	engines := []string{"PostgreSQL", "MariaDB", "SQLite"}
	cells := map[string]string{}
	for line := range strings.Lines(measured) {
		row := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(row) < 8 {
			continue
		}
		ratio, size := row[3], megabytes(t, row[6])+megabytes(t, row[7])
		if row[1] == "the engine's own" {
			ratio = "1x"
		}
		cells[row[0]+row[1]] = fmt.Sprintf("%s, %d MB", ratio, size)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| keys | %s |\n|---|---|---|---|\n", strings.Join(engines, " | "))
	for _, k := range shownKeys {
		fmt.Fprintf(&b, "| %s |", k.source)
		for _, engine := range engines {
			cell := cells[engine+k.key]
			if cell == "" {
				t.Errorf("docs/performance.md has no %s on %s", k.key, engine)
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// megabytes returns the number in a cell such as "298 MB"; 0 for the head of the table.
func megabytes(t *testing.T, cell string) int {
	t.Helper()
	number, found := strings.CutSuffix(cell, " MB")
	if !found {
		return 0
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
