package apps_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/publicid"
)

// pageCustomer is the type of the ids that the program of docs/publicids.md prints.
type pageCustomer struct{}

func (pageCustomer) Prefix() string { return "cus" }

// TestPublicIDsPage follows the instructions of docs/publicids.md in an empty folder: each
// program, with the changes for each engine. It prints what the page shows, with ids of its
// own.
func TestPublicIDsPage(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "docs/publicids.md", "publicid/", "keyfillgorm/", "keysource/", "internal/typeid/", "e2e/apps/")
	const page = "docs/publicids.md"
	r := &recipe{page: page}
	var programs []string
	for _, b := range blocksOf(t, page) {
		switch {
		case b.program():
			programs = append(programs, b.text)
		case strings.HasPrefix(b.text, "go mod "):
			r.commands = b.text
		case b.has("output"):
			r.output = b.text
		}
	}
	whole, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	cells := changedCells.FindAllStringSubmatch(string(whole), -1)
	if len(cells) != 8 || len(programs) != 2 {
		t.Fatalf("the page has %d programs, and %d changes for other engines, want 2 and 8", len(programs), len(cells))
	}
	for i, program := range programs {
		for place, engine := range []string{"sqlite", "mariadb", "postgres"} {
			if !testturn.Of(t, 3*i+place, 6) {
				continue
			}
			t.Run(strconv.Itoa(i)+"/"+engine, func(t *testing.T) {
				text := program
				for _, row := range cells {
					text = strings.ReplaceAll(text, row[1], row[1+place])
				}
				r.imports(t, text)
				if !strings.Contains(text, addresses[engine]) {
					t.Errorf("the program does not open %s", addresses[engine])
				}
				db, dsn := engines[engine].empty(t)
				folder := t.TempDir()
				write(t, folder, "keyfill.yaml", policyOf(t, page).text+"store_wait: 1m\n") // for a busy machine
				write(t, folder, "main.go", strings.ReplaceAll(text, addresses[engine], dsn))
				comparePublicIDs(t, db, run(t, folder, r.commands), r.output)
			})
		}
	}
}

// comparePublicIDs compares what a program prints with what the page shows, and its ids with
// the stored row.
func comparePublicIDs(t *testing.T, db *sql.DB, printed, shown string) {
	t.Helper()
	form := regexp.MustCompile(`cus_[0-9a-z]{26}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|/orders/[1-9A-HJ-NP-Za-km-z]{12}`)
	ids := form.FindAllString(printed, -1)
	if len(ids) != 3 || !strings.HasSuffix(form.ReplaceAllString(printed, "ID"), form.ReplaceAllString(shown, "ID")) { // GORM may print slow statements before
		t.Fatalf("the program prints\n%s\nand the page shows\n%s", printed, shown)
	}
	id, err := publicid.Parse[pageCustomer](ids[0])
	if err != nil || id.UUID().Version() != 7 {
		t.Errorf("the customer's id %s is of version %d, error %v", ids[0], id.UUID().Version(), err)
	}
	if masked, err := uuid.Parse(ids[1]); err != nil || masked.Version() != 4 || masked == id.UUID() {
		t.Errorf("the masked id is %v, error %v", masked, err)
	}
	if got := rowsOf(t, db, "SELECT id, name FROM customers"); len(got) != 1 || got[0] != ids[0]+" Ada" {
		t.Errorf("stored is %q, want %s", got, ids[0])
	}
}
