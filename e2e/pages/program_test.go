package pages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestProgram does what docs/setup.md tells a new user: the program, the policy and the
// table are written, go.mod points to a clone of the repository, and the program is built
// and run. It stores its row with a key of keyfill's.
func TestProgram(t *testing.T) {
	const page, address = "docs/setup.md", `"postgres://localhost/shop"`
	db, dsn := engines["postgres"].empty(t)
	folder := newModule(t)
	commands := ""
	for _, b := range blocksOf(t, page) {
		switch {
		case b.language == "sql":
			execute(t, db, b.text)
		case b.program():
			if !strings.Contains(b.text, address) {
				t.Fatalf("%s does not open %s", b, address)
			}
			write(t, folder, "main.go", strings.Replace(b.text, address, `"`+dsn+`"`, 1))
		case strings.HasPrefix(b.text, "go mod "):
			commands += b.text
		}
	}
	write(t, folder, "keyfill.yaml", policyOf(t, page).text)
	for _, one := range []string{"go mod init example.com/shop", commands, "go build -o shop .", "./shop"} {
		command := exec.Command("sh", "-e", "-c", one)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", one, err, out)
		}
	}
	var id uuid.UUID
	var name string
	if err := db.QueryRow("SELECT id, name FROM customers").Scan(&id, &name); err != nil || name != "Ada" || id.Version() != 7 {
		t.Errorf("stored is %s %q, error %v, want Ada with a UUID of version 7", id, name, err)
	}
}

// newModule returns an empty folder beside a clone of the repository, which is called
// keyfill.
func newModule(t *testing.T) string {
	t.Helper()
	clone, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	if err := os.Symlink(clone, filepath.Join(parent, "keyfill")); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(parent, "shop")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// write writes a file of a folder.
func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
