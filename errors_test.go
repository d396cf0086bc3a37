package keyfill_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
)

// TestSentinels: the text of an exported error of a public package begins with
// the package, so that it reads well where it stands alone.
func TestSentinels(t *testing.T) {
	own, _ := goFiles(t)
	found := 0
	for _, file := range own {
		if file.test || strings.HasPrefix(file.folder, "internal") {
			continue
		}
		name := file.name
		if file.folder != "." {
			name = file.folder + "/" + name
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for sentinel, text := range sentinels(parsed) {
			found++
			if !strings.HasPrefix(text, parsed.Name.Name+": ") {
				t.Errorf("%s: the text of %s is %q", name, sentinel, text)
			}
		}
	}
	if found == 0 {
		t.Error("no sentinel is found: this test looks in the wrong place")
	}
}

// sentinels returns the texts of the exported errors of a file.
func sentinels(file *ast.File) map[string]string {
	texts := map[string]string{}
	for _, d := range file.Decls {
		vars, ok := d.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		for _, spec := range vars.Specs {
			spec := spec.(*ast.ValueSpec)
			for i, value := range spec.Values {
				call, ok := value.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 || !spec.Names[i].IsExported() {
					continue
				}
				// The text is last, after the section of the error.
				if text, ok := call.Args[len(call.Args)-1].(*ast.BasicLit); ok && text.Kind == token.STRING {
					texts[spec.Names[i].Name], _ = strconv.Unquote(text.Value)
				}
			}
		}
	}
	return texts
}

// TestErrorSaysPackageOnce: an Error says which package it is of, also for a
// cause that says it.
func TestErrorSaysPackageOnce(t *testing.T) {
	err := &keyfill.Error{Table: "t", Offset: -1, Err: keyfill.ErrNoNumbers}
	if want := `keyfill: table "t": the source makes no consecutive integers: ask for Keys [docs/errors.md#beforehand]`; err.Error() != want {
		t.Errorf("Error = %q, want %q", err, want)
	}
}
