package golangci_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/keyfill/keyfill/internal/testturn"
	_ "github.com/keyfill/keyfill/keyfillvet/golangci"
)

// newPlugin makes the plugin as golangci-lint does, with settings as its file has them.
func newPlugin(t *testing.T, settings any) (register.LinterPlugin, error) {
	t.Helper()
	makePlugin, err := register.GetPlugin("keyfill")
	if err != nil {
		t.Fatal(err)
	}
	return makePlugin(settings)
}

// TestPlugin: the plugin is registered, takes its settings, and refuses others.
func TestPlugin(t *testing.T) {
	p, err := newPlugin(t, map[string]any{"config": "a.yaml", "dialect": "mysql", "dynamic": true})
	if err != nil {
		t.Fatal(err)
	}
	analyzers, err := p.BuildAnalyzers()
	if err != nil || len(analyzers) != 1 || p.GetLoadMode() != register.LoadModeTypesInfo {
		t.Fatalf("analyzers %v, error %v, load mode %q", analyzers, err, p.GetLoadMode())
	}
	for name, want := range map[string]string{"config": "a.yaml", "dialect": "mysql", "dynamic": "true"} {
		if got := analyzers[0].Flags.Lookup(name).Value.String(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := newPlugin(t, map[string]any{"policy": "a.yaml"}); err == nil {
		t.Error("settings that the plugin does not know are no error")
	}
}

// golangciVersion is the version of golangci-lint that "make lint" runs, so that most of
// what is compiled here is in the build cache.
const golangciVersion = "v2.15.0"

// mainFile is the program that "golangci-lint custom" makes, which clones golangci-lint
// from its repository.
const mainFile = `package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"

	_ "github.com/keyfill/keyfill/keyfillvet/golangci"
)

func main() {
	if err := commands.Execute(commands.BuildInfo{Version: "custom"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
`

// TestGolangci builds golangci-lint with the plugin, and runs it on a module. It compiles
// for minutes where nothing is in the build cache, so "make test" leaves it out while its
// files are the same.
func TestGolangci(t *testing.T) {
	testturn.WhenChanged(t, "keyfillvet/", "internal/vet/", "internal/gosql/")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	program := filepath.Join(folder, "custom-gcl")
	build := writeFiles(t, filepath.Join(folder, "build"), map[string]string{
		"main.go": mainFile,
		"go.mod": fmt.Sprintf("module custom\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/golangci/golangci-lint/v2 %s\n"+
			"\tgithub.com/keyfill/keyfill/keyfillvet v0.0.0\n)\n\nreplace (\n\tgithub.com/keyfill/keyfill => %[2]s\n"+
			"\tgithub.com/keyfill/keyfill/keyfillvet => %[2]s/keyfillvet\n)\n", golangciVersion, root),
	})
	if out, err := command(build, "go", "build", "-mod=mod", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	shop := writeFiles(t, filepath.Join(folder, "shop"), map[string]string{
		"go.mod":       "module shop\n\ngo 1.26.0\n",
		"keyfill.yaml": "version: 1\ntables: {orders: {column: id}}\n",
		".golangci.yml": "version: \"2\"\nlinters:\n  default: none\n  enable: [keyfill]\n  settings:\n    custom:\n      keyfill:\n" +
			"        type: module\n        settings: {config: keyfill.yaml, dialect: mysql}\n",
		"shop.go": "// Package shop has two INSERTs.\npackage shop\n\nconst (\n\tfilled  = \"INSERT INTO orders (note) VALUES (?)\"\n" +
			"\trefused = \"INSERT INTO orders SELECT * FROM carts\"\n)\n",
	})
	run := command(shop, program, "run", "--output.json.path", "stdout", "--show-stats=false")
	run.Env = append(run.Env, "GOLANGCI_LINT_CACHE="+filepath.Join(folder, "cache"))
	out, err := run.Output()
	if run.ProcessState.ExitCode() != 1 {
		t.Fatalf("golangci-lint: %v\n%s", err, out)
	}
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct{ Line int }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("the report is %q: %v", out, err)
	}
	var got []string
	for _, issue := range report.Issues {
		got = append(got, fmt.Sprintf("%d %s %.30s", issue.Pos.Line, issue.FromLinter, issue.Text))
	}
	if want := []string{"6 keyfill keyfill/refused: an INSERT int"}; !slices.Equal(got, want) {
		t.Errorf("golangci-lint tells %q, want %q", got, want)
	}
}

// writeFiles makes a folder of files.
func writeFiles(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// command returns a command that runs in a folder.
func command(folder, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = folder
	c.Env = append(os.Environ(), "GOWORK=off")
	return c
}
