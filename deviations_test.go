package keyfill_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const (
	deviationsPage = "docs/deviations.md"
	// mostUnpinned is how many lines may have no test. It only falls.
	mostUnpinned = 1
	// mostDeviationWords is how many words a line may use to say what differs.
	mostDeviationWords = 50
)

// deviation is a line of the page. The test that shows it declares it in its comment:
//
//	//deviation:section | what differs. | engines | example | what turns it off
//
// A line that no test can show here is declared by TestDeviations.
type deviation struct{ section, what, engines, example, turnedOff, test string }

// String returns the row of the table.
func (d deviation) String() string {
	return "| " + strings.Join([]string{d.what, d.engines, d.example, d.turnedOff, d.test}, " | ") + " |\n"
}

// rank sorts lines by their engines: first what all have.
func (d deviation) rank() int {
	order := []string{"all", "MySQL", "MariaDB", "PostgreSQL", "SQLite", "SQL Server", "Oracle"}
	for i, name := range order {
		if strings.HasPrefix(d.engines, name) {
			return i
		}
	}
	return len(order)
}

var (
	deviationBlock = regexp.MustCompile(`(?s)(<!-- deviations: ([a-z-]+) -->\n).*?(<!-- end -->)`)
	testFunction   = regexp.MustCompile(`^func (Test\w+)\(t \*testing\.T\)`)
)

// TestDeviations: the page has each line that a test declares, and no other one.
// go test -run TestDeviations . -update writes the lines.
//
//deviation:insert-select | An `INSERT … SELECT` with integer keys is refused with a `binlog_format` other than ROW where the server writes a log: replicas would number otherwise. | MySQL, MariaDB | `binlog_format = MIXED` | ROW
func TestDeviations(t *testing.T) {
	bySection := declaredDeviations(t)
	content, err := os.ReadFile(deviationsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, lines := string(content), 0
	want := deviationBlock.ReplaceAllStringFunc(page, func(block string) string {
		m := deviationBlock.FindStringSubmatch(block)
		all := bySection[m[2]]
		delete(bySection, m[2])
		lines += len(all)
		var b strings.Builder
		b.WriteString(m[1] + "| what | engine | example | switch | test |\n|---|---|---|---|---|\n")
		for _, d := range all {
			b.WriteString(d.String())
		}
		return b.String() + m[3]
	})
	for _, section := range slices.Sorted(maps.Keys(bySection)) {
		t.Errorf("%s has no part %q: write <!-- deviations: %s --> and <!-- end -->, or another section in the comment of %s",
			deviationsPage, section, section, bySection[section][0].test)
	}
	if lines < 250 {
		t.Fatalf("%d lines are found, want 250 or more: the test looks in the wrong place", lines)
	}
	if *update {
		if err := os.WriteFile(deviationsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		page = want
	}
	if page != want {
		t.Errorf("%s has not the lines that the tests declare: %s\nRun go test -run TestDeviations . -update, and review the diff",
			deviationsPage, firstDifference(want, page))
	}
}

// declaredDeviations returns the lines that tests declare, by section and sorted.
func declaredDeviations(t *testing.T) map[string][]deviation {
	t.Helper()
	bySection, seen, unpinned := map[string][]deviation{}, map[string]string{}, 0
	for _, name := range filesNamed(t, "_test.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var open []deviation
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			rest, declared := strings.CutPrefix(line, "//deviation:")
			if declared {
				d, err := parseDeviation(rest)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				open = append(open, d)
				continue
			}
			m := testFunction.FindStringSubmatch(line)
			if len(open) > 0 && m == nil {
				t.Errorf("%s: %q stands above no test", name, open[0].what)
			}
			for _, d := range open {
				if m == nil {
					break
				}
				if d.test = path.Dir(name) + " " + m[1]; d.test == ". TestDeviations" {
					d.test = "no test"
					unpinned++
				}
				if other := seen[d.what]; other != "" {
					t.Errorf("%s and %s declare the same line: %q", d.test, other, d.what)
				}
				seen[d.what] = d.test
				bySection[d.section] = append(bySection[d.section], d)
			}
			open = nil
		}
	}
	if unpinned > mostUnpinned {
		t.Errorf("%d lines have no test, want %d at most", unpinned, mostUnpinned)
	}
	for _, lines := range bySection {
		slices.SortFunc(lines, func(a, b deviation) int {
			return cmp.Or(a.rank()-b.rank(), strings.Compare(a.what, b.what), strings.Compare(a.test, b.test))
		})
	}
	return bySection
}

// parseDeviation reads a declaration without its first word.
func parseDeviation(text string) (d deviation, err error) {
	parts := strings.Split(text, " | ")
	if len(parts) != 5 || slices.Contains(parts, "") {
		return d, fmt.Errorf("%q has %d parts, want 5: section, what, engines, example, what turns it off", text, len(parts))
	}
	d = deviation{section: parts[0], what: parts[1], engines: parts[2], example: parts[3], turnedOff: parts[4]}
	first := []rune(d.what)[0]
	switch words := len(strings.Fields(d.what)); {
	case words > mostDeviationWords:
		return d, fmt.Errorf("%q has %d words, want %d at most: say it shorter, or in two lines", d.what, words, mostDeviationWords)
	case !strings.HasSuffix(d.what, "."), unicode.IsLower(first) && !strings.HasPrefix(d.what, "keyfill") && !strings.HasPrefix(d.what, "pgx"):
		return d, fmt.Errorf("%q is no sentence", d.what)
	}
	return d, nil
}
