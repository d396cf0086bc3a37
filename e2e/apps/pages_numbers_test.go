package apps_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// storedNumber is a row of the table in docs/numbers.md: an INSERT, the table that it names,
// and the number that it stores.
var storedNumber = regexp.MustCompile("(?m)^\\| `(INSERT INTO (\\w+) [^`]*)` \\| `([^`]*)` \\|$")

// TestNumbersPage: the INSERTs of docs/numbers.md store the numbers that the page says, with
// its policy and its tables, on each engine.
func TestNumbersPage(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "docs/", "policy/", "internal/", "e2e/apps/")
	const page = "docs/numbers.md"
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	rows := storedNumber.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 7 {
		t.Fatalf("the page has %d INSERTs with their numbers, want 7 or more", len(rows))
	}
	for name, e := range engines {
		t.Run(name, func(t *testing.T) {
			raw, dsn := e.empty(t)
			for _, b := range blocksOf(t, page) {
				if b.language == "sql" && slices.Contains(b.marks, name) {
					execute(t, raw, b.text)
				}
			}
			cfg, err := policy.Parse([]byte(policyOf(t, page).text))
			if err != nil {
				t.Fatal(err)
			}
			db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, e.driver, dsn), keyfill.Options{Policy: cfg})
			for _, row := range rows {
				if _, err := db.Exec(row[1]); err != nil {
					t.Errorf("%s: %v", row[1], err)
					continue
				}
				var n int
				if err := raw.QueryRow("SELECT COUNT(*) FROM " + row[2] + " WHERE number = '" + row[3] + "'").Scan(&n); err != nil || n != 1 {
					t.Errorf("%s: %d rows have the number %s, %v", row[1], n, row[3], err)
				}
			}
		})
	}
}
