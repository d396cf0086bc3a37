package apps_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// packages are the packages that blocks use, by the names that stand in them.
var packages = map[string]string{
	"context": "context", "fmt": "fmt", "fs": "io/fs", "http": "net/http", "log": "log", "slog": "log/slog", "regexp": "regexp", "sql": "database/sql", "testing": "testing",

	"keyfill":     "github.com/keyfill/keyfill",
	"keyfillgorm": "github.com/keyfill/keyfill/keyfillgorm",
	"keyfillhttp": "github.com/keyfill/keyfill/keyfillhttp",
	"keyfillotel": "github.com/keyfill/keyfill/keyfillotel",
	"keyfillpgx":  "github.com/keyfill/keyfill/keyfillpgx",
	"keyfillprom": "github.com/keyfill/keyfill/keyfillprom",
	"keyfilltest": "github.com/keyfill/keyfill/keyfilltest",
	"keysource":   "github.com/keyfill/keyfill/keysource",
	"policy":      "github.com/keyfill/keyfill/policy",

	"bun":          "github.com/uptrace/bun",
	"collectors":   "github.com/prometheus/client_golang/prometheus/collectors",
	"dialect":      "entgo.io/ent/dialect",
	"dialects":     "xorm.io/xorm/dialects",
	"entsql":       "entgo.io/ent/dialect/sql",
	"goose":        "github.com/pressly/goose/v3",
	"gorm":         "gorm.io/gorm",
	"mysql":        "gorm.io/driver/mysql",
	"mysqldialect": "github.com/uptrace/bun/dialect/mysqldialect",
	"otel":         "go.opentelemetry.io/otel",
	"otelsql":      "github.com/XSAM/otelsql",
	"pgx":          "github.com/jackc/pgx/v5",
	"pgxpool":      "github.com/jackc/pgx/v5/pgxpool",
	"prometheus":   "github.com/prometheus/client_golang/prometheus",
	"sdkmetric":    "go.opentelemetry.io/otel/sdk/metric",
	"semconv":      "go.opentelemetry.io/otel/semconv/v1.37.0",
	"shopent":      "github.com/keyfill/keyfill/examples/ent/testdata/shopent",
	"shopmysql":    "github.com/keyfill/keyfill/examples/sqlc/mysql",
	"shoppgx":      "github.com/keyfill/keyfill/examples/sqlc/pgx",
	"sqlmock":      "github.com/DATA-DOG/go-sqlmock",
	"sqlx":         "github.com/jmoiron/sqlx",
	"stdlib":       "github.com/jackc/pgx/v5/stdlib",
	"uuid":         "github.com/google/uuid",
	"xorm":         "xorm.io/xorm",
}

// around are the names that a block uses and that its page has introduced in words, each
// with its declaration.
var around = map[string]string{
	"b":         "var b *bun.DB",
	"cfg":       "var cfg *policy.Config",
	"ctx":       "var ctx context.Context",
	"customer":  "var customer uuid.UUID",
	"customers": "var customers []struct{ Name string }",
	"db":        "var db *sql.DB",
	"dsn":       "var dsn string",
	"err":       "var err error",
	"engine":    "var engine *xorm.Engine",
	"exporter":  "var exporter sdkmetric.Exporter",
	"files":     "var files fs.FS",
	"id":        "var id int64",
	"keysFirst": "func keysFirst(*keyfill.Mount) shopent.Hook { return nil }",
	"m":         "var m *keyfill.Mount",
	"mount":     "var mount *keyfill.Mount",
	"names":     "var names []string",
	"note":      "var note string",
	"order":     "var order struct{ ID int64 }",
	"options":   "func options() keyfill.Options { return keyfill.Options{} }",
	"orders":    "var orders []struct{ ID int64 }",
	"rows":      "var rows [][]any",
	"t":         "var t *testing.T",
}

// program reports whether a block is a whole file.
func (b block) program() bool { return b.language == "go" && strings.HasPrefix(b.text, "package ") }

// source returns a file of Go that holds the text of a block. A whole file is left as it
// is; declarations get a package and their imports; statements get a function too.
// Errors about the text name the line of the page.
func source(b block, text string) (string, error) {
	place := fmt.Sprintf("//line %s:%d\n", b.page, b.line)
	if b.program() {
		return place + text, nil
	}
	isDeclared := "package p\n" + text
	file, err := parser.ParseFile(token.NewFileSet(), "", isDeclared, 0)
	before, after := "", ""
	if err != nil {
		before, after = "func _() {\n", "\n}\n"
		if file, err = parser.ParseFile(token.NewFileSet(), "", "package p\n"+before+text+after, 0); err != nil {
			return "", fmt.Errorf("%s is neither declarations nor statements of Go: %w", b, err)
		}
		if names := defined(file); len(names) > 0 { // a fragment need not use what it makes
			after = strings.Repeat("_, ", len(names)-1) + "_ = " + strings.Join(names, ", ") + after
		}
	}
	var declared []string
	needs := map[string]bool{"embed": strings.Contains(text, "//go:embed")}
	for _, id := range file.Unresolved {
		if declaration, ok := around[id.Name]; ok && !slices.Contains(declared, declaration) {
			declared = append(declared, declaration)
		}
		needs[id.Name] = true
	}
	rest := strings.Join(declared, "\n") + "\n"
	for name := range packages {
		needs[name] = needs[name] || strings.Contains(rest, name+".")
	}
	return "package p\n\n" + imports(needs) + rest + before + place + text + after, nil
}

// imports returns the imports of the packages with these names.
func imports(names map[string]bool) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		path, known := packages[name]
		switch {
		case !names[name]:
		case name == "embed":
			b.WriteString("import _ \"embed\"\n")
		case known:
			fmt.Fprintf(&b, "import %s %s\n", name, strconv.Quote(path))
		}
	}
	return b.String()
}

// defined returns the names that the statements of the only function of a file define at
// its top.
func defined(file *ast.File) []string {
	var names []string
	add := func(id *ast.Ident) {
		if id.Name != "_" && !slices.Contains(names, id.Name) {
			names = append(names, id.Name)
		}
	}
	for _, statement := range file.Decls[len(file.Decls)-1].(*ast.FuncDecl).Body.List {
		switch s := statement.(type) {
		case *ast.AssignStmt:
			for _, target := range s.Lhs {
				if id, ok := target.(*ast.Ident); ok && s.Tok == token.DEFINE {
					add(id)
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						add(id)
					}
				}
			}
		}
	}
	return names
}

// sides returns the two texts that a difference is between.
func sides(text string) []string {
	var before, after strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "-"):
			before.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			after.WriteString(line[1:])
		default:
			before.WriteString(line)
			after.WriteString(line)
		}
	}
	return []string{before.String(), after.String()}
}
