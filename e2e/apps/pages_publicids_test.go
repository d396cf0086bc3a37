package apps_test

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/publicid"
)

// pageCustomer is the type of the ids that the program of docs/publicids.md prints.
type pageCustomer struct{}

func (pageCustomer) Prefix() string { return "cus" }

// TestPublicIDsPage follows the instructions of docs/publicids.md in an empty folder. The
// program prints what the page shows, with ids of its own.
func TestPublicIDsPage(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "docs/publicids.md", "publicid/", "keysource/", "internal/typeid/", "e2e/apps/")
	folder := t.TempDir()
	commands, shown, policies := "", "", 0
	for _, b := range blocksOf(t, "docs/publicids.md") {
		switch {
		case b.language == "yaml":
			if policies++; policies == 1 { // the later ones are of other sections
				write(t, folder, "keyfill.yaml", b.text)
			}
		case b.program():
			write(t, folder, "main.go", b.text)
		case strings.HasPrefix(b.text, "go mod "):
			commands = b.text
		case b.has("output"):
			shown = b.text
		}
	}
	printed := run(t, folder, commands)

	form := regexp.MustCompile(`cus_[0-9a-z]{26}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|/orders/[1-9A-HJ-NP-Za-km-z]{12}`)
	ids := form.FindAllString(printed, -1)
	if len(ids) != 3 || form.ReplaceAllString(printed, "ID") != form.ReplaceAllString(shown, "ID") {
		t.Fatalf("the program prints\n%s\nand the page shows\n%s", printed, shown)
	}
	id, err := publicid.Parse[pageCustomer](ids[0])
	if err != nil || id.UUID().Version() != 7 {
		t.Errorf("the customer's id %s is of version %d, error %v", ids[0], id.UUID().Version(), err)
	}
	if masked, err := uuid.Parse(ids[1]); err != nil || masked.Version() != 4 || masked == id.UUID() {
		t.Errorf("the masked id is %v, error %v", masked, err)
	}
	db, err := sql.Open("sqlite", filepath.Join(folder, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := rowsOf(t, db, "SELECT id, name FROM customers"); len(got) != 1 || got[0] != ids[0]+" Ada" {
		t.Errorf("stored is %q, want %s", got, ids[0])
	}
}
