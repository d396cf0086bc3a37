package apps_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/internal/testturn"
)

// TestProgram follows the instructions of docs/setup.md: the program, the policy and the
// table are written, go.mod points to a clone of the repository, and the program is built
// and run. It stores its row with a key of keyfill's.
func TestProgram(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	const page, address = "docs/setup.md", `"postgres://localhost/shop"`
	db, dsn := engines["postgres"].empty(t)
	folder := t.TempDir()
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
	run(t, folder, "go mod init example.com/shop", commands, "go build -o shop .", "./shop")
	var id uuid.UUID
	var name string
	if err := db.QueryRow("SELECT id, name FROM customers").Scan(&id, &name); err != nil || name != "Ada" || id.Version() != 7 {
		t.Errorf("stored is %s %q, error %v, want Ada with a UUID of version 7", id, name, err)
	}
}

// TestEmptyFolder follows the instructions of the page about database/sql, command by
// command. The programs of the other pages are built in one module: see TestFrameworks.
func TestEmptyFolder(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	r := recipeOf(t, frameworks+"database-sql.md")
	folder := t.TempDir()
	for name, text := range r.files {
		write(t, folder, name, text)
	}
	printed := run(t, folder, r.commands)
	db, err := sql.Open("sqlite", filepath.Join(folder, "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r.compare(t, db, printed)
}

// run runs commands in a folder, each of which must succeed, and returns the standard output
// of the last one. The log of a program goes to its standard error. The clone is this
// repository where it is: of a folder with another name go would compile all of it again.
// SQLite is the version of e2e, which is compiled already, and not the oldest one.
func run(t *testing.T, folder string, commands ...string) string {
	t.Helper()
	clone, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("=../keyfill", "="+clone,
		"go mod tidy", "go mod edit -require=modernc.org/sqlite@"+requires(t, "e2e")["modernc.org/sqlite"]+" && go mod tidy")
	last := ""
	for _, one := range commands {
		command := exec.Command("sh", "-e", "-c", here.Replace(one))
		command.Dir = folder
		command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		var told strings.Builder
		command.Stderr = &told
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", one, err, out, &told)
		}
		last = string(out)
	}
	return last
}

// write writes a file of a folder.
func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
