package parsers_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/judge/tree"
)

// storeTexts are the golden files with what a store sends: some of it to engines
// that no test here can run.
const storeTexts = "../../internal/store/"

// TestStoreTexts: what a store sends is a statement to a parser that others wrote,
// but for procedures, of which TiDB's knows little.
func TestStoreTexts(t *testing.T) {
	for _, name := range []string{"mysql", "postgres"} {
		t.Run(name, func(t *testing.T) {
			skip(t, name)
			own, err := filepath.Glob(storeTexts + "testdata/*" + name + ".txtar")
			below, belowErr := filepath.Glob(storeTexts + "*/testdata/*" + name + ".txtar")
			files := append(own, below...)
			if err != nil || belowErr != nil || len(files) < 4 {
				t.Fatalf("%d files, %v, %v", len(files), err, belowErr)
			}
			seen := 0
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range runsIn(string(text)) {
					seen += statementsIn(run)
					if err := readAll(read[name], run); err != nil {
						t.Errorf("%s: %v in\n%s", file, err, strings.Join(run, "\n"))
					}
				}
			}
			if seen < 100 {
				t.Errorf("%d statements: this test does not read the files rightly", seen)
			}
		})
	}
}

var (
	// between are the lines of a golden file that are no part of a statement.
	between = regexp.MustCompile(`^(-- .* --|  .* = .*|  .*|connect|begin|commit|rollback|savepoint.*|error: .*|)$`)
	// opens are those that a statement may begin with.
	opens = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|CREATE TABLE|SET|CALL) `)
)

// runsIn returns the lines of the file that follow one another without anything
// in between: a statement or more each.
func runsIn(text string) [][]string {
	_, text, _ = strings.Cut(text, "\n-- ")
	var runs [][]string
	var run []string
	for _, line := range strings.Split("-- "+text, "\n") {
		if !between.MatchString(line) {
			run = append(run, line)
			continue
		}
		if len(run) > 0 && opens.MatchString(run[0]) {
			runs = append(runs, run)
		}
		run = nil
	}
	return runs
}

// statementsIn returns how many of the lines begin a statement.
func statementsIn(run []string) (n int) {
	for _, line := range run {
		if opens.MatchString(line) {
			n++
		}
	}
	return n
}

// readAll returns nil when the lines are statements, one after the other.
func readAll(parse func(string) (*tree.Text, error), lines []string) error {
	_, err := parse(strings.Join(lines, "\n"))
	for i := 1; err != nil && i < len(lines); i++ {
		if !opens.MatchString(lines[i]) {
			continue
		}
		if _, first := parse(strings.Join(lines[:i], "\n")); first != nil {
			continue
		}
		if readAll(parse, lines[i:]) == nil {
			return nil
		}
	}
	return err
}
