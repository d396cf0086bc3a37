package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/vetreport"
)

// compiledSARIF returns the schema of OASIS for SARIF 2.1.0, which the module go-sarif holds.
func compiledSARIF(t *testing.T) *jsonschema.Schema {
	t.Helper()
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", reflect.TypeFor[sarif.Report]().PkgPath()).Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(folder)), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	schema := ""
	ast.Inspect(source, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && len(lit.Value) > len(schema) {
			schema = strings.Trim(lit.Value, "`")
		}
		return true
	})
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", parsed); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("sarif.json")
}

// TestVetSARIF: what --sarif prints is valid by the schema, and its parts fit one another.
func TestVetSARIF(t *testing.T) {
	page, err := os.ReadFile("../../docs/vet.md")
	if err != nil {
		t.Fatal(err)
	}
	schema := compiledSARIF(t)
	t.Chdir(t.TempDir())
	t.Setenv("KEYFILL_CONFIG", "")
	for name, text := range map[string]string{
		"keyfill.yaml": "version: 1\ndialect: sqlite\ntables: {orders: {column: id}, archive: {column: id, unsupported: unfilled}}\n",
		"a b/#1.sql": "INSERT INTO orders SELECT 1;\nINSERT INTO archive SELECT 1;\n-- keyfill:ignore refused it is late\nINSERT INTO orders SELECT 1;\n" +
			"-- keyfill:ignore refused nothing\nINSERT INTO orders (note) VALUES (1);\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := keyfillRun(t, "", "vet", "--sarif", "./...")
	if r.code != 1 {
		t.Fatalf("exit code %d, standard error %q", r.code, r.errOut)
	}
	read, err := jsonschema.UnmarshalJSON(strings.NewReader(r.out))
	if err == nil {
		err = schema.Validate(read)
	}
	if err != nil {
		t.Error(err)
	}
	var log vetreport.SARIFLog
	decoder := json.NewDecoder(strings.NewReader(r.out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.HasSuffix(log.Schema, "sarif-2.1.0.json") || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" {
		t.Fatalf("the log is %s", r.out)
	}
	run := log.Runs[0]
	for _, rule := range run.Tool.Driver.Rules {
		_, anchor, _ := strings.Cut(rule.HelpURI, "docs/vet.md#")
		if rule.ID == "" || rule.Short.Text == "" || !strings.Contains(string(page), "\n### "+anchor+"\n") {
			t.Errorf("the rule %+v has no text, or no section of docs/vet.md", rule)
		}
	}
	var got []string
	for _, result := range run.Results {
		if result.RuleIndex < 0 || run.Tool.Driver.Rules[result.RuleIndex].ID != result.RuleID {
			t.Errorf("%s has the index %d of another rule", result.RuleID, result.RuleIndex)
		}
		if !slices.Contains([]string{"none", "note", "warning", "error"}, result.Level) || result.Message.Text == "" || len(result.Locations) != 1 {
			t.Errorf("the result is %+v", result)
		}
		at := result.Locations[0].Physical
		if u, err := url.Parse(at.Artifact.URI); err != nil || u.Path != "a b/#1.sql" || u.IsAbs() || at.Region.StartLine < 1 || at.Region.EndLine < at.Region.StartLine {
			t.Errorf("the location is %+v", at)
		}
		line := result.RuleID + " " + result.Level
		for _, s := range result.Suppressions {
			line += " " + s.Kind + " " + s.Justification
		}
		got = append(got, line)
	}
	if want := []string{
		"keyfill/refused error", "keyfill/refused warning", "keyfill/refused error inSource it is late", "keyfill/ignore warning",
	}; !slices.Equal(got, want) {
		t.Errorf("the results are %q, want %q", got, want)
	}
}

// TestVetAsksDatabase: with a database each INSERT is judged as keyfill explain judges it
// there, and what depends on the database is marked.
func TestVetAsksDatabase(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (id BIGINT PRIMARY KEY, total BIGINT)", "CREATE TABLE people (id VARCHAR(36) PRIMARY KEY, name VARCHAR(40))")
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		config := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  orders: {column: id, source: {kind: sequence}}\n  people: {column: id, source: uuidv4}\n")
		file := writeFile(t, "all.sql", "INSERT INTO orders VALUES (NULL, 1);\nINSERT INTO orders (total) VALUES (1);\nINSERT INTO people (name) SELECT name FROM people;\n")
		vet := func(args ...string) []vetreport.Line {
			var lines []vetreport.Line
			decoder := json.NewDecoder(strings.NewReader(keyfillOut(t, "", append([]string{"vet", "--config", config, "--json", "--fail-on", "none", file}, args...)...)))
			for decoder.More() {
				var line vetreport.Line
				if err := decoder.Decode(&line); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, line)
			}
			return lines
		}
		lines := vet("--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN")
		if len(lines) != 3 {
			t.Fatalf("%+v", lines)
		}
		if one := lines[0]; one.Action != "fill" || one.Depends == "" {
			t.Errorf("an INSERT without a column list: %+v", one)
		}
		if one := lines[1]; one.Action != "fill" || one.Depends != "" {
			t.Errorf("an INSERT that needs no database: %+v", one)
		}
		want := map[string]string{"sqlite": "refuse", "mysql": "refuse", "pgx": "fill"}[p.driver]
		if one := lines[2]; one.Action != want || (one.Depends != "") != (p.driver != "sqlite") || one.Message != "" && one.Depends != "" && !strings.Contains(one.Message, "(depends on "+one.Depends+")") {
			t.Errorf("an INSERT of a query: %+v, want %s", one, want)
		}
		newest := vet("--dialect", map[string]string{"sqlite": "sqlite", "mysql": "mariadb", "pgx": "postgres"}[p.driver])
		if one := newest[0]; one.Action != "refuse" || one.Depends == "" || !strings.HasSuffix(one.Message, "(depends on the columns of the table)") {
			t.Errorf("without a database: %+v", one)
		}
		if p.driver == "mysql" && newest[2].Action != "fill" {
			t.Errorf("the newest version: %+v", newest[2])
		}
	})
}
