package keyfill_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxMethods bounds the methods of a type in the packages on the way of a statement, so
// that a reader can see what the type is for. mostMethods has the types with another
// bound.
const maxMethods = 25

var mostMethods = map[string]int{
	"internal/counting.Snowflake": 32,
	"internal/counting.Sequence":  30,
	"internal/counting.Recycled":  30,

	// What is asked of the current token, and of the tokens there.
	"internal/rewrite/reader.Reader": 60,
	"internal/rewrite/scan.Scanner":  35,
	// What is known of a text, and what is found in it.
	"internal/rewrite/plans.Plan": 50,
}

// TestTypeSize counts the methods that each type declares.
func TestTypeSize(t *testing.T) {
	dirs := []string{".", "internal/fill", "internal/fill/execution", "internal/fill/executor", "internal/fill/outcome", "internal/fill/retry", "internal/keys", "internal/keys/counter", "internal/keys/numbering", "internal/keys/relation", "internal/keys/table", "internal/session", "internal/store", "internal/counting"}
	for _, top := range []string{"internal/store", "internal/rewrite"} {
		floors, err := filepath.Glob(top + "/*/*.go")
		if err != nil || len(floors) == 0 {
			t.Fatalf("%d files below %s, %v", len(floors), top, err)
		}
		for _, file := range floors {
			if dir := filepath.Dir(file); dir != dirs[len(dirs)-1] {
				dirs = append(dirs, dir)
			}
		}
	}
	for _, dir := range dirs {
		for name, methods := range declaredMethods(t, dir) {
			name = dir + "." + name
			limit, own := mostMethods[name]
			switch {
			case !own:
				limit = maxMethods
			}
			if methods > limit {
				t.Errorf("%s has %d methods, want at most %d: split it", name, methods, limit)
			}
		}
	}
}

// declaredMethods counts the methods of each type of a package, without its tests.
func declaredMethods(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	methods := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	return methods
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// The root package holds the public API and the way in. What it does beyond that belongs
// into the rooms below it: see docs/architecture.md.
const (
	maxRootFiles = 12
	maxRootLines = 1150 // without comments and blank lines
)

// TestRootSize counts the files of the root package, and their lines of code.
func TestRootSize(t *testing.T) {
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, lines := 0, 0
	for _, name := range all {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files++
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
	}
	if files == 0 || files > maxRootFiles || lines > maxRootLines {
		t.Errorf("%d files with %d lines of code, want at most %d and %d", files, lines, maxRootFiles, maxRootLines)
	}
}
