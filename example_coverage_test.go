package keyfill_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestExamples: every function of the public packages has an example that runs, and
// so has every type that a function makes.
func TestExamples(t *testing.T) {
	for _, folder := range []string{".", "dialect", "keysource", "keyfilltest", "policy", "rewrite"} {
		p := documentation(t, folder)
		for _, f := range p.Funcs {
			checkExamples(t, folder, f.Name, f.Examples)
		}
		for _, made := range p.Types {
			if len(made.Funcs) == 0 || !ast.IsExported(made.Name) {
				continue
			}
			examples := made.Examples
			for _, f := range append(made.Funcs, made.Methods...) {
				examples = append(examples, f.Examples...)
			}
			checkExamples(t, folder, made.Name, examples)
		}
	}
}

// checkExamples complains where no example of a name has an output to compare.
func checkExamples(t *testing.T, folder, name string, examples []*doc.Example) {
	t.Helper()
	for _, e := range examples {
		if e.Output != "" || e.EmptyOutput {
			return
		}
	}
	t.Errorf("%s: %s has no example with an output", folder, name)
}

// documentation returns what go doc would show of a folder, examples included.
func documentation(t *testing.T, folder string) *doc.Package {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	var all []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	p, err := doc.NewFromFiles(files, all, "github.com/keyfill/keyfill/"+folder)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
