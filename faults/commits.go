package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// commit is a commit that can be undone: it changes product code and a test.
type commit struct {
	Hash    string
	Subject string
	files   []string // the files of product code that it changes, below the root
	touched []string // the names of the tests that it changes
}

// errNotUndone says why a commit cannot be undone.
var errNotUndone = errors.New("cannot be undone")

// hashes returns the hashes of the commits up to upTo, the newest first, without merges.
func (t *tree) hashes(upTo string) ([]string, error) {
	out, err := output(command(t.root, "git", "log", "--no-merges", "--format=%h", upTo))
	return strings.Fields(string(out)), err
}

// commitOf returns a commit, or nil if it does not change both product code and a test.
func (t *tree) commitOf(hash string) (*commit, error) {
	out, err := output(command(t.root, "git", "show", "--format=%s", "--name-only", hash))
	if err != nil {
		return nil, err
	}
	subject, list, _ := strings.Cut(string(out), "\n")
	folders := map[string]bool{}
	for _, p := range t.product {
		folders[short(p.Path)] = true
	}
	c := &commit{Hash: hash, Subject: subject}
	var tests []string
	for _, name := range strings.Fields(list) {
		switch {
		case strings.HasSuffix(name, "_test.go"):
			tests = append(tests, name)
		case strings.HasSuffix(name, ".go") && folders[path.Dir(name)]:
			c.files = append(c.files, name)
		}
	}
	if len(c.files) == 0 || len(tests) == 0 {
		return nil, nil
	}
	for _, name := range tests {
		touched, err := t.touchedTests(hash, name)
		if err != nil {
			return nil, err
		}
		c.touched = append(c.touched, touched...)
	}
	return c, nil
}

var hunk = regexp.MustCompile(`(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// lineRange is the lines from from to to, including both.
type lineRange struct{ from, to int }

// hunks returns the lines that a diff without context changes, counted in the new files if
// side is 1, and in the old files if it is 0. If lines are only inserted, the lines around
// them count.
func hunks(diff []byte, side int) (ranges []lineRange) {
	for _, m := range hunk.FindAllSubmatch(diff, -1) {
		line, _ := strconv.Atoi(string(m[1+2*side])) // this never fails, since the expression matches only digits
		n := 1
		if text := m[2+2*side]; len(text) > 0 {
			n, _ = strconv.Atoi(string(text))
		}
		if n == 0 {
			ranges = append(ranges, lineRange{line, line + 1})
			continue
		}
		ranges = append(ranges, lineRange{line, line + n - 1})
	}
	return ranges
}

// touchedTests returns the tests of a file that a commit has changed.
func (t *tree) touchedTests(hash, name string) (names []string, err error) {
	diff, err := output(command(t.root, "git", "diff", "-U0", hash+"^", hash, "--", name))
	if err != nil {
		return nil, err
	}
	text, err := output(command(t.root, "git", "show", hash+":"+name))
	if err != nil {
		return nil, nil // the commit has removed the file, so it has no tests
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, f := range testFunctions(file) {
		from, to := fset.Position(f.Pos()).Line, fset.Position(f.End()).Line
		if slices.ContainsFunc(hunks(diff, 1), func(h lineRange) bool { return h.from <= to && from <= h.to }) {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

// undo reverts the changes of a commit to product code, and returns the lines of the tree
// that this changes, by file below the root. It returns errNotUndone if the change cannot
// be reverted any more, if the result does not compile, or if the change is in comments
// only; the tree is then unchanged.
func (t *tree) undo(c *commit) (map[string][]lineRange, error) {
	patch, err := output(command(t.root, "git", append([]string{"diff", c.Hash + "^", c.Hash, "--"}, c.files...)...))
	if err != nil {
		return nil, err
	}
	apply := command(t.root, "git", "apply", "-R", "-")
	apply.Stdin = bytes.NewReader(patch)
	if _, err := output(apply); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("%w: the code has changed since", errNotUndone)
		}
		return nil, err
	}
	changed, err := t.changed(c)
	if err != nil {
		return nil, errors.Join(err, t.redo())
	}
	return changed, nil
}

// changed returns the lines of the tree that undoing a commit has changed.
func (t *tree) changed(c *commit) (map[string][]lineRange, error) {
	ranges := map[string][]lineRange{}
	for _, name := range c.files {
		before, err := output(command(t.root, "git", "show", "HEAD:"+name))
		if err != nil {
			continue // HEAD does not have the file, which the commit has removed
		}
		now, err := os.ReadFile(filepath.Join(t.root, name))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		if same, err := sameCode(before, now); err != nil {
			return nil, err
		} else if same {
			continue
		}
		diff, err := output(command(t.root, "git", "diff", "-U0", "HEAD", "--", name))
		if err != nil {
			return nil, err
		}
		ranges[name] = hunks(diff, 0)
	}
	if len(ranges) == 0 {
		return nil, fmt.Errorf("%w: it changes comments alone", errNotUndone)
	}
	for _, m := range t.modulesOf(c.files) {
		if _, err := output(command(filepath.Join(t.root, m), "go", "build", "./...")); err != nil {
			return nil, fmt.Errorf("%w: the code of today needs it", errNotUndone)
		}
	}
	return ranges, nil
}

// modulesOf returns the folders of the modules of files of product code, and the root
// module's.
func (t *tree) modulesOf(files []string) []string {
	folders := []string{"."}
	for _, p := range t.product {
		if slices.ContainsFunc(files, func(name string) bool { return path.Dir(name) == short(p.Path) }) && !slices.Contains(folders, p.module) {
			folders = append(folders, p.module)
		}
	}
	return folders
}

// redo restores the files of the tree to its commit.
func (t *tree) redo() error {
	if _, err := output(command(t.root, "git", "reset", "-q", "--hard")); err != nil {
		return err
	}
	_, err := output(command(t.root, "git", "clean", "-qfd"))
	return err
}

// sameCode reports whether two files differ only in comments. A file that does not exist is
// empty.
func sameCode(a, b []byte) (bool, error) {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b), nil
	}
	var texts [2][]byte
	for i, text := range [][]byte{a, b} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(file, func(n ast.Node) bool { // remove doc comments, which would be printed with their nodes
			switch n := n.(type) {
			case *ast.FuncDecl:
				n.Doc = nil
			case *ast.GenDecl:
				n.Doc = nil
			case *ast.Field:
				n.Doc, n.Comment = nil, nil
			case *ast.ValueSpec:
				n.Doc, n.Comment = nil, nil
			case *ast.TypeSpec:
				n.Doc, n.Comment = nil, nil
			case *ast.ImportSpec:
				n.Doc, n.Comment = nil, nil
			}
			return true
		})
		file.Doc, file.Comments = nil, nil
		var out bytes.Buffer
		if err := printer.Fprint(&out, token.NewFileSet(), file); err != nil {
			return false, err
		}
		texts[i] = bytes.Join(bytes.Fields(out.Bytes()), []byte(" "))
	}
	return bytes.Equal(texts[0], texts[1]), nil
}

// reaching returns the tests that reach any of the lines of a tree.
func (r *reach) reaching(lines map[string][]lineRange) (tests []test) {
	wanted := map[int]bool{}
	for n, b := range r.Blocks {
		for _, h := range lines[path.Join(short(b.Package), b.File)] {
			if b.lines(h.from, h.to) {
				wanted[n] = true
			}
		}
	}
	for _, t := range r.Tests {
		if slices.ContainsFunc(t.Blocks, func(n int) bool { return wanted[n] }) {
			tests = append(tests, t.Test)
		}
	}
	return tests
}
