package keyfill_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/keys/report"
)

// logPage is the page with the table of messages.
const logPage = "docs/monitoring.md"

// TestLogTable: the page lists each message that keyfill can log, with its level and its
// attributes, and no other one.
func TestLogTable(t *testing.T) {
	var listed []string
	for line := range strings.Lines(prose(t, logPage)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `keyfill: ") {
			cells[1], _, _ = strings.Cut(cells[1], ";") // the level that it may have later
			listed = append(listed, strings.Join(cells[:3], " | "))
		}
	}
	var want []string
	for _, m := range report.Messages() {
		level := strings.ToLower(m.Level.String())
		if m.Text == report.MessageFinding.Text {
			level = "as the finding"
		}
		want = append(want, "| `"+m.Text+"` | "+level+" | `"+strings.Join(m.Attributes, "` `")+"`")
	}
	for _, row := range want {
		if !slices.Contains(listed, row) {
			t.Errorf("%s lacks the row %q", logPage, row)
		}
	}
	for _, row := range listed {
		if !slices.Contains(want, row) {
			t.Errorf("%s has the row %q, which keyfill does not log", logPage, row)
		}
	}
}

// TestLogIsOnePlace: what is logged goes through the messages: no other file of the module
// calls a logger, and none makes a message that is not listed.
func TestLogIsOnePlace(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range report.Messages() {
		listed[m.Text] = true
	}
	calls, made := 0, 0
	for _, name := range filesNamed(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || strings.Count(name, "/") > 0 && !strings.HasPrefix(name, "internal/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if slices.Contains([]string{"LogAttrs", "InfoContext", "WarnContext", "ErrorContext", "DebugContext"}, n.Sel.Name) {
					calls++
					if name != "internal/keys/report/messages.go" {
						t.Errorf("%s logs past the messages of internal/keys/report/messages.go", name)
					}
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Message" && len(n.Elts) > 1 {
					made++
					if text, ok := n.Elts[1].(*ast.BasicLit); !ok || !listed[strings.Trim(text.Value, `"`)] {
						t.Errorf("%s makes a message that Messages does not return", name)
					}
				}
			}
			return true
		})
	}
	if calls != 1 || made != len(listed) {
		t.Errorf("%d calls of a logger and %d messages were found, want 1 and %d", calls, made, len(listed))
	}
}
