package main

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"github.com/keyfill/keyfill/internal/testturn"
)

// shared is the folder that libraries returns; "" until it is needed.
var shared string

func TestMain(m *testing.M) {
	m.Run()
	if shared != "" {
		os.RemoveAll(shared)
	}
}

// libraries returns a GOPATH with the libraries that an earlier test has needed, since they
// are hundreds of megabytes, and without the modules of this repository.
func libraries(t *testing.T) string {
	t.Helper()
	if shared == "" {
		folder, err := os.MkdirTemp("", "keyfill-libraries-")
		if err != nil {
			t.Fatal(err)
		}
		shared = folder
	}
	for _, folder := range []string{"", "cache/download"} {
		if err := os.RemoveAll(filepath.Join(shared, "pkg/mod", folder, "github.com/keyfill")); err != nil {
			t.Fatal(err)
		}
	}
	return shared
}

// repository makes a repository with one commit.
func repository(t *testing.T, files fs.FS) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, files); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.test", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.test",
	} {
		t.Setenv(name, value)
	}
	git(t, folder, "init", "--quiet")
	git(t, folder, "add", "--all")
	git(t, folder, "commit", "--quiet", "--message", "tiny")
	return folder
}

// git runs git in a repository and returns what it prints.
func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

// opened opens a repository.
func opened(t *testing.T, folder string) *source {
	t.Helper()
	s, err := open(context.Background(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// content returns the files of a folder.
func content(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestRelease: the files of a release are the same when one platform's are built again
// without a build cache (left out by -short), and from the commit that is tagged; the
// programs in them run, and the sums fit. "make release" builds all platforms twice.
func TestRelease(t *testing.T) {
	testturn.WhenChanged(t, "release/", "*.mod", "*.sum", "go.work")
	ctx, here := context.Background(), runtime.GOOS+"/"+runtime.GOARCH
	folder := repository(t, tiny())
	build := func(platforms string, flags ...string) map[string][]byte {
		t.Helper()
		out := filepath.Join(t.TempDir(), "dist")
		args := append([]string{"build", "-root", folder, "-version", "v0.1.0", "-out", out, "-platforms", platforms}, flags...)
		var said bytes.Buffer
		if err := run(ctx, args, &said); err != nil {
			t.Fatal(err)
		}
		if twice := strings.Contains(said.String(), "built twice, 3 files are equal"); twice == slices.Contains(flags, "-once") {
			t.Errorf("with %q it says %q", flags, &said)
		}
		return content(t, out)
	}
	both := here + ",windows/arm64"
	files := build(both, "-once")
	if !testing.Short() {
		for name, text := range build(here) {
			if name != "SHA256SUMS" && !bytes.Equal(text, files[name]) {
				t.Errorf("built alone, %s differs", name)
			}
		}
	}
	name := "keyfill_v0.1.0_" + strings.ReplaceAll(here, "/", "_")
	want := []string{"SHA256SUMS", name + ".cdx.json", name + ".tar.gz", "keyfill_v0.1.0_windows_arm64.cdx.json", "keyfill_v0.1.0_windows_arm64.zip"}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	before := git(t, folder, "rev-parse", "HEAD")
	var said bytes.Buffer
	if err := run(ctx, []string{"tag", "-root", folder, "-version", "v0.1.0"}, &said); err != nil {
		t.Fatal(err)
	}
	if git(t, folder, "rev-parse", "HEAD") != before || git(t, folder, "status", "--porcelain") != "" {
		t.Error("the branch or its files have changed")
	}
	if got := git(t, folder, "tag"); got != "cmd/keyfill/v0.1.0\nv0.1.0" || !strings.HasSuffix(said.String(), "git push origin cmd/keyfill/v0.1.0\n\tgit push origin v0.1.0\n") {
		t.Errorf("there are the tags %q, and it says %q", got, &said)
	}
	if err := run(ctx, []string{"tag", "-root", folder, "-version", "v0.1.0"}, &said); err == nil || !strings.Contains(err.Error(), "give a new version") {
		t.Errorf("the same tags again: %v", err)
	}
	git(t, folder, "checkout", "--quiet", "v0.1.0")
	if err := equal(files, build(both, "-once")); err != nil {
		t.Errorf("from the tag: %v", err)
	}
	if err := run(ctx, []string{"build", "-root", folder, "-version", "v0.2.0", "-out", filepath.Join(t.TempDir(), "d")}, &said); err == nil || !strings.Contains(err.Error(), "form of the release v0.1.0") {
		t.Errorf("the tag as another version: %v", err)
	}

	unpacked := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", writeFile(t, files[name+".tar.gz"]), "-C", unpacked).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	if out, err := exec.Command(filepath.Join(unpacked, "keyfill")).CombinedOutput(); err != nil || string(out) != "tiny\n" {
		t.Errorf("the command says %q, %v", out, err)
	}
	if err := os.CopyFS(unpacked, inMemory(files)); err != nil {
		t.Fatal(err)
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = unpacked
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 4 {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

// inMemory returns files as a file system.
func inMemory(files map[string][]byte) fs.FS {
	all := fstest.MapFS{}
	for name, data := range files {
		all[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	return all
}

// writeFile writes a file and returns its name.
func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestNotCommitted: a release has nothing that is not committed, and overwrites nothing.
func TestNotCommitted(t *testing.T) {
	folder := repository(t, tiny())
	args := []string{"build", "-root", folder, "-version", "v0.1.0", "-out", folder}
	if err := run(context.Background(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a folder with files: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "more.go"), []byte("package tiny\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "more.go") {
		t.Errorf("with a file that is not committed: %v", err)
	}
	for _, args := range [][]string{nil, {"build"}, {"build", "-version", "1.2"}, {"build", "-root", folder, "-version", "v2.0.0"}, {"sell", "-root", folder, "-version", "v0.1.0"}, {"check", "more"}} {
		if err := run(context.Background(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("release %q is understood", args)
		}
	}
}

// TestSumsAreTheProxys: the sums that a release writes equal the sums of the zip that is
// made from the tag.
func TestSumsAreTheProxys(t *testing.T) {
	testturn.WhenChanged(t, "release/", "*.mod", "*.sum", "go.work")
	ctx, folder := context.Background(), repository(t, tiny())
	if err := run(ctx, []string{"tag", "-root", folder, "-version", "v0.1.0"}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	var files bytes.Buffer
	root := module.Version{Path: "tiny.test/tiny", Version: "v0.1.0"}
	if err := zip.CreateFromVCS(&files, root, folder, "v0.1.0", ""); err != nil {
		t.Fatal(err)
	}
	sum, err := dirhash.HashZip(writeFile(t, files.Bytes()), dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	gosum := git(t, folder, "show", "v0.1.0:cmd/keyfill/go.sum")
	if line := "tiny.test/tiny v0.1.0 " + sum + "\n"; !strings.Contains(gosum, line) {
		t.Errorf("go.sum is\n%s\nand has no line\n%s", gosum, line)
	}
	if gomod := git(t, folder, "show", "v0.1.0:cmd/keyfill/go.mod"); strings.Contains(gomod, "replace") || !strings.Contains(gomod, "tiny.test/tiny v0.1.0") {
		t.Errorf("go.mod of the command is\n%s", gomod)
	}
	if gomod := git(t, folder, "show", "v0.1.0:bench/go.mod"); !strings.Contains(gomod, "replace tiny.test/tiny => ..") {
		t.Errorf("go.mod of the benchmarks is\n%s", gomod)
	}
}

// TestInstallable: "go install …@version" takes the command of this repository in the
// form of a release, as its files are now. It refuses it in the form of the main branch,
// whose go.mod replaces modules. Nothing is compiled.
func TestInstallable(t *testing.T) {
	testturn.WhenChanged(t, "release/", "*.mod", "*.sum", "go.work")
	ctx := context.Background()
	s := opened(t, repository(t, working(t)))
	folder, proxy := t.TempDir(), t.TempDir()
	tree, err := released(ctx, s, folder, "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	install := func() string {
		t.Helper()
		if err := tree.proxy(s, proxy); err != nil {
			t.Fatal(err)
		}
		home := libraries(t)
		cmd, err := tree.goInstall(ctx, proxy, home, "", runtime.GOOS+"/"+runtime.GOARCH, "-n")
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return string(out)
		}
		if want := "/keyfill/" + command + "="; !strings.Contains(string(out), want) {
			t.Errorf("go install would link no %s\n%.2000s", want, out)
		}
		return ""
	}
	if out := install(); out != "" {
		t.Errorf("go install: %s", out)
	}
	unreleased, err := os.ReadFile(filepath.Join("..", command, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, command, "go.mod"), unreleased, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := install(); !strings.Contains(out, "replace directives") {
		t.Errorf("go install of the main branch's form: %q", out)
	}
}

// TestGettable: a module of a user gets each published module from a proxy by its version,
// and finds all packages. Nothing is compiled.
func TestGettable(t *testing.T) {
	testturn.WhenChanged(t, "release/", "*.mod", "*.sum", "go.work")
	ctx := context.Background()
	s := opened(t, repository(t, working(t)))
	proxy, home, user := t.TempDir(), libraries(t), t.TempDir()
	tree, err := released(ctx, s, t.TempDir(), "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.proxy(s, proxy); err != nil {
		t.Fatal(err)
	}
	program, get := "package user\n", []string{"get"}
	for _, m := range tree.ws.published() {
		get = append(get, m.path()+"@v0.1.0")
		if m.folder != command {
			program += "import _ \"" + m.path() + "\"\n"
		}
	}
	for name, text := range map[string]string{"go.mod": "module user.test/user\n\ngo 1.26.0\n", "user.go": program} {
		if err := os.WriteFile(filepath.Join(user, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd, err := tree.goInstall(ctx, proxy, home, "", runtime.GOOS+"/"+runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Args, cmd.Dir = append([]string{"go"}, args...), user
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
		return string(out)
	}
	run(get...)
	needed := run("list", "-deps", ".")
	for _, m := range tree.ws.published() {
		if m.folder != command && !strings.Contains(needed, m.path()+"\n") {
			t.Errorf("the program has not got %s", m.path())
		}
	}
	if gomod, err := os.ReadFile(filepath.Join(user, "go.mod")); err != nil || strings.Contains(string(gomod), unreleased+"\n") {
		t.Errorf("%v: go.mod has an unreleased version:\n%s", err, gomod)
	}
}

// working returns the files of this repository that git knows or would add.
func working(t *testing.T) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range strings.Split(git(t, "..", "ls-files", "--cached", "--others", "--exclude-standard"), "\n") {
		info, err := os.Stat(filepath.Join("..", name))
		if err != nil {
			continue // removed, and not yet committed
		}
		data, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data, Mode: info.Mode().Perm()}
	}
	return files
}
