package apps_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// changedCells is a row of the table in docs/numbers.md that says what a reader changes in the
// programs for another engine: the cells of SQLite, MariaDB and PostgreSQL.
var changedCells = regexp.MustCompile("(?m)^\\| `([^`]*)` \\| `([^`]*)` \\| `([^`]*)` \\|$")

// placeNumbers writes the programs of docs/numbers.md into the workspace, each for each
// engine: see recipe.place.
func placeNumbers(t *testing.T, w *workspace) []placed {
	t.Helper()
	const page = "docs/numbers.md"
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	cells := changedCells.FindAllStringSubmatch(string(text), -1)
	r := &recipe{page: page, numbers: true}
	var programs []string
	for _, b := range blocksOf(t, page) {
		switch {
		case b.program():
			programs = append(programs, b.text)
		case b.language == "sh":
			r.commands = b.text
		case b.has("output"):
			r.output = b.text
		}
	}
	if len(cells) != 5 || len(programs) != 2 {
		t.Fatalf("the page has %d programs, and %d changes for other engines, want 2 and 5", len(programs), len(cells))
	}
	var all []placed
	for i, program := range programs {
		for place, engine := range []string{"sqlite", "mariadb", "postgres"} {
			text := program
			for _, row := range cells {
				text = strings.ReplaceAll(text, row[1], row[1+place])
			}
			r.imports(t, text)
			one := placed{recipe: r, name: fmt.Sprintf("numbers%d_%s", i, engine), policy: policyOf(t, page).text}
			if engine != "sqlite" {
				if !strings.Contains(text, addresses[engine]) {
					t.Errorf("%s: the program for %s does not open %s", page, engine, addresses[engine])
				}
				var dsn string
				one.db, dsn = engines[engine].empty(t)
				text = strings.ReplaceAll(text, addresses[engine], dsn)
			}
			w.write("blocks/"+one.name+"/main.go", strings.Replace(text, "package main\n", "package "+one.name+"\n\n", 1)+"\nfunc Main() { main() }\n")
			all = append(all, one)
		}
	}
	return all
}

// compareNumbers compares what a program of docs/numbers.md prints in its first and its second
// run with the page, and with what is stored.
func (r *recipe) compareNumbers(t *testing.T, db *sql.DB, first, again string) {
	t.Helper()
	id := regexp.MustCompile(`(?m)^id ([0-9a-f-]{36})$`)
	line := regexp.MustCompile(`(?m)^(id|number) .*\n`) // GORM may print slow statements beside
	shown := func(text string) string {
		return id.ReplaceAllString(strings.Join(line.FindAllString(text, -1), ""), "id UUID")
	}
	if shown(first) != shown(r.output) {
		t.Errorf("the program prints\n%s\nand the page shows\n%s", first, r.output)
	}
	if second := strings.Replace(r.output, "00001", "00002", 1); shown(again) != shown(second) {
		t.Errorf("the second run prints\n%s, want\n%s", again, second)
	}
	ids := id.FindAllStringSubmatch(first+again, -1)
	if len(ids) != 2 {
		t.Fatalf("two runs print %d UUIDs", len(ids))
	}
	want := []string{ids[0][1] + " INV-2026-00001", ids[1][1] + " INV-2026-00002"}
	slices.Sort(want)
	if got := rowsOf(t, db, "SELECT id, number FROM invoices"); !slices.Equal(got, want) {
		t.Errorf("stored is %q, want %q", got, want)
	}
}
