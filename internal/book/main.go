// Command book counts the words of the pages, finds what a change of them has lost, and draws
// sentences to be read by a stranger:
//
//	go run ./internal/book words               words by page, written by hand and generated
//	go run ./internal/book lost -since commit  what the pages of that commit have and these have not
//	go run ./internal/book sentences -n 60     sentences of the pages and the help, drawn by the commit
//
// It looks at the README and at docs. Code blocks and comments are not counted. Generated are
// the pages and the parts of pages that a test or a program writes.
//
// Lost are the section of an error, a line of the deviations with its test, a cell of a table
// of the guarantees and a block that the tests execute. A block that was changed counts as
// kept, and is printed, if half of its lines are in one block of today. The program fails if
// anything is lost.
package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
)

func main() {
	root := flag.String("root", ".", "the `folder` of the repository")
	since := flag.String("since", "HEAD", "the `commit` to compare with")
	n := flag.Int("n", 60, "draw so many sentences")
	most := flag.Int("most", 0, "fail if more `words` are written by hand; 0: any number")
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say words, lost or sentences"))
	}
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	now := os.DirFS(*root)
	switch os.Args[1] {
	case "words":
		byHand, err := printWords(os.Stdout, now)
		if err != nil {
			fail(err)
		}
		if *most > 0 && byHand > *most {
			fail(fmt.Errorf("%d words are written by hand, want %d at most", byHand, *most))
		}
	case "lost":
		before, err := treeOf(*root, *since)
		if err != nil {
			fail(err)
		}
		n, err := printLost(os.Stdout, before, now)
		if err != nil {
			fail(err)
		}
		if n > 0 {
			fail(fmt.Errorf("%d facts of %s are lost: put them back", n, *since))
		}
	case "sentences":
		commit, err := commitOf(*root, *since)
		if err != nil {
			fail(err)
		}
		if err := printSentences(os.Stdout, now, commit, *n); err != nil {
			fail(err)
		}
	default:
		fail(fmt.Errorf("no command %q: say words, lost or sentences", os.Args[1]))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "book:", err)
	os.Exit(1)
}

// printWords prints a line for each page, and returns how many words are written by hand.
func printWords(out io.Writer, tree fs.FS) (byHand int, err error) {
	names, err := pages(tree)
	if err != nil {
		return 0, err
	}
	generated := 0
	fmt.Fprintf(out, "%8s %9s  page\n", "by hand", "generated")
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return 0, err
		}
		hand, machine := words(name, string(text))
		fmt.Fprintf(out, "%8d %9d  %s\n", hand, machine, name)
		byHand, generated = byHand+hand, generated+machine
	}
	fmt.Fprintf(out, "%8d %9d  all\n", byHand, generated)
	return byHand, nil
}

// printLost prints what before has and now has not, and returns how much that is.
func printLost(out io.Writer, before, now fs.FS) (lost int, err error) {
	for _, kind := range kinds {
		had, err := kind.read(before)
		if err != nil {
			return 0, err
		}
		has, err := kind.read(now)
		if err != nil {
			return 0, err
		}
		if len(had) == 0 {
			return 0, fmt.Errorf("the older pages have no %s: name a newer commit with -since", kind.name)
		}
		missing, changed := difference(had, has, kind.alike)
		fmt.Fprintf(out, "%s: %d before, %d today, %d lost, %d changed\n", kind.name, len(had), len(has), len(missing), len(changed))
		for _, fact := range changed {
			fmt.Fprintf(out, "\tchanged: %s\n", shown(fact))
		}
		for _, fact := range missing {
			fmt.Fprintf(out, "\tlost: %s\n", shown(fact))
		}
		lost += len(missing)
	}
	return lost, nil
}
