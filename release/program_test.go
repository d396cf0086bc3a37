package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/internal/txtar"
)

// outside is a folder outside of the repository, in which commands find the modules of a
// release in a proxy.
type outside struct {
	folder string
	env    []string
}

// newOutside returns an empty folder for commands with an environment that proxied returned.
func newOutside(t *testing.T, env []string) *outside {
	t.Helper()
	return &outside{folder: t.TempDir(), env: env}
}

// proxied returns the environment of commands that get the published modules from a proxy, as
// the tags of a repository have them. The commands share the libraries that they download, and
// with -trimpath the build cache too: without it the folder of the libraries would be a part
// of its keys, and each run of the test would compile every driver again.
func proxied(t *testing.T, tagged, version string) []string {
	t.Helper()
	ws, err := readWorkspace(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	proxy := t.TempDir()
	for _, m := range ws.published() {
		tag, folder := path.Join(m.folder, version), m.folder
		if folder == "." {
			tag, folder = version, ""
		}
		at := filepath.Join(proxy, filepath.FromSlash(m.path()), "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		var files bytes.Buffer
		if err := zip.CreateFromVCS(&files, module.Version{Path: m.path(), Version: version}, tagged, tag, folder); err != nil {
			t.Fatal(err)
		}
		info, err := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-01T00:00:00Z"})
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{
			version + ".info": info, version + ".zip": files.Bytes(), "list": []byte(version + "\n"),
			version + ".mod": []byte(git(t, tagged, "show", tag+":"+path.Join(folder, "go.mod")) + "\n"),
		} {
			if err := os.WriteFile(filepath.Join(at, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	env, err := goEnv(context.Background(), "GOMODCACHE", "GOPROXY", "GOCACHE", "GOSUMDB")
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "CGO_") {
			own = append(own, v)
		}
	}
	// The checksum database is asked for the modules of others, and not for keyfill's.
	return append(own, "GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw -trimpath", "GOSUMDB="+env["GOSUMDB"],
		"GONOSUMDB="+ws.root().path(), "GOPATH="+libraries(t), "GOCACHE="+env["GOCACHE"],
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(env["GOMODCACHE"])+"/cache/download,"+env["GOPROXY"])
}

// run runs a command in the folder, or fails the test, and returns its standard output.
func (o *outside) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = o.folder, o.env
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &told)
	}
	return string(out)
}

// write writes a file of the folder.
func (o *outside) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.folder, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// tagged returns a repository with the files of this one as they are now, and the tags of
// v0.1.0.
func tagged(t *testing.T) string {
	t.Helper()
	folder := repository(t, working(t))
	if err := run(context.Background(), []string{"tag", "-root", folder, "-version", "v0.1.0"}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestPrograms: a program outside of the repository gets a module by its tag from a module
// proxy, and inserts a row whose key is filled. The modules are each driver's, the plugin of
// GORM and the package for pgx. There is no SQL Server and no Oracle here: with their drivers
// the program opens the database, and its INSERT ends with the driver's error that nothing
// listens at the address.
func TestPrograms(t *testing.T) {
	testturn.OnlyWhole(t)
	archive, err := txtar.ParseFile("testdata/programs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	env := proxied(t, tagged(t), "v0.1.0")
	mariadb, postgresql := testdb.Start(t, testdb.MariaDB()), testdb.Start(t, testdb.PostgreSQL())
	file := func(t *testing.T) string { return filepath.Join(t.TempDir(), "shop.db") }
	for _, c := range []struct {
		module, program string
		dsn             func(t *testing.T) string
		want            string
	}{
		{"auto/mysql", "auto", func(*testing.T) string { return mariadb.DSN("mysql") }, "36"},
		{"auto/pgx", "auto", func(*testing.T) string { return postgresql.DSN("") }, "36"},
		{"auto/postgres", "auto", func(*testing.T) string { return postgresql.DSN("") }, "36"},
		{"auto/sqlite", "auto", file, "36"},
		{"auto/sqlite3", "auto", file, "36"},
		{"auto/sqlserver", "without a server", func(*testing.T) string { return "sqlserver://sa:secret@127.0.0.1:1" }, "1 dial 127.0.0.1:1"},
		{"auto/oracle", "without a server", func(*testing.T) string { return "oracle://system:secret@127.0.0.1:1/FREE" }, "1 dial 127.0.0.1:1"},
		{"keyfillpgx", "keyfillpgx", func(*testing.T) string { return postgresql.DSN("") }, "36"},
		{"keyfillgorm", "keyfillgorm", file, "36"},
	} {
		t.Run(c.module, func(t *testing.T) {
			o := newOutside(t, env)
			driver := path.Base(c.module)
			o.write(t, "main.go", bytes.ReplaceAll(files[c.program], []byte("DRIVER"), []byte(driver)))
			o.write(t, "keyfill.yaml", files["keyfill.yaml"])
			o.run(t, "go", "mod", "init", "shop.test/shop")
			o.run(t, "go", "get", "github.com/keyfill/keyfill/"+c.module+"@v0.1.0")
			o.run(t, "go", "mod", "tidy")
			o.run(t, "go", "build", "-ldflags=-s", "-o", "shop", ".")
			if got := strings.TrimSpace(o.run(t, "./shop", c.dsn(t))); got != c.want {
				t.Errorf("the program prints %q, want %q", got, c.want)
			}
			if out := o.run(t, "go", "version", "-m", "shop"); !strings.Contains(out, "github.com/keyfill/keyfill/"+c.module+"\tv0.1.0\t") || strings.Contains(out, "\t=>\t") {
				t.Errorf("the program has other modules:\n%s", out)
			}
		})
	}
}

// TestAdopting: an application with the versions of shiori v1.8.0 gets keyfill for its three
// drivers. go mod tidy moves no version but the drivers' own and what these require
// themselves: as if the application had taken these versions of the drivers without keyfill.
func TestAdopting(t *testing.T) {
	testturn.OnlyWhole(t)
	drivers := []string{"auto/mysql", "auto/postgres", "auto/sqlite"}
	env := proxied(t, tagged(t), "v0.1.0")
	adopt := func(change func(o *outside)) (before, after map[string]string) {
		o := newOutside(t, env)
		if err := os.CopyFS(o.folder, os.DirFS("testdata/adopting")); err != nil {
			t.Fatal(err)
		}
		for from, to := range map[string]string{"go.mod.txt": "go.mod", "go.sum.txt": "go.sum", "main.go.txt": "main.go"} {
			if err := os.Rename(filepath.Join(o.folder, from), filepath.Join(o.folder, to)); err != nil {
				t.Fatal(err)
			}
		}
		before = o.versions(t)
		change(o)
		o.run(t, "go", "mod", "tidy")
		return before, o.versions(t)
	}
	ws, err := readWorkspace(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	before, want := adopt(func(o *outside) {
		now := o.versions(t)
		for _, folder := range drivers {
			m, _ := ws.member(ws.root().path() + "/" + folder)
			for _, r := range m.file.Require {
				if _, ours := ws.member(r.Mod.Path); !ours && !r.Indirect && semver.Compare(now[r.Mod.Path], r.Mod.Version) < 0 {
					o.run(t, "go", "get", r.Mod.Path+"@"+r.Mod.Version)
				}
			}
		}
		o.run(t, "go", "mod", "edit", "-go="+ws.goVersion)
	})
	_, got := adopt(func(o *outside) {
		program := "package main\n\nimport (\n"
		for _, folder := range drivers {
			program += "\t_ \"github.com/keyfill/keyfill/" + folder + "\"\n"
			o.run(t, "go", "get", "github.com/keyfill/keyfill/"+folder+"@v0.1.0")
		}
		o.write(t, "keys.go", []byte(program+")\n"))
	})
	var moved []string
	for name, version := range got {
		was, known := before[name]
		switch {
		case known && version != want[name]:
			t.Errorf("keyfill moves %s from %s to %s: its drivers alone take %q", name, was, version, want[name])
		case known && version != was:
			moved = append(moved, name+" "+was+" => "+version)
		case !known && want[name] == "" && !strings.HasPrefix(name, ws.root().path()) && !slices.ContainsFunc(ws.root().file.Require, func(r *modfile.Require) bool { return r.Mod.Path == name }):
			t.Errorf("keyfill brings %s %s, which is no dependency of the root module", name, version)
		}
	}
	slices.Sort(moved)
	t.Logf("with keyfill and with the drivers alone the same %d of %d versions move: %s", len(moved), len(before), strings.Join(moved, ", "))
}

// versions returns the versions in go.mod.
func (o *outside) versions(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range file.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	return all
}
