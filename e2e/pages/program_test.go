package pages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestProgram: the whole program of docs/setup.md, with the page's policy and the table
// that the page makes, stores its row with a key of keyfill's.
func TestProgram(t *testing.T) {
	const page, address = "docs/setup.md", `"postgres://localhost/shop"`
	db, dsn := engines["postgres"].empty(t)
	w := newWorkspace(t)
	binary := filepath.Join(w.folder, "shop")
	for _, b := range blocksOf(t, page) {
		switch {
		case b.language == "sql":
			execute(t, db, b.text)
		case b.program():
			if !strings.Contains(b.text, address) {
				t.Fatalf("%s does not open %s", b, address)
			}
			w.add(b, strings.Replace(b.text, address, `"`+dsn+`"`, 1), 0)
			if out, err := w.goCommand("build", "-o", binary, "./block0"); err != nil {
				t.Fatalf("%s: %v\n%s", b, err, out)
			}
		}
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "keyfill.yaml"), []byte(policyOf(t, page).text), 0o644); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(binary)
	run.Dir = folder
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var id uuid.UUID
	var name string
	if err := db.QueryRow("SELECT id, name FROM customers").Scan(&id, &name); err != nil || name != "Ada" || id.Version() != 7 {
		t.Errorf("stored is %s %q, error %v, want Ada with a UUID of version 7", id, name, err)
	}
}
