package apps_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
)

// engine is an engine that runs here.
type engine struct {
	driver string
	server *testdb.Server // nil: it runs in the process
}

// engines are called as in the policy. The servers start when they are needed.
var engines = map[string]engine{
	"mariadb":  {"mysql", harness.MariaDB},
	"postgres": {"pgx", harness.PostgreSQL},
	"sqlite":   {"sqlite", nil},
}

// empty returns an empty database of an engine, and its DSN.
func (e engine) empty(t *testing.T) (db *sql.DB, dsn string) {
	t.Helper()
	// A # in the name of a test would end the name of the file.
	dsn = "file:" + strings.ReplaceAll(filepath.Join(t.TempDir(), "shop.db"), "#", "%23")
	if e.server != nil {
		dsn = e.server.DSN(e.server.Database(t, e.driver))
	}
	db, err := sql.Open(e.driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, dsn
}

// command is the command keyfill, which is built once.
var command struct {
	once         sync.Once
	folder, path string
	err          error
}

// builtCommand returns the path of the command.
func builtCommand(t *testing.T) string {
	t.Helper()
	command.once.Do(func() {
		if command.folder, command.err = os.MkdirTemp("", "keyfill-command-"); command.err != nil {
			return
		}
		command.path = filepath.Join(command.folder, "keyfill")
		build := exec.Command("go", "build", "-o", command.path, ".")
		build.Dir = filepath.Join(root, "cmd", "keyfill")
		build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			command.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if command.err != nil {
		t.Fatal(command.err)
	}
	return command.path
}

// TestStatements: every block of SQL is executed in an empty database of each engine that
// the words after its fence name.
func TestStatements(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	for _, b := range blocks(t, "sql") {
		if b.isOfRecipe() {
			continue
		}
		if len(b.marks) == 0 {
			t.Errorf("%s names no engine", b)
		}
		for _, name := range b.marks {
			t.Run(strings.ReplaceAll(b.String(), "/", "_")+"/"+name, func(t *testing.T) {
				e, ok := engines[name]
				if !ok {
					t.Fatalf("there is no engine %q here", name)
				}
				db, _ := e.empty(t)
				execute(t, db, b.text)
			})
		}
	}
}

// execute executes statements, each of which ends in a semicolon at the end of a line.
func execute(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	for _, statement := range strings.SplitAfter(text, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.Exec(statement); err != nil {
			t.Errorf("%v in\n%s", err, statement)
		}
	}
}
