// Command sample prints comments of the code, chosen at random, with the lines below them:
//
//	go run ./internal/sample                    thirty, by the commit that is checked out
//	go run ./internal/sample -n 60 -seed text   others
//
// A reader who knows Go and not this project reads them, and says which are understood at
// once. The same seed draws the same comments of the same code.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	n := flag.Int("n", 30, "how `many` comments")
	seed := flag.String("seed", "", "the `text` that seeds the draw; if it is empty, the commit")
	root := flag.String("root", ".", "the `folder` of the code")
	flag.Parse()
	if *seed == "" {
		commit, err := exec.Command("git", "-C", *root, "rev-parse", "HEAD").Output()
		if err != nil {
			fmt.Fprintln(os.Stderr, "sample: the commit is not known: give a -seed")
			os.Exit(1)
		}
		*seed = strings.TrimSpace(string(commit))
	}
	if err := sample(os.Stdout, os.DirFS(*root), *seed, *n); err != nil {
		fmt.Fprintln(os.Stderr, "sample:", err)
		os.Exit(1)
	}
}

// comment is a comment and the code that follows it.
type comment struct {
	place, text, code string
}

// sample prints n comments that the seed draws.
func sample(out io.Writer, tree fs.FS, seed string, n int) error {
	all, err := comments(tree)
	if err != nil {
		return err
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(seed)) // a hash returns no error
	random := rand.New(rand.NewPCG(hash.Sum64(), uint64(len(all))))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	w := bufio.NewWriter(out)
	for i, c := range all[:min(n, len(all))] {
		fmt.Fprintf(w, "%d. %s\n%s\n%s\n\n", i+1, c.place, c.text, c.code)
	}
	return w.Flush()
}

// comments returns the comments of all Go files but tests, in the order of the files. It
// leaves out comments of less than three words, and directives.
func comments(tree fs.FS) (all []comment, err error) {
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, source, parser.ParseComments)
		if err != nil {
			return err
		}
		lines := strings.Split(string(source), "\n")
		for _, group := range file.Comments {
			if c, ok := commentOf(set, lines, group); ok {
				all = append(all, c)
			}
		}
		return nil
	})
	return all, err
}

// codeLines is how many lines of code are shown below a comment.
const codeLines = 4

func commentOf(set *token.FileSet, lines []string, group *ast.CommentGroup) (comment, bool) {
	text := strings.TrimSpace(group.Text())
	if len(strings.Fields(text)) < 3 {
		return comment{}, false
	}
	from, to := set.Position(group.Pos()), set.Position(group.End())
	if strings.TrimSpace(lines[from.Line-1][:from.Column-1]) != "" {
		// The comment follows code on its line, so the lines before it are shown too.
		first := max(0, from.Line-1-codeLines/2)
		return comment{fmt.Sprintf("%s:%d", from.Filename, from.Line), lines[from.Line-1], strings.Join(lines[first:min(len(lines), to.Line+codeLines/2)], "\n")}, true
	}
	return comment{
		place: fmt.Sprintf("%s:%d", from.Filename, from.Line),
		text:  strings.Join(lines[from.Line-1:to.Line], "\n"),
		code:  strings.Join(lines[to.Line:min(len(lines), to.Line+codeLines)], "\n"),
	}, true
}
