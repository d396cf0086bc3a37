package apps_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// workspace is a folder with a go.work that holds all modules of the repository and one
// of the test, so that a block may import what any of them does.
type workspace struct {
	folder string
	t      *testing.T
}

// newWorkspace makes a workspace in a temporary folder.
func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{folder: t.TempDir(), t: t}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}")
	list.Dir = root
	list.Env = append(os.Environ(), "GOWORK=") // go.work of the repository
	modules, err := list.Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	if found := strings.Count(string(modules), "\n"); found < 10 {
		t.Fatalf("go.work has %d modules, want 10 or more", found)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.work.sum"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("go.work.sum", string(sums))
	w.write("go.work", "go 1.26.0\n\nuse (\n\t./blocks\n"+string(modules)+")\n")
	w.write("blocks/go.mod", "module blocks.test\n\ngo 1.26.0\n")
	return w
}

// write writes a file of the workspace.
func (w *workspace) write(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// goCommand runs the go command in the module of the test, and returns what it prints.
func (w *workspace) goCommand(args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir = filepath.Join(w.folder, "blocks")
	command.Env = append(os.Environ(), "GOWORK="+filepath.Join(w.folder, "go.work"), "GOFLAGS=")
	out, err := command.CombinedOutput()
	return string(out), err
}

// add writes the package of a block, in a folder of its own.
func (w *workspace) add(b block, text string, number int) {
	w.t.Helper()
	file, err := source(b, text)
	if err != nil {
		w.t.Error(err)
		return
	}
	folder := fmt.Sprintf("blocks/block%d/", number)
	w.write(folder+"block.go", file)
	if strings.Contains(text, "//go:embed keyfill.yaml") {
		w.write(folder+"keyfill.yaml", policyOf(w.t, b.page).text)
	}
}

// policyOf returns the first whole policy of a page.
func policyOf(t *testing.T, page string) block {
	t.Helper()
	for _, b := range blocksOf(t, page) {
		if b.language == "yaml" && !b.has("fragment") {
			return b
		}
	}
	t.Fatalf("%s has no whole policy", page)
	return block{}
}

// TestGo: every block of Go is compiled and vetted: a program as it is, a fragment among
// the names that its page has introduced, a difference on both sides.
func TestGo(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	w := newWorkspace(t)
	number := 0
	for _, b := range blocks(t, "go", "diff") {
		if b.isOfRecipe() {
			continue
		}
		texts := []string{b.text}
		if b.language == "diff" {
			texts = sides(b.text)
		}
		for _, text := range texts {
			number++
			w.add(b, text, number)
		}
	}
	if out, err := w.goCommand("vet", "./..."); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

// TestGoIsCompiled: a block with a mistake is an error that names the line of its page.
func TestGoIsCompiled(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	w := newWorkspace(t)
	b := block{page: "p.md", line: 7, language: "go"}
	for i, text := range []string{"a := 1\nb := a + ctx\n", "var a int = dsn\n"} {
		w.add(b, text, i)
	}
	out, err := w.goCommand("vet", "./...")
	for _, want := range []string{"p.md:8", "p.md:7"} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("go vet names no %s: %v\n%s", want, err, out)
		}
	}
}
