package keyfill_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notMade are types that no function makes and with which a program begins.
var notMade = map[string]string{"keyfillgorm": "Plugin"}

// needServers are the packages whose examples need a server: a test of theirs runs them.
var needServers = []string{"keyfillpgx"}

// TestExamples: every function of the public packages has an example that runs, and
// so has every type that a function makes.
func TestExamples(t *testing.T) {
	for _, folder := range publicFolders(t) {
		if strings.HasPrefix(folder, "auto/") {
			continue // a blank import has nothing to call
		}
		p := documentation(t, folder)
		for _, f := range p.Funcs {
			checkExamples(t, folder, f.Name, f.Examples)
		}
		for _, made := range p.Types {
			if len(made.Funcs) == 0 && made.Name != notMade[folder] || !ast.IsExported(made.Name) {
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
		if e.Output != "" || e.EmptyOutput || slices.Contains(needServers, folder) {
			return
		}
	}
	t.Errorf("%s: %s has no example that runs", folder, name)
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
