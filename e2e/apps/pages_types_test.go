package apps_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// cell is one cell of the table in docs/layouts.md: the type of a column, and a field
// that the policy then has.
var cell = regexp.MustCompile("^`([^`]+)`(?:; `([^`]+)`)?$")

// TestTypes: a column of each type in docs/layouts.md takes the keys of each source in
// the head of its column, and nothing in keyfill's check is an error about it.
func TestTypes(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	text, err := os.ReadFile(filepath.Join(root, "docs", "layouts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "<!-- types: ")
	table, _, _ = strings.Cut(table, "<!-- end of types -->")
	var heads []string
	stored := 0
	for line := range strings.Lines(table) {
		row := strings.Split(strings.Trim(line, "|\n"), "|")
		switch {
		case len(row) < 3 || strings.HasPrefix(row[0], "-"):
			continue
		case heads == nil:
			heads = row
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(row[0]), ",")
		for i, one := range row[1:] {
			if one = strings.TrimSpace(one); one == "" {
				continue
			}
			parts := cell.FindStringSubmatch(one)
			if parts == nil {
				t.Errorf("the cell %q is no type with a field of the policy", one)
				continue
			}
			for _, kind := range regexp.MustCompile("`([a-z0-9]+)`").FindAllStringSubmatch(heads[i+1], -1) {
				t.Run(name+"/"+one+"/"+kind[1], func(t *testing.T) { storesKey(t, name, parts[1], kind[1], parts[2]) })
				stored++
			}
		}
	}
	if stored < 20 {
		t.Errorf("%d types were tried, want 20 or more", stored)
	}
}

// storesKey stores a row whose key has a type and a source.
func storesKey(t *testing.T, title, typ, kind, field string) {
	name := map[string]string{"MariaDB": "mariadb", "PostgreSQL": "postgres", "SQLite": "sqlite"}[title]
	e, ok := engines[name]
	if !ok {
		t.Fatalf("there is no %s here", title)
	}
	raw, dsn := e.empty(t)
	execute(t, raw, "CREATE TABLE t (id "+typ+" PRIMARY KEY, a integer);\n")
	source := map[string]string{
		"sequence": "{kind: sequence, ensure_schema: true}", "snowflake": "{kind: snowflake, worker: 1, ensure_schema: true}",
	}[kind]
	if source == "" {
		source = kind
	}
	if field != "" {
		field = ", " + field
	}
	if name == "sqlite" {
		source = strings.Replace(source, "worker: 1, ensure_schema: true", "worker: 1", 1) // without a store
	}
	cfg, err := policy.Parse([]byte("version: 1\ndialect: " + name + "\ntables: {t: {column: id, source: " + source + field + "}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	db, m := harness.OpenConnector(t, harness.ConnectorOf(t, e.driver, dsn), cfg)
	if _, err := db.Exec("INSERT INTO t (a) VALUES (1), (2)"); err != nil {
		t.Fatal(err)
	}
	findings, err := m.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Severity == "error" {
			t.Errorf("keyfill check: %s: %s", f.Rule, f.Message)
		}
	}
	var rows int
	if err := raw.QueryRow("SELECT COUNT(*) FROM t WHERE id IS NOT NULL").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows are stored, error %v, want 2", rows, err)
	}
}
