package suites_test

import (
	"testing"

	"github.com/keyfill/keyfill/suites"
	"github.com/keyfill/keyfill/suites/filled"
)

func TestRow(t *testing.T) {
	s, err := suites.Parse("least", []byte(least))
	if err != nil {
		t.Fatal(err)
	}
	plain := outcome(t, result("TestA", "pass"), result("TestB", "fail"), result("TestC", "pass"))
	after := outcome(t, result("TestA", "fail"), result("TestB", "pass"), result("TestC", "skip"))
	row := suites.Row{Suite: s, Run: s.Runs[0], Policy: suites.Policies[0], Plain: plain, Filled: after,
		Counts: filled.Counts{Filled: 5, Refused: 1, Others: 3}, Comparison: suites.Compare(plain, after)}
	if got, want := row.String(), "| least | v1.2.3 | PostgreSQL, pgx | sequence | 2 | 5 | 1 | 1 | TestA | TestB, TestC |\n"; got != want {
		t.Errorf("the row is %q, want %q", got, want)
	}
	row = suites.Row{Suite: s, Run: s.Runs[1], Policy: suites.Policies[2], Plain: plain}
	if got, want := row.String(), "| least | v1.2.3 | SQLite, sqlite3 | uuidv7 | not run: there is no key of text | – | – | 1 | – | – |\n"; got != want {
		t.Errorf("the row is %q, want %q", got, want)
	}
}
