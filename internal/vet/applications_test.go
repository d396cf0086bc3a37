package vet_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/internal/vet"
	"github.com/keyfill/keyfill/policy"
)

var (
	update       = flag.Bool("update", false, "write the counts of the applications into testdata")
	showFindings = flag.Bool("findings", false, "print each finding of the applications")
)

// application is a public application whose module holds its INSERTs.
type application struct {
	module, version, sum string // the sum is the one of go.sum
	dialect              string
	builders             []string // module@version of a query builder that it uses
	long                 bool     // it is read with KEYFILL_SOAK=1 alone
	inits                []string // files with the policies that keyfill init writes for its schemas
}

// applications are the five to which keyfill init gives a policy in cmd/keyfill, and three
// more. They have INSERTs in constants, in formats, in builders, in queries of sqlc, by
// squirrel and in migrations.
var applications = []application{
	{"github.com/openfga/openfga", "v1.22.1", "h1:gl5DiX841ZK3GSTAbgUUYEpiAfAK4EZFMQYW1NQmK8U=", "mysql",
		[]string{"github.com/Masterminds/squirrel@v1.5.4", "github.com/lann/builder@v0.0.0-20180802200727-47ae307949d0"}, false, []string{"openfga-mysql"}},
	{"github.com/google/trillian", "v1.8.0", "h1:AnbjOFFMQyvqpPAARj97CKEXmoSpCy2hZw0T7Y1Y0BA=", "mysql", nil, false, []string{"trillian-mysql"}},
	{"go.temporal.io/server", "v1.29.1", "h1:sgiMveg/8e51lA62pWb9VzC5WTRitKFyT6XsjonHUhE=", "postgres", nil, true, []string{"server-pgx"}},
	{"github.com/riverqueue/river/riverdriver/riverpgxv5", "v0.51.1", "h1:ojQHIvNGa7YRKjoCN5OC/N/vxKWwmVco761q2RozI+U=", "postgres", nil, false, []string{"riverpgxv5-pgx"}},
	{"github.com/ory/kratos", "v1.3.1", "h1:XOw84ToAxLDb5K5Xv/Qspk0vzlBq+6zgz2TufVg4kkU=", "postgres", nil, false, []string{"kratos-pgx", "kratos-sqlite"}},
	{"github.com/k3s-io/kine", "v0.17.5", "h1:QHFCxnRqLvpstdUE86BAUCPiJjOxxV3mBe6pb/fOeYQ=", "postgres", nil, false, nil},
	{"github.com/lightningnetwork/lnd/sqldb", "v1.0.4", "h1:9cMwPxcrLQG8UmyZO4q8SpR7NmxSwBMbj3AispdcwHg=", "postgres", nil, false, nil},
	{"github.com/transparency-dev/tessera", "v1.0.4", "h1:IXjGowubcLR0T3zUQrysSMKgtTh9KGKQ0iajUiubyP4=", "mysql", nil, false, nil},
}

// TestApplications counts the outcomes of the INSERTs of public applications, under a
// policy that has every table, and under the policies that keyfill init writes for their
// schemas, of which the tests of the command make the files. What they import is read as
// far as it is theirs, of Go, or the query builder; of the rest nothing is known, as in a
// source with mistakes.
func TestApplications(t *testing.T) {
	testturn.WhenChanged(t, "internal/vet/", "internal/gosql/", "rewrite/", "internal/rewrite/", "dialect/")
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("modules are loaded")
	}
	golden := filepath.Join("testdata", "applications.txt")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, a := range applications {
		if a.long && os.Getenv("KEYFILL_SOAK") != "1" {
			b.WriteString(linesOf(string(want), a.module))
			continue
		}
		l := &loader{t: t, fset: token.NewFileSet(), roots: map[string]string{a.module: download(t, a.module+"@"+a.version, a.sum)}, packages: map[string]*types.Package{}}
		for _, builder := range a.builders {
			name, _, _ := strings.Cut(builder, "@")
			l.roots[name] = download(t, builder, "")
		}
		findings := l.under("version: 1\ndialect: "+a.dialect+"\ntables: {\"*\": {column: id}}\n", a.module)
		fmt.Fprintf(&b, "%s %s, %s: %s\n", a.module, a.version, a.dialect, counted(findings))
		for _, name := range a.inits {
			text, err := os.ReadFile(filepath.Join("testdata", "init", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  by the policy of keyfill init, %s: %s\n", name, counted(l.under(string(text), a.module)))
		}
		if *showFindings {
			for _, f := range findings {
				name := strings.TrimPrefix(f.At.Filename, l.roots[a.module]+"/")
				fmt.Printf("FINDING\t%s\t%s:%d\t%s\t%s\t%s\t%q\n", a.module, name, f.At.Line, f.Action, f.Table, f.Reason, strings.Join(strings.Fields(f.Text), " "))
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// linesOf returns the lines about a module, the first of which begins with its name.
func linesOf(text, module string) string {
	_, lines, _ := strings.Cut("\n"+text, "\n"+module+" ")
	end := regexp.MustCompile(`\n\S`).FindStringIndex(lines)
	if end == nil {
		return module + " " + lines
	}
	return module + " " + lines[:end[0]+1]
}

// counted counts the INSERTs of findings by their outcome.
func counted(findings []vet.Finding) string {
	sum := vet.Summarize(findings)
	var b strings.Builder
	fmt.Fprintf(&b, "%d INSERTs:", sum.Inserts)
	for _, action := range vet.Actions {
		fmt.Fprintf(&b, " %d %s", sum.Actions[action], action)
	}
	fmt.Fprintf(&b, "; texts that are not known: %d", sum.Unknown)
	return b.String()
}

// under returns the findings of a module under a policy.
func (l *loader) under(text, module string) []vet.Finding {
	l.t.Helper()
	c, err := policy.Parse([]byte(text))
	if err != nil {
		l.t.Fatal(err)
	}
	j, err := vet.NewJudge(c)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.findings(j, l.roots[module], module)
}

// download returns the folder of a module, which the go command loads and compares with
// the sum.
func download(t *testing.T, module, sum string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
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
	if sum != "" && said.Sum != sum {
		t.Fatalf("%s has the sum %s, want %s", module, said.Sum, sum)
	}
	return said.Dir
}

// loader reads the packages of modules by their source.
type loader struct {
	t        *testing.T
	fset     *token.FileSet
	roots    map[string]string // folders of modules, by their paths
	packages map[string]*types.Package
	goSource types.Importer
}

// known are the packages of Go in which texts are put together and executed.
var known = []string{"bytes", "context", "database/sql", "embed", "errors", "fmt", "io", "sort", "strconv", "strings", "sync", "text/template", "time"}

// Import returns a package; an empty one where it is not read.
func (l *loader) Import(path string) (*types.Package, error) {
	if p := l.packages[path]; p != nil {
		return p, nil
	}
	empty := types.NewPackage(path, filepath.Base(path))
	empty.MarkComplete()
	l.packages[path] = empty
	if slices.Contains(known, path) {
		if l.goSource == nil {
			l.goSource = importer.ForCompiler(l.fset, "source", nil)
		}
		p, err := l.goSource.Import(path)
		if err == nil {
			l.packages[path] = p
		}
		return p, err
	}
	for module, folder := range l.roots {
		if rest, ok := strings.CutPrefix(path+"/", module+"/"); ok {
			if p, _, _ := l.read(path, filepath.Join(folder, filepath.FromSlash(rest)), true); p != nil {
				l.packages[path] = p
			}
		}
	}
	return l.packages[path], nil
}

// read reads the package in a folder, nil where it has none. outside leaves out the bodies
// of functions.
func (l *loader) read(path, folder string, outside bool) (*types.Package, []*ast.File, *types.Info) {
	found, err := build.ImportDir(folder, 0)
	if err != nil {
		return nil, nil, nil
	}
	var files []*ast.File
	for _, name := range found.GoFiles {
		file, err := parser.ParseFile(l.fset, filepath.Join(folder, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			l.t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: l, Error: func(error) {}, IgnoreFuncBodies: outside}
	p, _ := config.Check(path, l.fset, files, info) // what it does not know is a mistake
	return p, files, info
}

// inserting finds files that may have an INSERT.
var inserting = regexp.MustCompile(`(?i)\b(insert|replace)\s+(\w+\s+){0,3}into\b|\b(New)?Insert(Into)?\(`)

// findings returns the findings of the packages and files of SQL below a folder that may
// have an INSERT.
func (l *loader) findings(j *vet.Judge, folder, module string) (all []vet.Finding) {
	folders := map[string]bool{}
	queries := map[string]bool{}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := entry.Name(); entry.IsDir() && (base == "vendor" || base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
			return fs.SkipDir
		}
		if ext := filepath.Ext(name); ext != ".go" && ext != ".sql" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || !inserting.Match(text) {
			return err
		}
		if filepath.Ext(name) == ".go" {
			folders[filepath.Dir(name)] = true
			return nil
		}
		script, err := j.Script(name, strings.NewReader(string(text)), strings.Contains(string(text), "-- name: "))
		if err != nil {
			l.t.Logf("%v", err) // of another engine
		}
		all = append(all, script.Findings...)
		for _, query := range script.Queries {
			queries[query] = true
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	for dir := range folders {
		path := module + strings.TrimPrefix(filepath.ToSlash(dir), filepath.ToSlash(folder))
		p, files, info := l.read(path, dir, false)
		if p == nil {
			continue
		}
		for _, f := range j.Source(l.fset, gosql.Source{Package: p, Files: files, Info: info}) {
			if !queries[vet.QueryName(f.Text)] {
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, vet.Finding.Compare)
	return all
}
