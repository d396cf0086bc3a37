package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/keyfill/keyfill"

// tools are the modules that hold no product code: folders of go.work.
var tools = []string{"bench", "e2e", "examples", "examples/kubernetes", "faults", "judge", "keyfilletcd/newest", "release"}

// tree is a copy of the repository, which may be changed.
type tree struct {
	root    string
	modules []string // the folders of the modules in go.work, "." for the root module
	product []pkg    // the packages of product code, in the order of their paths
	fixed   bool     // whether the tree will not be changed any more, so that programs that were built stay valid
}

// pkg is a package of product code.
type pkg struct {
	Path   string // the import path of the package
	Dir    string
	Files  []string // the names of the package's files for this platform, without directory and without tests
	module string
}

// command returns a command that runs in a folder of the tree, without go.work, as users of
// the modules run it.
func command(dir string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+dir)
	return cmd
}

// output runs a command. It returns what the command prints to its standard output. An
// error contains what it printed to standard error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s in %s: %w\n%s%s", strings.Join(cmd.Args, " "), cmd.Dir, err, out, stderr.Bytes())
	}
	return out, nil
}

// copyTree makes a clone of a repository in a folder, which must not exist, with the files
// as they are now, committed or not. It is a repository of its own, since some tests run
// git.
func copyTree(from, to string) (*tree, error) {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s exists: remove it, or give another folder with -work", to)
	}
	if _, err := output(command(from, "git", "clone", "-q", "--shared", from, to)); err != nil {
		return nil, err
	}
	changed, err := output(command(from, "git", "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"))
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(changed), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return nil, err
		}
	}
	return openTree(to)
}

// copyFile copies a file with its mode, or removes the copy if the file does not exist.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return os.RemoveAll(to)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode())
}

// openTree reads the modules of a copy, and their packages of product code. Product code is
// the packages of the modules that users import, without internal packages that only tests
// and tools import.
func openTree(root string) (*tree, error) {
	t := &tree{root: root}
	out, err := output(command(root, "go", "work", "edit", "-json", "go.work"))
	if err != nil {
		return nil, err
	}
	var work struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(out, &work); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, use := range work.Use {
		folder := path.Clean(use.DiskPath)
		t.modules = append(t.modules, folder)
		if slices.Contains(tools, folder) {
			continue
		}
		dir := filepath.Join(root, folder)
		out, err := output(command(dir, "go", "list", "-f", "{{.ImportPath}}", "./..."))
		if err != nil {
			return nil, err
		}
		args := []string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles"}
		for _, p := range strings.Fields(string(out)) {
			if !strings.Contains(p+"/", "/internal/") {
				args = append(args, p)
			}
		}
		if out, err = output(command(dir, "go", args...)); err != nil {
			return nil, err
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				ImportPath, Dir   string
				GoFiles, CgoFiles []string
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if !strings.HasPrefix(p.Dir+"/", root+"/") || seen[p.ImportPath] {
				continue
			}
			seen[p.ImportPath] = true
			t.product = append(t.product, pkg{p.ImportPath, p.Dir, append(p.GoFiles, p.CgoFiles...), folder})
		}
	}
	slices.SortFunc(t.product, func(a, b pkg) int { return strings.Compare(a.Path, b.Path) })
	if len(t.product) == 0 {
		return nil, fmt.Errorf("%s has no product code", root)
	}
	return t, nil
}

// short returns the path of a package below the module's: "." for the root package.
func short(importPath string) string {
	return strings.TrimPrefix(strings.Replace(importPath, module, ".", 1), "./")
}

// insert writes the package that instrumented code imports into the copy.
func (t *tree) insert(blocks int) error {
	dir := filepath.Join(t.root, "internal", "inserted")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "inserted.go"), insertedText, 0o666); err != nil {
		return err
	}
	text := fmt.Sprintf("package inserted\n\n// Blocks is the number of blocks.\nconst Blocks = %d\n", blocks)
	return os.WriteFile(filepath.Join(dir, "blocks.go"), []byte(text), 0o666)
}

// commit commits all files of the copy, for tests that ask git which files have changed.
func (t *tree) commit(message string) error {
	if _, err := output(command(t.root, "git", "add", "-A")); err != nil {
		return err
	}
	_, err := output(command(t.root, "git", "-c", "user.name=faults", "-c", "user.email=faults@localhost", "commit", "-q", "--allow-empty", "-m", message))
	return err
}

// importText is the text before the imports of an instrumented file. It is on the line of
// the package clause, so that each line keeps its number.
const importText = `; import keyfillinserted "` + module + `/internal/inserted"`

// edit replaces the bytes from start to end of a file.
type edit struct {
	start, end int
	text       string
}

// apply applies edits that do not overlap; insertions at one place are kept in their
// order.
func apply(text []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}
