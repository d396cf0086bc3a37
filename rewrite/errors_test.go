package rewrite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/rewrite"
)

// TestReasons: every reason has a text, and none has two.
func TestReasons(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Err") {
			return true
		}
		word := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		text := rewrite.Reason(word).Error()
		if text == "" || seen[text] || seen[word] {
			t.Errorf("%s: word %q, text %q: missing or used twice", spec.Names[0].Name, word, text)
		}
		seen[text], seen[word] = true, true
		return true
	})
	if len(seen) < 20 {
		t.Errorf("%d words and texts found", len(seen))
	}
}
