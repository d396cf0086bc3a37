package vet_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/vet"
	"github.com/keyfill/keyfill/policy"
)

// judge returns the judge of a policy with a table whose key is a UUID, one whose key is
// an integer, one that goes out unfilled, and one whose key the engine makes.
func judge(t *testing.T, dialect string) *vet.Judge {
	t.Helper()
	c, err := policy.Parse([]byte("version: 1\ndialect: " + dialect + `
tables:
  customers: {column: id, source: uuidv7}
  orders: {column: id, source: {kind: sequence, ensure_schema: true}}
  archive: {column: id, source: uuidv7, unsupported: unfilled}
  links: {column: id, source: identity}
`))
	if err != nil {
		t.Fatal(err)
	}
	j, err := vet.NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// text returns a text of parts: what begins with "$" is not known.
func text(sent bool, parts ...string) *gosql.Text {
	found := &gosql.Text{Sent: sent}
	for _, p := range parts {
		if name, ok := strings.CutPrefix(p, "$"); ok {
			found.Parts = append(found.Parts, gosql.Part{Unknown: name})
		} else {
			found.Parts = append(found.Parts, gosql.Part{SQL: p})
		}
	}
	return found
}

// TestText: the outcomes of texts. "" is no INSERT.
func TestText(t *testing.T) {
	for _, tt := range []struct {
		name  string
		text  *gosql.Text
		want  string // action and table
		piece bool
	}{
		{"a key is missing", text(true, "INSERT INTO customers (name) VALUES (?)"), "fill customers", false},
		{"a key is there", text(true, "INSERT INTO orders (id, note) VALUES (7, ?)"), "keep orders", false},
		{"another table", text(true, "INSERT INTO shop.notes (note) VALUES (?)"), "pass shop.notes", false},
		{"the engine makes the key", text(true, "INSERT INTO links (note) VALUES (?)"), "pass links", false},
		{"no columns", text(true, "INSERT INTO orders SELECT * FROM carts"), "refuse orders", false},
		{"unfilled", text(true, "INSERT INTO archive SELECT * FROM orders"), "refuse archive", false},
		{"two", text(true, "INSERT INTO notes (a) VALUES (1); INSERT INTO orders (a) VALUES (1)"), "fill orders", false},
		{"a SELECT", text(true, "SELECT REPLACE(name, 'a', 'b') FROM customers"), "", false},
		{"a message", text(false, "insert into orders failed: it is late"), "", false},
		{"a message that names no table", text(false, "the INSERT has no column list: name the columns in it"), "", false},
		{"a message about a table", text(false, "INSERT orders waits for the store"), "", false},
		{"a block", text(true, "CALL f(); INSERT INTO notes SELECT * FROM drafts"), "pass notes", false},
		{"a message with a part", text(false, "insert into ", "$table", " failed: ", "$err"), "", false},
		{"a mistake that is executed", text(true, "INSERT INTO orders (note VALUES (?)"), "refuse orders", false},
		{"a mistake into another table", text(true, "INSERT INTO notes (note VALUES (?)"), "", false},
		{"a mistake that nobody executes", text(false, "INSERT INTO orders note VALUES (?) now"), "", false},
		{"rows that are not known", text(true, "INSERT INTO orders (note) VALUES ", "$rows"), "dynamic orders", false},
		{"columns that are not known", text(true, "INSERT INTO orders (", "$columns", ") VALUES (", "$rows", ")"), "dynamic orders", false},
		{"a table that is not known", text(true, "INSERT INTO ", "$table", " (note) VALUES (?)"), "dynamic ", false},
		{"a part of a table's name", text(true, "INSERT INTO orders_", "$year", " (note) VALUES (?)"), "dynamic ", false},
		{"a schema that is not known", text(true, "INSERT INTO ", "$schema", ".notes (note) VALUES (?)"), "dynamic ", false},
		{"rows of another table", text(true, "INSERT INTO notes (note) VALUES ", "$rows"), "pass notes", false},
		{"an end that is not known", text(true, "INSERT INTO orders (note) VALUES (?)", "$suffix"), "dynamic orders", false},
		{"a literal that is not known", text(true, "INSERT INTO orders (note) VALUES ('", "$note", "')"), "dynamic orders", false},
		{"a beginning", text(false, "INSERT INTO orders (note) VALUES "), "dynamic orders", false},
		{"a piece", text(false, "INSERT INTO orders ("), "dynamic orders", true},
		{"a word of the program's own", text(false, "INSERT INTO orders (note, by) <rows> RETURNING id"), "dynamic orders", false},
		{"a word of the program's own, for another table", text(false, "INSERT INTO notes(note) <rows>"), "pass notes", false},
		{"a message with a list", text(false, "insert into orders (again) failed"), "", false},
		{"a verb of fmt in the place of the table", text(false, "INSERT INTO %s (note) VALUES (?)"), "dynamic ", false},
		{"a verb in the place of the rows", text(false, "INSERT INTO orders (note) VALUES %[1]s"), "dynamic orders", false},
		{"a verb for another table", text(false, "INSERT INTO notes (note) VALUES (%d)"), "pass notes", false},
		{"a verb in a string", text(false, "INSERT INTO orders (note) VALUES ('%d of %s')"), "fill orders", false},
		{"a remainder", text(true, "INSERT INTO orders (note) VALUES (7 %d)"), "fill orders", false},
		{"a message with verbs", text(false, "insert into %s failed: %v"), "", false},
		{"a template", text(false, "INSERT INTO {{.Table}} (note{{if .By}}, by{{end}}) VALUES (?{{if .By}}, ?{{end}})"), "dynamic ", false},
		{"a template that is executed", text(true, "INSERT INTO orders (note) VALUES {{range .Rows}}(?){{end}}"), "dynamic orders", false},
		{"a template for another table", text(false, "INSERT INTO notes ({{.Columns}}) VALUES ({{.Values}})"), "pass notes", false},
		{"braces in a string", text(true, "INSERT INTO orders (note) VALUES ('{{x}}')"), "fill orders", false},
		{"an UPDATE with a part", text(true, "UPDATE orders SET ", "$columns"), "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.text.Piece = tt.piece
			for _, dialect := range []string{"mysql", "mariadb", "sqlite"} {
				got := ""
				if o, ok := judge(t, dialect).Text(tt.text); ok {
					got = o.Action + " " + o.Table
				}
				if got != tt.want {
					t.Errorf("%s: got %q, want %q", dialect, got, tt.want)
				}
			}
		})
	}
}

// TestTextOfAnotherEngine: an INSERT with a part that is not known, in the quotes of another
// engine, may be any INSERT.
func TestTextOfAnotherEngine(t *testing.T) {
	for _, tt := range []struct {
		text *gosql.Text
		want string
	}{
		{text(true, "INSERT INTO `", "$table", "` (note) VALUES ($1)"), "dynamic "},
		{text(true, "INSERT INTO notes (`note`) VALUES (", "$note", ")"), "pass notes"},
		{text(false, "INSERT INTO `", "$table", "` failed"), ""},
	} {
		got := ""
		if o, ok := judge(t, "postgres").Text(tt.text); ok {
			got = o.Action + " " + o.Table
		}
		if got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.text.Parts, got, tt.want)
		}
	}
}

// TestTemplateInQuotes: a quoted name with a gap is a table that is not known.
func TestTemplateInQuotes(t *testing.T) {
	for query, dialect := range map[string]string{
		"INSERT INTO `%s` (note) VALUES (?)":             "mysql",
		"INSERT INTO `{{.Table}}` (note) VALUES (?)":     "mysql",
		`INSERT INTO "shop"."%s_log" (note) VALUES ($1)`: "postgres",
		`INSERT INTO "{{.Table}}" (note) VALUES ($1)`:    "postgres",
	} {
		o, ok := judge(t, dialect).Text(text(false, query))
		if want := (vet.Outcome{Action: vet.Dynamic}); !ok || o.Action != want.Action || o.Table != "" {
			t.Errorf("%s: %+v, %v", query, o, ok)
		}
	}
}

// TestPlaceholders: a placeholder of a library is one of the engine's, so that its value
// decides; what the engine reads otherwise is a key.
func TestPlaceholders(t *testing.T) {
	for _, tt := range []struct{ dialect, values, reason string }{
		{"postgres", "(?, ?)", "decided at execution"},
		{"postgres", "(:id, :note)", "decided at execution"},
		{"postgres", "(@id, @note)", "decided at execution"},
		{"postgres", "($1, note ? 'a')", "decided at execution"},
		{"postgres", "( /* it */ :id::uuid, 'b')", "decided at execution"},
		{"postgres", "(':id', ':note')", ""},
		{"postgres", "(@ -7, 1)", ""},
		{"postgres", "(7, ?)", ""},
		{"mysql", "(:id, :note)", "decided at execution"},
		{"mysql", "(?, :note)", "decided at execution"},
		{"mysql", "(@id, ?)", ""},
		{"sqlserver", "(:id, :note)", "decided at execution"},
		{"sqlserver", "(?, ?)", "decided at execution"},
		{"oracle", "(?, ?)", "decided at execution"},
		{"sqlite", "(:id, :note)", "decided at execution"},
	} {
		o, ok := judge(t, tt.dialect).Text(text(true, "INSERT INTO orders (id, note) VALUES "+tt.values))
		if !ok || o.Action != vet.Keep || o.Reason != tt.reason {
			t.Errorf("%s, %s: %+v; want keep, %q", tt.dialect, tt.values, o, tt.reason)
		}
	}
}

// TestBuilt: the outcome of an INSERT that a query builder makes, by its table.
func TestBuilt(t *testing.T) {
	for table, want := range map[string]string{
		"orders": "dynamic orders", "shop.orders": "dynamic shop.orders", "notes": "pass notes", "links": "pass links",
		"": "dynamic ", "orders AS o": "dynamic ", "log_*": "dynamic ",
	} {
		o := judge(t, "mysql").Built(&gosql.Built{Table: table, Package: "example.com/build"})
		if got := o.Action + " " + o.Table; got != want || (o.Reason == "made by example.com/build when the program runs") != (o.Action == vet.Dynamic) {
			t.Errorf("%q: %+v, want %s", table, o, want)
		}
	}
}

// TestEmbedded: a file that is embedded is read, and its LastInsertId is reported.
func TestEmbedded(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"add.sql": "INSERT INTO customers (name) VALUES (?);\n", "long.sql": strings.Repeat("-- a comment\n", 1<<17)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := find(t, `
//go:embed add.sql
var add string

//go:embed long.sql
var long string

func f(db *sql.DB) {
	res, _ := db.Exec(add)
	res.LastInsertId()
	db.Exec(long)
}`)
	if want := []string{"3 fill", "10 lastinsertid", "11 dynamic"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOthers: all tables of a text are reported.
func TestOthers(t *testing.T) {
	o, ok := judge(t, "mysql").Statement("INSERT INTO orders (a) VALUES (1); INSERT INTO notes (a) VALUES (1); INSERT INTO orders (a) VALUES (2)")
	if got, want := fmt.Sprint(o.Table, o.Others, ok), "orders[notes] true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// find returns the findings of a package with one file, one a line.
func find(t *testing.T, source string) (lines []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "shop.go", "package shop\nimport (\"database/sql\"; _ \"embed\")\nvar _ sql.DB\n"+source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.Default()}
	pkg, err := config.Check("shop", fset, []*ast.File{file}, info)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range judge(t, "mysql").Source(fset, gosql.Source{Package: pkg, Files: []*ast.File{file}, Info: info}) {
		line := fmt.Sprintf("%d %s%s", f.At.Line-3, f.Action, f.Rule)
		if f.Ignored {
			line += " (" + f.Excuse + ")"
		}
		lines = append(lines, line)
		if (f.Rule == "") != (f.Message == "") || strings.HasSuffix(f.Message, ".") {
			t.Errorf("%s: rule %q, message %q", line, f.Rule, f.Message)
		}
	}
	return lines
}

// TestSource: the findings in Go source, by line, and the effect of comments.
func TestSource(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		want         []string
	}{
		{"LastInsertId of a UUID", `func f(db *sql.DB) {
	res, _ := db.Exec("INSERT INTO customers (name) VALUES (?)")
	res.LastInsertId()
}`, []string{"2 fill", "3 lastinsertid"}},
		{"LastInsertId of an integer", `func f(db *sql.DB) {
	res, _ := db.Exec("INSERT INTO orders (name) VALUES (?)")
	res.LastInsertId()
}`, []string{"2 fill"}},
		{"LastInsertId of a key that the program brings", `func f(db *sql.DB) {
	res, _ := db.Exec("INSERT INTO customers (id) VALUES ('x')")
	res.LastInsertId()
}`, []string{"2 keep"}},
		{"a text of which nothing is known", `func f(db *sql.DB, q string) {
	db.Exec(q)
}`, []string{"2 dynamic"}},
		{"a comment above", `func f(db *sql.DB) {
	//keyfill:ignore refused it is late
	db.Exec("INSERT INTO orders SELECT 1")
	db.Exec("INSERT INTO orders SELECT 1")
}`, []string{"3 refuserefused (it is late)", "4 refuserefused"}},
		{"a comment behind", `func f(db *sql.DB) {
	db.Exec("INSERT INTO orders SELECT 1") //keyfill:ignore keyfill/refused it is late
	db.Exec("INSERT INTO orders SELECT 1")
}`, []string{"2 refuserefused (it is late)", "3 refuserefused"}},
		{"a comment above a long call", "func f(db *sql.DB) {\n\t//keyfill:ignore refused it is late\n\tif _, err := db.Exec(\n\t\t`\nINSERT INTO orders SELECT 1`); err != nil {\n\t\tdb.Exec(`INSERT INTO orders SELECT 1`)\n\t}\n}",
			[]string{"4 refuserefused (it is late)", "6 refuserefused"}},
		{"a comment behind a long call", "func f(db *sql.DB) {\n\tdb.Exec(\n\t\t`INSERT INTO orders SELECT 1`,\n\t) //keyfill:ignore refused it is late\n}",
			[]string{"3 refuserefused (it is late)"}},
		{"two comments above", "func f(db *sql.DB) {\n\t//keyfill:ignore lastinsertid it is late\n\t//keyfill:ignore refused\tit is late\n\t// And long.\n" +
			"\tdb.Exec(`INSERT INTO orders SELECT 1`)\n\tdb.Exec(`INSERT INTO orders SELECT 1`)\n}",
			[]string{"2 ignore", "5 refuserefused (it is late)", "6 refuserefused"}},
		{"a comment on a constant", `const (
	//keyfill:ignore refused it is late
	a = "INSERT INTO orders SELECT 1"
	b = "INSERT INTO orders SELECT 1"
)`, []string{"3 refuserefused (it is late)", "4 refuserefused"}},
		{"a comment of another rule", `func f(db *sql.DB) {
	//keyfill:ignore dynamic it is late
	db.Exec("INSERT INTO orders SELECT 1")
}`, []string{"2 ignore", "3 refuserefused"}},
		{"a comment without a reason", `func f(db *sql.DB) {
	//keyfill:ignore refused
	db.Exec("INSERT INTO orders SELECT 1")
}`, []string{"2 ignore", "3 refuserefused"}},
		{"a comment without a rule", "//keyfill:ignore\nvar x = 1", []string{"1 ignore"}},
		{"a comment with a rule that is not there", "//keyfill:ignore refuse it is late\nvar x = 1", []string{"1 ignore"}},
		{"a comment that turns nothing off", "//keyfill:ignore refused it is late\nvar x = 1", []string{"1 ignore"}},
		{"another comment", "//keyfill:ignored\nvar x = 1", nil},
		{"an INSERT that goes out unfilled", `const a = "INSERT INTO archive SELECT 1"`, []string{"1 refuserefused"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := find(t, tt.source); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestServer: the version of the server decides which UUIDs the rows of a query get.
func TestServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, source, action string }{
		{"", "uuidv4", vet.Fill}, {"mariadb@11.7", "uuidv4", vet.Fill}, {"mariadb", "uuidv4", vet.Fill}, {"mariadb@10.11", "uuidv4", vet.Refuse},
		{"mariadb@10.11", "uuidv7", vet.Fill}, {"postgres@15", "uuidv7", vet.Fill}, {"postgres@15", "uuidv4", vet.Fill}, {"postgres@12", "uuidv4", vet.Refuse},
		{"sqlite@3.40", "{kind: uuidv7}, layout: binary", vet.Refuse}, {"sqlite@3.41", "{kind: uuidv7}, layout: binary", vet.Fill},
		{"sqlite@3.40", "uuidv7", vet.Fill}, {"mysql@8", "uuidv4", vet.Refuse}, {"mysql@8.4", "ulid", vet.Fill},
	} {
		server, err := vet.ParseServer(tt.server)
		if err != nil {
			t.Fatal(err)
		}
		dialect := "dialect: " + server.Dialect
		if tt.server == "" {
			dialect = "dialect: mariadb"
		}
		c, err := policy.Parse([]byte("version: 1\n" + dialect + "\ntables: {t: {column: id, source: " + tt.source + "}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		j, err := vet.NewJudgeOn(c, server)
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := j.Statement("INSERT INTO t (a) SELECT a FROM s"); !ok || o.Action != tt.action {
			t.Errorf("%s, %s: %+v, want %s", tt.server, tt.source, o, tt.action)
		}
	}
	for _, text := range []string{"postgres@", "postgres@x", "oracle11", "mysql@8.x", "@15", "mysql@0"} {
		if s, err := vet.ParseServer(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
	c, err := policy.Parse([]byte("version: 1\ndialect: mysql\ntables: {t: {column: id}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vet.NewJudgeOn(c, vet.Server{Dialect: "postgres"}); err == nil {
		t.Error("a policy for MySQL is judged for PostgreSQL")
	}
}

// TestNewJudge: a policy without a dialect is an error that says what to write.
func TestNewJudge(t *testing.T) {
	c, err := policy.Parse([]byte("version: 1\ntables: {orders: {column: id}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vet.NewJudge(c); err == nil || !strings.Contains(err.Error(), "say dialect:") {
		t.Errorf("the error is %v", err)
	}
}

// TestPolicyFile: the nearest policy of the module is found, and none above it.
func TestPolicyFile(t *testing.T) {
	t.Setenv("KEYFILL_CONFIG", "")
	folder := t.TempDir()
	for _, name := range []string{"keyfill.yaml", "a/go.mod", "a/b/keyfill.yaml"} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{".": "keyfill.yaml", "a": "", "a/b": "a/b/keyfill.yaml", "a/b/c": "a/b/keyfill.yaml"} {
		if want != "" {
			want = filepath.Join(folder, want)
		}
		if got := vet.PolicyFile(filepath.Join(folder, name)); got != want {
			t.Errorf("PolicyFile(%q) = %q, want %q", name, got, want)
		}
	}
}
