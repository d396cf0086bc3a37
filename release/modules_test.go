package main

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/modfile"
)

// TestModules: the modules of this repository fit one another.
func TestModules(t *testing.T) {
	ws, err := readWorkspace(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.check(); err != nil {
		t.Error(err)
	}
	if len(ws.modules) < 10 || len(ws.published()) < 9 {
		t.Errorf("go.work has %d modules, %d of them published, want 10 and 9 or more", len(ws.modules), len(ws.published()))
	}
	for _, folder := range unpublished {
		if m, known := ws.member(ws.root().path() + "/" + folder); !known || m.isPublished() {
			t.Errorf("%s is no module of go.work", folder)
		}
	}
}

// TestContributing: CONTRIBUTING.md says which modules get no version, and docs/setup.md has
// a line of replace for each other one that a program imports beside a driver's.
func TestContributing(t *testing.T) {
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sentence, found := strings.Cut(string(page), "The modules of go.work get one version, but for ")
	sentence, _, ends := strings.Cut(sentence, ", which no user imports.")
	if !found || !ends {
		t.Fatal("CONTRIBUTING.md does not say which modules get no version")
	}
	named := strings.FieldsFunc(strings.ReplaceAll(sentence, " and", ","), func(r rune) bool { return strings.ContainsRune("`, \n", r) })
	slices.Sort(named)
	if !slices.Equal(named, unpublished) {
		t.Errorf("CONTRIBUTING.md names %q, which get no version: want %q", named, unpublished)
	}
	setup, err := os.ReadFile("../docs/setup.md")
	if err != nil {
		t.Fatal(err)
	}
	ws, err := readWorkspace(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ws.published() {
		isCommand := strings.HasPrefix(m.folder, "cmd/") || m.folder == "keyfillvet"
		line := "go mod edit -replace " + m.path() + "=../keyfill/" + m.folder + "\n"
		if m.folder != "." && !isCommand && !strings.HasPrefix(m.folder, "auto/") && !strings.Contains(string(setup), line) {
			t.Errorf("docs/setup.md lacks the line %s", line)
		}
	}
}

// TestLicense: the license is the one that the lists of modules name.
func TestLicense(t *testing.T) {
	text, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), license+" License\n") {
		t.Errorf("LICENSE is not %s: change the name in the lists too", license)
	}
}

// tiny returns a repository with a root module, a command and a module of tests.
func tiny() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"go.work":             "go 1.26.0\n\nuse (\n\t.\n\t./bench\n\t./cmd/keyfill\n)\n",
		"go.mod":              "module tiny.test/tiny\n\ngo 1.26.0\n",
		"tiny.go":             "// Package tiny has a name.\npackage tiny\n\n// Name is a name.\nconst Name = \"tiny\"\n",
		"LICENSE":             "none\n",
		"cmd/keyfill/go.mod":  "module tiny.test/tiny/cmd/keyfill\n\ngo 1.26.0\n\nrequire tiny.test/tiny v0.0.0\n\nreplace tiny.test/tiny => ../..\n",
		"cmd/keyfill/main.go": "// Command keyfill says a name.\npackage main\n\nimport \"tiny.test/tiny\"\n\nfunc main() { println(tiny.Name) }\n",
		"bench/go.mod":        "module tiny.test/tiny/bench\n\ngo 1.26.0\n\nrequire tiny.test/tiny v0.0.0\n\nreplace tiny.test/tiny => ..\n",
		"bench/bench.go":      "// Package bench is empty.\npackage bench\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return files
}

// TestCheckTells: each misfit is reported, with the folder and the remedy.
func TestCheckTells(t *testing.T) {
	for name, c := range map[string]struct{ file, from, to, want string }{
		"fits":             {},
		"version":          {"bench/go.mod", "tiny v0.0.0", "tiny v0.2.0", "write the same version"},
		"no replace":       {"cmd/keyfill/go.mod", "replace tiny.test/tiny => ../..\n", "", "cmd/keyfill/go.mod does not replace tiny.test/tiny by its folder \".\""},
		"another folder":   {"bench/go.mod", "=> ..", "=> ../cmd", "bench/go.mod does not replace"},
		"a fork":           {"cmd/keyfill/go.mod", "replace ", "replace a.test/b => c.test/d v1.0.0\n\nreplace ", "replaces a.test/b, so that nobody can install it"},
		"needless replace": {"bench/go.mod", "replace ", "replace tiny.test/tiny/cmd/keyfill => ../cmd/keyfill\n\nreplace ", "which it does not require"},
		"name":             {"bench/go.mod", "tiny/bench", "tiny/benches", "call it tiny.test/tiny/bench"},
		"Go":               {"bench/go.mod", "go 1.26.0", "go 1.25.0", "write go 1.26.0"},
		"toolchain":        {"bench/go.mod", "go 1.26.0\n", "go 1.26.0\n\ntoolchain go1.26.8\n", "names a toolchain"},
		"users' module":    {"cmd/keyfill/go.mod", "require tiny.test/tiny v0.0.0", "require (\n\ttiny.test/tiny v0.0.0\n\ttiny.test/tiny/bench v0.0.0\n)", "require the root module alone"},
	} {
		t.Run(name, func(t *testing.T) {
			files := tiny()
			if c.file != "" {
				was := string(files[c.file].Data)
				if !strings.Contains(was, c.from) {
					t.Fatalf("%s has no %q", c.file, c.from)
				}
				files[c.file].Data = []byte(strings.Replace(was, c.from, c.to, 1))
			}
			ws, err := readWorkspace(files)
			if err != nil {
				t.Fatal(err)
			}
			if err = ws.check(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("check: %v, want %q", err, c.want)
			}
		})
	}
}

// TestSharedDependencies: two versions of one dependency do not fit; an indirect one is
// as the modules above it demand.
func TestSharedDependencies(t *testing.T) {
	for ending, fits := range map[string]bool{"": false, " // indirect": true} {
		files := tiny()
		for name, version := range map[string]string{"bench/go.mod": "v1.0.0" + ending, "cmd/keyfill/go.mod": "v1.1.0"} {
			files[name].Data = append(files[name].Data, "\nrequire a.test/b "+version+"\n"...)
		}
		ws, err := readWorkspace(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.check(); (err == nil) != fits || !fits && !strings.Contains(err.Error(), "a.test/b has the versions ") {
			t.Errorf("with %q: %v", ending, err)
		}
	}
}

// TestOldestDependencies: modules for applications require one version of a dependency,
// which is older than in the other modules, or the same.
func TestOldestDependencies(t *testing.T) {
	for name, c := range map[string]struct{ library, other, command, want string }{
		"the same":       {"v1.1.0", "v1.1.0", "v1.1.0", ""},
		"older":          {"v1.0.0", "v1.0.0", "v1.1.0", ""},
		"a library's":    {"v1.0.0", "v1.0.0", "", ""},
		"newer":          {"v1.2.0", "v1.2.0", "v1.1.0", "let no module for applications require a newer one"},
		"two versions":   {"v1.0.0", "v1.0.1", "v1.1.0", "a.test/b has the versions map[v1.0.0:[auto/a] v1.0.1:[auto/b]]"},
		"newer by digit": {"v1.10.0", "v1.10.0", "v1.9.0", "let no module"},
	} {
		t.Run(name, func(t *testing.T) {
			files := tiny()
			files["go.work"].Data = []byte("go 1.26.0\n\nuse (\n\t.\n\t./auto/a\n\t./auto/b\n\t./cmd/keyfill\n)\n")
			for folder, version := range map[string]string{"auto/a": c.library, "auto/b": c.other} {
				files[folder+"/go.mod"] = &fstest.MapFile{Data: []byte("module tiny.test/tiny/" + folder + "\n\ngo 1.26.0\n\nrequire a.test/b " + version + "\n")}
			}
			if c.command != "" {
				files["cmd/keyfill/go.mod"].Data = append(files["cmd/keyfill/go.mod"].Data, "\nrequire a.test/b "+c.command+"\n"...)
			}
			ws, err := readWorkspace(files)
			if err != nil {
				t.Fatal(err)
			}
			if err = ws.check(); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("check: %v, want %q", err, c.want)
			}
		})
	}
}

// TestNewestVersions: e2e.work has e2e, the root and the modules that applications import.
func TestNewestVersions(t *testing.T) {
	ws, err := readWorkspace(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"e2e"}
	for _, m := range ws.modules {
		if m.isLibrary() {
			want = append(want, m.folder)
		}
	}
	text, err := os.ReadFile("../e2e.work")
	if err != nil {
		t.Fatal(err)
	}
	work, err := modfile.ParseWork("e2e.work", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, use := range work.Use {
		got = append(got, path.Clean(use.Path))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("e2e.work has %q, want %q", got, want)
	}
}

// TestReleasedSums: the sums of the root module stand where the go command puts them, and
// once.
func TestReleasedSums(t *testing.T) {
	files := tiny()
	files["cmd/keyfill/go.sum"] = &fstest.MapFile{Data: []byte("a.test/b v1.0.0 h1:a=\nz.test/y v1.0.0/go.mod h1:z=\n")}
	want := "a.test/b v1.0.0 h1:a=\ntiny.test/tiny v0.1.0 h1:zip=\ntiny.test/tiny v0.1.0/go.mod h1:mod=\nz.test/y v1.0.0/go.mod h1:z=\n"
	for range 2 {
		ws, err := readWorkspace(files)
		if err != nil {
			t.Fatal(err)
		}
		m, _ := ws.member("tiny.test/tiny/cmd/keyfill")
		root := ws.root().file.Module.Mod
		root.Version = "v0.1.0"
		got := ws.releasedSums(m, root, "h1:zip=", "h1:mod=")
		if string(got) != want {
			t.Errorf("go.sum is\n%s\nwant\n%s", got, want)
		}
		files["cmd/keyfill/go.sum"].Data = got
	}
}
