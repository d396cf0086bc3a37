package parsers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// remedies has what keyfill check would print for each engine; see TestRemedies of
// package check.
var remedies = filepath.Join("..", "..", "internal", "check", "testdata", "remedies.txtar")

// TestRemedies: the engines' parsers read each statement that keyfill check prints. Of
// SQL Server's this is all that is proved; for Oracle there is no parser.
func TestRemedies(t *testing.T) {
	text, err := os.ReadFile(remedies)
	if err != nil {
		t.Fatal(err)
	}
	count, dialect := map[string]int{}, ""
	for line := range strings.Lines(string(text)) {
		if name, isHead := strings.CutPrefix(strings.TrimSpace(line), "-- "); isHead {
			dialect = strings.TrimSuffix(name, " --")
			continue
		}
		rule, statement, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if _, run, isInText := strings.Cut(statement, ", run "); isInText {
			statement, _, _ = strings.Cut(run, ", and ")
			statement += ";"
		}
		if !strings.HasSuffix(statement, ";") && rule != "clock" || read[dialect] == nil {
			continue
		}
		t.Run(dialect+"/"+rule, func(t *testing.T) {
			skip(t, dialect)
			got, err := read[dialect](statement)
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			if len(got.Statements) != 1 {
				t.Errorf("%s is %d statements", statement, len(got.Statements))
			}
			count[dialect]++
		})
	}
	if count["mysql"] < 3 || count["sqlserver"] < 7 {
		t.Errorf("the statements that were read: %v", count)
	}
}
