package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlscript"
	"github.com/keyfill/keyfill/policy"
)

// publicProgram is a public application whose module holds its schema.
type publicProgram struct {
	module, version, sum string // the sum is the one of go.sum

	driver string
	schema []string // patterns of files in the module, which are executed in their order
	leave  []string // parts of the names of files that are left out

	values map[string]string // of table.column, where a constraint wants one of its own

	line string // an entry, or the line to write for a key that the engine makes
}

// publicPrograms are on each engine, with keys of each kind: text of 26 characters, bytes,
// UUIDs, integers that the application makes, and integers that the engine makes.
var publicPrograms = []publicProgram{
	{
		module: "github.com/openfga/openfga", version: "v1.22.1", sum: "h1:gl5DiX841ZK3GSTAbgUUYEpiAfAK4EZFMQYW1NQmK8U=",
		driver: "mysql", schema: []string{"assets/migrations/mysql/*.sql"},
		leave: []string{"/007_", "/008_"}, // collations and indexes, with LOCK = NONE in a place where MariaDB has none
		line:  "store: {column: id, source: ulid}",
	},
	{
		module: "github.com/google/trillian", version: "v1.8.0", sum: "h1:AnbjOFFMQyvqpPAARj97CKEXmoSpCy2hZw0T7Y1Y0BA=",
		driver: "mysql", schema: []string{"storage/mysql/schema/storage.sql"},
		line: "Trees: {column: TreeId, source: sequence}",
	},
	{
		module: "go.temporal.io/server", version: "v1.29.1", sum: "h1:sgiMveg/8e51lA62pWb9VzC5WTRitKFyT6XsjonHUhE=",
		driver: "pgx", schema: []string{"schema/postgresql/v12/temporal/schema.sql"},
		line: "namespaces: {column: id, source: uuidv7, layout: binary}",
	},
	{
		module: "github.com/riverqueue/river/riverdriver/riverpgxv5", version: "v0.51.1", sum: "h1:ojQHIvNGa7YRKjoCN5OC/N/vxKWwmVco761q2RozI+U=",
		driver: "pgx", schema: []string{"migration/main/*.up.sql"},
		line: "river_job: {column: id, source: native}",
	},
	{
		module: "github.com/ory/kratos", version: "v1.3.1", sum: "h1:XOw84ToAxLDb5K5Xv/Qspk0vzlBq+6zgz2TufVg4kkU=",
		driver: "pgx", schema: []string{"persistence/sql/migrations/sql/*.up.sql"}, leave: []string{".sqlite", ".mysql", ".cockroach"},
		values: map[string]string{"identity_recovery_tokens.token_type": "1"},
		line:   "identities: {column: id, source: uuidv7}",
	},
	{
		module: "github.com/ory/kratos", version: "v1.3.1", sum: "h1:XOw84ToAxLDb5K5Xv/Qspk0vzlBq+6zgz2TufVg4kkU=",
		driver: "sqlite", schema: []string{"persistence/sql/migrations/sql/*.up.sql"}, leave: []string{".postgres", ".mysql", ".cockroach"},
		line: "identities: {column: id, source: uuidv7}",
	},
}

// TestInitApplications: the policy for the schema of a public application passes keyfill
// check, and each table of it is filled. TestApplications of internal/vet counts how the
// application's own INSERTs are treated under the same policy.
func TestInitApplications(t *testing.T) {
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("modules are loaded, and servers started")
	}
	for _, a := range publicPrograms {
		t.Run(filepath.Base(a.module)+"/"+a.driver, func(t *testing.T) {
			p := a.database(t)
			a.makeTables(t, p, a.folder(t))
			path, text := p.initFile(t)
			if !strings.Contains(text, a.line) {
				t.Errorf("the policy has no line %s:\n%s", a.line, text)
			}
			comparePolicy(t, text, filepath.Join("..", "..", "internal", "vet", "testdata", "init", filepath.Base(a.module)+"-"+a.driver+".yaml"))
			p.checkClean(t, path)
			a.fill(t, p, path)
		})
	}
}

// folder returns the folder of the module, which the go command loads and compares with
// the sum.
func (a *publicProgram) folder(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", a.module+"@"+a.version)
	cmd.Dir = t.TempDir() // of no module, whose go.mod could change
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var said struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &said); jsonErr != nil || err != nil {
		if os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
			t.Fatalf("the module cannot be loaded: %v %s", err, said.Error)
		}
		t.Skipf("the module cannot be loaded: %v %s", err, said.Error)
	}
	if said.Sum != a.sum {
		t.Fatalf("the module has the sum %s, want %s", said.Sum, a.sum)
	}
	return said.Dir
}

// database returns an empty database. A row of it may refer to none.
func (a *publicProgram) database(t *testing.T) *planned {
	p := &planned{driver: a.driver}
	param := ""
	switch a.driver {
	case "mysql":
		p.dsn, param = mariadb.DSN(mariadb.Database(t, a.driver)), "foreign_key_checks=0"
	case "pgx":
		p.dsn, param = postgresql.DSN(postgresql.Database(t, a.driver)), "session_replication_role=replica"
	default:
		p.dsn, param = "file:"+filepath.Join(t.TempDir(), "t.db"), "_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate"
	}
	p.dsn += map[bool]string{true: "&", false: "?"}[strings.Contains(p.dsn, "?")] + param
	p.raw = p.open(t, "")
	return p
}

// makeTables executes the application's own statements.
func (a *publicProgram) makeTables(t *testing.T, p *planned, folder string) {
	t.Helper()
	d := plannedDialects[p.driver]
	executed := 0
	for _, pattern := range a.schema {
		names, err := fs.Glob(os.DirFS(folder), pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range own(names, a.leave) {
			text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			for one, err := range sqlscript.Statements(d, strings.NewReader(string(text))) {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if strings.Contains(one.Comments, "+goose Down") {
					break
				}
				// River puts the name of a schema into its texts, or nothing.
				if _, err := p.raw.Exec(strings.ReplaceAll(one.Text, "/* TEMPLATE: schema */", "")); err != nil {
					t.Fatalf("%s, line %d: %v", name, one.Line, err)
				}
				executed++
			}
		}
	}
	t.Logf("%d statements were executed", executed)
}

// own returns the names of files without some: if there is a migration for one engine, it
// replaces the one for all.
func own(names, leave []string) (all []string) {
	isLeft := func(name string) bool {
		return slices.ContainsFunc(leave, func(part string) bool { return strings.Contains(name, part) })
	}
	special := map[string]bool{}
	for _, name := range names {
		if stem := strings.TrimSuffix(name, ".up.sql"); !isLeft(name) && filepath.Ext(stem) != "" {
			special[strings.TrimSuffix(stem, filepath.Ext(stem))] = true
		}
	}
	for _, name := range names {
		if !isLeft(name) && !special[strings.TrimSuffix(name, ".up.sql")] {
			all = append(all, name)
		}
	}
	return all
}

// fill inserts two rows without a key into each table of the policy, and reads them back.
func (a *publicProgram) fill(t *testing.T, p *planned, path string) {
	t.Helper()
	cfg, err := policy.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	d := plannedDialects[p.driver]
	over, err := catalog.List(context.Background(), d, catalog.DB(p.raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.StoreWait = time.Minute
	db, err := keyfill.OpenDB(database.NewConnector(p.raw.Driver(), p.dsn), keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	filled := 0
	for _, table := range over.Tables {
		rule, ok := cfg.Tables[catalog.PolicyTable(d, "", table.Name)]
		if !ok || table.View {
			continue
		}
		key := table.Column(d, d.Fold(rule.Column, false))
		if key == nil {
			t.Fatalf("%s has no column %s", table.Name, rule.Column)
		}
		for n := range 2 {
			query := a.insertOf(d, table, key.Name, n)
			if _, err := db.Exec(query); err != nil {
				t.Errorf("%s: %v", query, err)
			}
		}
		a.readBack(t, p, table, key.Name)
		filled++
	}
	t.Logf("%d of %d tables are filled", filled, len(over.Tables))
	if filled != len(cfg.Tables) {
		t.Errorf("%d tables were filled, and the policy has %d", filled, len(cfg.Tables))
	}
}

func (a *publicProgram) readBack(t *testing.T, p *planned, table *catalog.Listed, key string) {
	t.Helper()
	d := plannedDialects[p.driver]
	var rows, keys int
	query := fmt.Sprintf("SELECT COUNT(*), COUNT(DISTINCT %s) FROM %s", d.QuoteIdent(key), d.QuoteIdent(table.Name))
	if err := p.raw.QueryRow(query).Scan(&rows, &keys); err != nil {
		t.Fatal(err)
	}
	if keys < 2 || keys != rows {
		t.Errorf("%s has %d rows with %d keys, want 2 or more with as many", table.Name, rows, keys)
	}
}

// insertOf returns an INSERT without the key: each other column that has to have a value
// gets one, which differs from row to row where a type has room for it.
func (a *publicProgram) insertOf(d *dialect.Dialect, table *catalog.Listed, key string, n int) string {
	var columns, values []string
	for _, c := range table.Columns {
		_, hasDefault := table.Default[c.Name]
		inPrimary := slices.Contains(table.Primary, c.Name)
		if value := a.values[table.Name+"."+c.Name]; value != "" {
			columns, values = append(columns, d.QuoteIdent(c.Name)), append(values, value)
			continue
		}
		if c.Name == key || c.Generated || c.Identity != "" || !inPrimary && (table.Nullable[c.Name] || hasDefault) {
			continue
		}
		columns = append(columns, d.QuoteIdent(c.Name))
		values = append(values, valueOf(d, &c, n))
	}
	if len(columns) == 0 {
		if d.Family == dialect.FamilyMySQL {
			return "INSERT INTO " + d.QuoteIdent(table.Name) + " () VALUES ()"
		}
		return "INSERT INTO " + d.QuoteIdent(table.Name) + " DEFAULT VALUES"
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", d.QuoteIdent(table.Name), strings.Join(columns, ", "), strings.Join(values, ", "))
}

// valueOf returns a literal for a column.
func valueOf(d *dialect.Dialect, c *catalog.Column, n int) string {
	kind := strings.ToLower(c.Type)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(kind, part) })
	}
	switch {
	case c.UUID:
		return fmt.Sprintf("'00000000-0000-4000-8000-00000000000%d'", n)
	case has("json"):
		return "'{}'"
	case strings.HasSuffix(kind, "[]"):
		return "'{}'"
	case has("enum"):
		return "1"
	case has("interval"):
		return "'1 day'"
	case has("timestamp", "datetime", "date"):
		return "'2024-05-01 12:00:00'"
	case has("bool"):
		return map[bool]string{true: "true", false: "0"}[d.Family == dialect.FamilyPostgreSQL]
	case c.Text && !c.Integer:
		return fmt.Sprintf("'%d'", n)
	case c.Binary && !c.Integer && d.Family == dialect.FamilyPostgreSQL:
		return fmt.Sprintf(`'\x0%d'`, n)
	case c.Binary && !c.Integer:
		return fmt.Sprintf("X'0%d'", n)
	}
	return fmt.Sprint(n)
}
