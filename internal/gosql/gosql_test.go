package gosql_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/gosql"
)

// source returns a package with one file.
func source(t *testing.T, text string) (*token.FileSet, gosql.Source) {
	t.Helper()
	return sourceWith(t, text, types.Config{Importer: importer.Default()})
}

// sourceWith returns a package with one file, which may have mistakes where config hears
// of them.
func sourceWith(t *testing.T, text string, config types.Config) (*token.FileSet, gosql.Source) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "shop.go", "package shop\n"+text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	pkg, err := config.Check("shop", fset, []*ast.File{file}, info)
	if err != nil && config.Error == nil {
		t.Fatal(err)
	}
	return fset, gosql.Source{Package: pkg, Files: []*ast.File{file}, Info: info}
}

// show writes a text on one line: unknown parts stand in braces, "!" before an executed
// text, and "~" before a piece.
func show(text gosql.Text) string {
	var b strings.Builder
	if text.Sent {
		b.WriteString("!")
	}
	if text.Piece {
		b.WriteString("~")
	}
	for _, p := range text.Parts {
		if p.Unknown != "" {
			b.WriteString("{" + p.Unknown + "}")
		}
		b.WriteString(p.SQL)
	}
	return b.String()
}

// TestFind: what is found in a function's body, and before it.
func TestFind(t *testing.T) {
	const imports = "import (\"bytes\"; \"context\"; \"database/sql\"; \"fmt\"; \"strings\")\n" +
		"var _ = bytes.Compare; var _ context.Context; var _ sql.Result; var _ = fmt.Sprint; var _ = strings.ToUpper\n" +
		"type execer interface { ExecContext(context.Context, string, ...any) (sql.Result, error) }\n" +
		"func log(s string) {}\n"
	for _, tt := range []struct {
		name, before, body string
		want               []string
	}{
		{"a literal", "", "db.Exec(`A`)", []string{"!A"}},
		{"a literal that is not executed", "", "log(`A`)", []string{"A"}},
		{"a sum", "", "db.Exec(`A` + ` ` + `B`)", []string{"!A B"}},
		{"a sum with a part that is not known", "", "db.Exec(`A ` + table + ` B`)", []string{"!A {table} B"}},
		{"a constant", "const q = `A`", "db.Exec(q)", []string{"!A"}},
		{"a constant that nobody uses", "const q = `A`", "", []string{"A"}},
		{"a constant that is only a part", "const q = `A`", "db.Exec(q + ` B`)", []string{"!A B"}},
		{"a constant that is used both ways", "const q = `A`", "log(q); db.Exec(q + ` B`)", []string{"A", "!A B"}},
		{"a constant made of another one", "const t = `T`\nconst q = `A ` + t", "db.Exec(q)", []string{"!A T"}},
		{"a variable of the package", "var q = `A`", "db.Exec(q)", []string{"!A"}},
		{"a variable of the package that is assigned", "var q = `A`", "q = `B`; db.Exec(q)", []string{"!A", "!B"}},
		{"a local variable", "", "q := `A`; db.Exec(q)", []string{"!A"}},
		{"a variable that is a part", "", "q := `A`; db.Exec(q + ` B`)", []string{"!A B"}},
		{"additions", "", "q := `A`; q += ` B`; q = q + ` C`; db.Exec(q)", []string{"!A B C"}},
		{"a text between additions", "", "q := `A`; log(q); q += ` B`; db.Exec(q)", []string{"A", "!A B"}},
		{"the same text twice", "", "q := `A`; q += ` B`; log(q); db.Exec(q)", []string{"!A B"}},
		{"an addition in an if", "", "q := `A`; if table != `` { q += ` B` }; q += ` C`; db.Exec(q)", []string{"!A{` B`} C"}},
		{"an addition in a loop", "", "q := `A`; for range 3 { q += `,?` }; db.Exec(q)", []string{"!A{`,?`}"}},
		{"an addition after the use, in a loop", "", "q := `A`; for range 3 { db.Exec(q); q += `B` }", []string{"!~A", "!~B"}},
		{"an addition to one of two", "", "var q string; if table != `` { q = `A` } else { q = `B` }; q += ` C`; db.Exec(q)", []string{"!~A", "!~B", "!~ C"}},
		{"an addition in place of the first", "", "q := `A`; if table != `` { q = `B` }; q += ` C`; db.Exec(q)", []string{"!~A", "!~B", "!~ C"}},
		{"one of two", "", "var q string; if table != `` { q = `A` } else { q = `B` }; db.Exec(q)", []string{"!A", "!B"}},
		{"one of two, in place of the first", "", "q := `A`; if table != `` { q = `B` }; db.Exec(q)", []string{"!A", "!B"}},
		{"an address", "", "q := `A`; p := &q; *p = `B`; db.Exec(q)", []string{"!A", "B"}},
		{"a function literal", "", "q := `A`; func() { q = `B` }(); db.Exec(q)", []string{"!A", "!B"}},
		{"Sprintf", "", "db.Exec(fmt.Sprintf(`A %s %d %v %% %q`, `x`, 3, `y`, `z`))", []string{"!A x 3 y % \"z\""}},
		{"Sprintf with an unknown part", "", "db.Exec(fmt.Sprintf(`A %s (%s)`, table, `b`))", []string{"!A {table} (b)"}},
		{"Sprintf with indexes", "", "db.Exec(fmt.Sprintf(`%[2]s %[1]s %[2]s`, `a`, `b`))", []string{"!b a b"}},
		{"Sprintf with a width", "", "db.Exec(fmt.Sprintf(`A %5s`, `x`))", []string{"!A x"}},
		{"Sprintf with a constant format", "const q = `A %s`", "db.Exec(fmt.Sprintf(q, `x`))", []string{"!A x"}},
		{"Sprintf of what prints itself", "type name string\nfunc (name) String() string { return `other` }", "db.Exec(fmt.Sprintf(`A %s`, name(`x`)))", []string{"other", "!A {name(`x`)}", "x"}},
		{"Sprintf with a list", "", "args := []any{1}; db.Exec(fmt.Sprintf(`A %s`, args...))", []string{"!A {%s}"}},
		{"Join", "", "db.Exec(`A (` + strings.Join([]string{`b`, `c`}, `, `) + `)`)", []string{"!A (b, c)"}},
		{"Join of a variable", "", "all := []string{`b`, table}; db.Exec(`A ` + strings.Join(all, `,`))", []string{"b", "!A b,{table}"}},
		{"Join of what is not known", "", "var all []string; all = append(all, `b`); db.Exec(`A ` + strings.Join(all, `,`))", []string{"~b", "!A {strings.Join(all, `,`)}", ","}},
		{"Repeat", "", "db.Exec(`A` + strings.Repeat(`,?`, 3))", []string{"!A,?,?,?"}},
		{"TrimSuffix", "", "db.Exec(strings.TrimSuffix(`A,`, `,`))", []string{"!A"}},
		{"a conversion", "type query string", "db.Exec(string(query(`A`)))", []string{"!A"}},
		{"a builder", "", "var b strings.Builder; b.WriteString(`A`); b.WriteByte(' '); fmt.Fprintf(&b, `B %d`, 3); db.Exec(b.String())", []string{"!A B 3"}},
		{"a buffer", "", "b := bytes.Buffer{}; b.WriteString(`A`); b.WriteString(table); db.Exec(b.String())", []string{"!A{table}"}},
		{"a pointer to a builder", "", "b := &strings.Builder{}; b.WriteString(`A`); fmt.Fprint(b, `B`); db.Exec(b.String())", []string{"!AB"}},
		{"a new builder", "", "b := new(strings.Builder); b.WriteString(`A`); q := b.String(); db.Exec(q)", []string{"!A"}},
		{"a builder in a loop", "", "var b strings.Builder; b.WriteString(`A`); for range 3 { b.WriteString(`,?`) }; db.Exec(b.String())", []string{"!A{b.WriteString(`,?`)}"}},
		{"a builder that is emptied", "", "var b strings.Builder; b.WriteString(`A`); b.Reset(); b.WriteString(`B`); db.Exec(b.String())", []string{"!B"}},
		{"a builder that others get", "func fill(b *strings.Builder) {}", "var b strings.Builder; b.WriteString(`A`); fill(&b); db.Exec(b.String())", []string{"~A"}},
		{"a builder that is executed in a loop", "", "var b strings.Builder; b.WriteString(`A`); for range 3 { db.Exec(b.String()); b.WriteString(`B`) }", []string{"~A", "~B"}},
		{"a format for a builder that others get", "func fill(b *strings.Builder) {}", "var b strings.Builder; fmt.Fprintf(&b, `A %s %s`, `x`, table); fill(&b)", []string{"~A x {table}"}},
		{"a format for a writer", "const q = `A %s`", "fmt.Fprintf(bytes.NewBuffer(nil), q, `x`+table)", []string{"~A x{table}"}},
		{"a map", "var all = map[string]string{`x`: `A`}", "db.Exec(all[`x`])", []string{"x", "A", "x"}},
		{"a parameter", "", "db.Exec(table)", nil},
		{"an addition to a parameter", "", "table += ` B`; db.Exec(table)", []string{"!~ B"}},
		{"a parameter with a value in the place of none", "", "if table == `` { table = `A` }; db.Exec(table + ` B`)", []string{"A", "!{table} B"}},
		{"a parameter that is a builder", "func g(b *strings.Builder) string { b.WriteString(`B`); return b.String() }", "", []string{"~B"}},
		{"a list in a parameter", "func g(all []string) string { if all == nil { all = []string{`b`} }; return `A ` + strings.Join(all, `,`) }", "", []string{"b", "A {strings.Join(all, `,`)}", ","}},
		{"a receiver", "type query string\nfunc (q query) add() string { q += ` B`; return string(q) }", "", []string{"~ B"}},
		{"a result", "func g() (q string) { q = `A`; q += ` B`; return q }", "", []string{"A B"}},
		{"a result that no return names", "func g() (q string) { q = `A`; q += ` B`; return }", "", []string{"~A", "~ B"}},
		{"an interface of the program", "", "var e execer = db; e.ExecContext(ctx, `A`)", []string{"!A"}},
		{"a name and a text", "type conn struct{}\nfunc (conn) Prepare(ctx context.Context, name, sql string) {}", "conn{}.Prepare(ctx, `N`, `A`)", []string{"N", "!A"}},
		{"a method that has another meaning", "type cache struct{}\nfunc (cache) Get(key string) {}", "cache{}.Get(`A`)", []string{"A"}},
		{"Get with arguments", "type base struct{}\nfunc (base) Get(to any, query string, args ...any) {}", "base{}.Get(nil, `A`)", []string{"!A"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, s := source(t, imports+tt.before+"\nfunc f(ctx context.Context, db *sql.DB, table string) {\n"+tt.body+"\n}\n")
			var got []string
			for _, text := range gosql.Find(s).Texts {
				if shown := show(text); shown != "" {
					got = append(got, shown)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestMistakes: a package with mistakes is read as far as it goes.
func TestMistakes(t *testing.T) {
	_, s := sourceWith(t, `
import ("fmt"; "strings")
var (
	a = strings.TrimPrefix("A")
	b = strings.ReplaceAll("A", "B")
	c = strings.TrimSpace()
	d = fmt.Sprintf() + strings.Repeat("A") + strings.Join()
	e = strings.ToUpper("A", "B")
	f = "good"
)
`, types.Config{Importer: importer.Default(), Error: func(error) {}})
	texts := gosql.Find(s).Texts
	if len(texts) == 0 || show(texts[len(texts)-1]) != "good" {
		t.Errorf("the text behind the mistakes is not found")
	}
}

// TestEmbed: a variable has the text of the one file that it embeds.
func TestEmbed(t *testing.T) {
	_, s := source(t, `
import ("database/sql"; _ "embed")
//go:embed a.sql
var a string
var (
	// The text of b.
	//go:embed b.sql
	b []byte
	//go:embed "c.sql"
	c string
)
//go:embed *.sql
var d string
//go:embed nowhere.sql
var e string
func f(db *sql.DB, more string) {
	db.Exec(a)
	db.Exec(string(b))
	db.Exec(c + more)
	db.Exec(d)
	db.Exec(e)
	res, _ := db.Exec(a)
	res.LastInsertId()
}
`)
	s.Embed = func(at token.Pos, name string) (text, path string, ok bool) {
		if !at.IsValid() {
			t.Errorf("%s is embedded nowhere", name)
		}
		return strings.ToUpper(name[:1]), "/shop/" + name, name != "nowhere.sql"
	}
	found := gosql.Find(s)
	var got []string
	for _, text := range found.Texts {
		got = append(got, show(text)+" "+text.Embedded)
	}
	if want := []string{"!A /shop/a.sql", "!B /shop/b.sql", "!C{more} "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(found.Unknown) != 2 || len(found.LastIDs) != 1 {
		t.Errorf("%d texts are not known, want 2; %d LastInsertId, want 1", len(found.Unknown), len(found.LastIDs))
	}
	s.Embed = nil
	if n := len(gosql.Find(s).Unknown); n != 6 {
		t.Errorf("without Embed %d texts are not known, want 6", n)
	}
}

// importing finds packages that a test has made, and the packages of Go.
type importing map[string]*types.Package

func (i importing) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return importer.Default().Import(path)
}

// TestBuilt: calls that begin an INSERT of a query builder, and calls that do not.
func TestBuilt(t *testing.T) {
	_, library := source(t, `
type InsertBuilder struct{}
func (InsertBuilder) Values(all ...any) InsertBuilder { return InsertBuilder{} }
func Insert(table string) InsertBuilder { return InsertBuilder{} }
type DB struct{}
func (*DB) NewInsert() *InsertQuery { return nil }
func (*DB) Insert(all ...any) error { return nil }
type InsertQuery struct{}
type Rows struct{}
func Replace(table string) Rows { return Rows{} }
`)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "shop.go", `package shop
import build "example.com/build"
const orders = "orders"
type InsertJob struct{}
func Insert(name string) InsertJob { return InsertJob{} }
func f(db *build.DB, table string) {
	build.Insert("shop." + orders).Values(1)
	build.Insert(table)
	db.NewInsert()
	db.Insert("a")
	build.Replace("a")
	Insert("a")
}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importing{"example.com/build": library.Package}}
	pkg, err := config.Check("shop", fset, []*ast.File{file}, info)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range gosql.Find(gosql.Source{Package: pkg, Files: []*ast.File{file}, Info: info}).Built {
		got = append(got, fmt.Sprintf("%d %s %s", fset.Position(b.Call.Pos()).Line, b.Table, b.Package))
	}
	if want := []string{"7 shop.orders shop", "8  shop", "9  shop"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnknown: calls that execute a text of which nothing is known.
func TestUnknown(t *testing.T) {
	fset, s := source(t, `
import ("context"; "database/sql")
func f(ctx context.Context, db *sql.DB, query string) {
	db.ExecContext(ctx, query)
	db.ExecContext(ctx, "A" + query)
	var q string
	if query == "" { q = "A" } else { q = "B" }
	db.ExecContext(ctx, q)
	if query == "" { q = build() }
	db.Query(build())
}
func build() string { return "C" }
`)
	var lines []int
	for _, call := range gosql.Find(s).Unknown {
		lines = append(lines, fset.Position(call.Call.Pos()).Line)
	}
	if want := []int{5, 9, 11}; !slices.Equal(lines, want) {
		t.Errorf("unknown texts in lines %v, want %v", lines, want)
	}
}

// TestLastIDs: calls of LastInsertId with what was executed.
func TestLastIDs(t *testing.T) {
	_, s := source(t, `
import ("context"; "database/sql")
const insert = "A"
func f(ctx context.Context, db *sql.DB, query string) {
	res, err := db.ExecContext(ctx, insert)
	_, _ = res.LastInsertId()
	res, err = db.ExecContext(ctx, "B" + query)
	_, _ = res.LastInsertId()
	stmt, err := db.Prepare("C")
	if res, err := stmt.Exec(1); err == nil { res.LastInsertId() }
	other, err := db.Exec(query)
	_, _ = other.LastInsertId()
	_ = err
}
func g(res sql.Result) { res.LastInsertId() }
`)
	var got []string
	for _, id := range gosql.Find(s).LastIDs {
		got = append(got, show(id.Text))
	}
	if want := []string{"!A", "!B{query}", "!C"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
