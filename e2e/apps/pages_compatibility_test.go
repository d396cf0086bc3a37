package apps_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"

	_ "github.com/lib/pq"
	_ "github.com/mattn/go-sqlite3"
)

// testedDriver is a driver of a blank import, with the engine on which the tests run it: a name
// of engines, or none.
type testedDriver struct {
	folder, module, driver string
	engine                 string
}

var testedDrivers = []testedDriver{
	{"auto/mysql", "github.com/go-sql-driver/mysql", "mysql", "mariadb"},
	{"auto/pgx", "github.com/jackc/pgx/v5", "pgx", "postgres"},
	{"auto/postgres", "github.com/lib/pq", "postgres", "postgres"},
	{"auto/sqlite", "modernc.org/sqlite", "sqlite", "sqlite"},
	{"auto/sqlite3", "github.com/mattn/go-sqlite3", "sqlite3", "sqlite"},
	{"auto/sqlserver", "github.com/microsoft/go-mssqldb", "sqlserver", ""},
	{"auto/oracle", "github.com/sijms/go-ora/v2", "oracle", ""},
}

// testedEngines are how an engine is called, how it is asked for its version, and what of
// the answer the page shows.
var testedEngines = map[string]struct {
	name, ask string
	shown     *regexp.Regexp
}{
	"mariadb":  {"MariaDB", "SELECT VERSION()", regexp.MustCompile(`^\d+\.\d+`)},
	"postgres": {"PostgreSQL", "SHOW server_version", regexp.MustCompile(`^\d+`)},
	"sqlite":   {"SQLite", "SELECT sqlite_version()", regexp.MustCompile(`^\d+\.\d+\.\d+$`)},
}

// examplesOwn are modules of examples that are no library with which keyfill is used.
var examplesOwn = []string{"github.com/google/uuid", "github.com/jackc/pgx/v5"}

// TestCompatibility: docs/compatibility.md has the versions of drivers and libraries in
// the go.mod files, and of the engines that answer here. A server of another series than
// the page's is logged; it is an error if KEYFILL_COMPATIBILITY=1, which "make tag" sets.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	const begin, end = "<!-- compatibility: cd e2e && go test -run TestCompatibility ./apps -update -->\n", "<!-- end of compatibility -->"
	shown := sectionOf(t, "compatibility.md", begin, end)
	versions := map[string]string{}
	for _, d := range testedDrivers {
		if d.engine != "" {
			versions[d.driver] = engineVersion(t, d)
		}
	}
	want := compatibility(t, versions)
	t.Logf("the tests run here with\n%s", want)
	switch {
	case shown.text == want:
	case *harness.UpdateDocs:
		shown.write(t, want)
	case os.Getenv("KEYFILL_COMPATIBILITY") != "1" && shown.text == compatibility(t, withServersOf(shown.text, versions)):
		t.Logf("%s names servers of other series", shown.page)
	default:
		t.Errorf("%s has\n%s\nwant\n%s\nRun the command above the table", shown.page, shown.text, want)
	}
}

// engineVersion asks the engine of a driver, which starts if it is a server.
func engineVersion(t *testing.T, d testedDriver) string {
	t.Helper()
	e := testedEngines[d.engine]
	dsn := filepath.Join(t.TempDir(), "version.db")
	if server := engines[d.engine].server; server != nil {
		server.Need(t)
		dsn = server.DSN("")
	}
	db, err := sql.Open(d.driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var answer string
	if err := db.QueryRow(e.ask).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	version := e.shown.FindString(answer)
	if version == "" {
		t.Fatalf("%s answers with the version %q", e.name, answer)
	}
	return e.name + " " + version
}

// withServersOf returns the versions with a table's for the servers. An engine in the
// process has the version of its driver.
func withServersOf(table string, versions map[string]string) map[string]string {
	all := map[string]string{}
	for _, d := range testedDrivers {
		all[d.driver] = versions[d.driver]
		if engines[d.engine].server == nil {
			continue
		}
		e := testedEngines[d.engine]
		named := regexp.MustCompile(regexp.QuoteMeta("| `"+d.folder+"` |") + `.*\| (` + e.name + ` [0-9.]+) \|\n`)
		if m := named.FindStringSubmatch(table); m != nil {
			all[d.driver] = m[1]
		}
	}
	return all
}

// compatibility returns the tables, with the versions of engines by driver.
func compatibility(t *testing.T, versions map[string]string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| import | driver | oldest | newest | the tests run it on |\n|---|---|---|---|---|\n")
	newest := requires(t, "e2e")
	for _, d := range testedDrivers {
		engine := versions[d.driver]
		if d.engine == "" {
			engine = "no server"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.folder, d.module, requires(t, d.folder)[d.module], newest[d.module], engine)
	}
	b.WriteString("\n| library | version |\n|---|---|\n")
	libraries := requires(t, "examples")
	libraries["github.com/sqlc-dev/sqlc"] = sqlcVersion(t)
	names := []string{}
	for name := range libraries {
		if !strings.HasPrefix(name, "github.com/keyfill/") && !slices.Contains(examplesOwn, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %s |\n", name, libraries[name])
	}
	return b.String()
}

// requires returns the versions of the modules that a module requires for itself.
func requires(t *testing.T, folder string) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", path.Join(root, folder, "go.mod")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range file.Require {
		if !r.Indirect {
			versions[r.Path] = r.Version
		}
	}
	return versions
}

// sqlcVersion returns the version that generates the code of the example.
func sqlcVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples", "sqlc", "sqlc.go"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`cmd/sqlc@(\S+) generate`).FindSubmatch(text)
	if m == nil {
		t.Fatal("no line of go generate runs sqlc")
	}
	return string(m[1])
}
