// Command faults shows that the tests check what they have checked before.
//
//	faults coverage -out now.txt             which statements do all tests of all modules reach?
//	faults compare before.txt now.txt        which packages are covered less than before?
//	faults record -file faults.jsonl         which tests find faults drawn by chance?
//	faults check -file faults.jsonl          do they find them today?
//	faults check -file faults.jsonl -turns 9 do they find them in nine turns?
//	faults places -file faults.jsonl -mend   where are they, after declarations have moved?
//
// It is for changes of the test suite itself: tests that move, or are joined or made
// cheaper, must not lose a check. So nothing is recorded by file and line. Code is
// addressed by its function, and a test by its name, wherever its package is.
//
// # Coverage
//
// A statement is covered if a test of any program reaches it, in its own process or in
// one that it starts. A copy of the repository counts: "go tool cover" finds the blocks
// of statements of the product code, and each block calls package inserted, which writes
// a file for each test. "go test -coverpkg" would show neither which test it was, nor
// what the processes that tests kill have reached. With two recordings of the same code,
//
//	faults compare before.txt now.txt again.txt
//
// a package may be lower by as much as these differ, and otherwise by half a point.
//
// # Faults drawn by chance
//
// A mutant is one changed node of the product code: a condition negated, an operator
// swapped with its neighbour, an integer literal off by one, a statement dropped, an error
// not returned, or a function that returns zero values at once. The seed shuffles all
// statements, and draws one change of each; the first changes that a test reaches are
// taken. All mutants are in one copy of the code, where each waits for its number in the
// environment, so that test programs are compiled once for all.
//
// The other faults are the newest commits that change product code and a test, each undone:
// the change of the product code is taken back, the tests stay as they are. Left out are
// commits that do not apply any more in reverse, or without which code and tests do not
// compile, or which change comments alone; an older commit takes the place of each of
// these. The file of results names them.
//
// For each fault the tests that reach it are run, with all engines, drivers, sources and
// faults, until one fails. The failure counts if the test fails again when it runs alone,
// and passes without the fault. A test that takes five times its duration without the
// fault, and more than a minute, counts as failed. First come tests without servers that
// take less than half a second, for one mutant after the other. The other tests are run
// with all mutants at once that are left: where a test passes, it finds none of them, and
// where it fails, the mutant is searched by halves. So a mutant "survives" if no test fails
// with it either alone or beside other survivors.
//
// Tests that fail in the copy without a fault are left out: those that read the source,
// and find a package that is not in the list.
package main

import (
	_ "embed" // "embed" holds the package that copies import
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed inserted/inserted.go
var insertedText []byte

func main() {
	if err := faults(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// errUsage is returned when the command line is not understood.
var errUsage = errors.New("give one of coverage, compare, record, check and places, and its flags: faults check -file faults.jsonl")

// faults runs one command line.
func faults(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet("faults "+args[0], flag.ContinueOnError)
	root := flags.String("root", "..", "the `folder` of the repository")
	work := flags.String("work", "", "the `folder` for copies, in which an interrupted command goes on; if it is empty, a temporary one")
	file := flags.String("file", "faults.jsonl", "the `file` of the results")
	coverage := flags.String("out", "", "the `file` for the coverage; if it is empty, packages are printed")
	seed := flags.Uint64("seed", 1, "the `seed` by which mutants are drawn")
	mutants := flags.Int("mutants", 100, "how `many` mutants are drawn")
	commits := flags.Int("commits", 20, "how `many` commits are undone")
	upTo := flags.String("to", "HEAD", "the newest `commit` that is undone")
	turns := flags.Int("turns", 0, "how `many` turns tests have; 0: all choices have their turn at once")
	programs := flags.String("programs", "", "a regular `expression` for the folders of the test programs that are run; record then leaves to a later run what needs the others")
	again := flags.Bool("again", false, "search all recorded faults again")
	mend := flags.Bool("mend", false, "write the new places of mutants whose declarations have moved")
	patience := flags.Duration("patience", 0, "after what `time` a search ends, and leaves open what it has not found; 0: never")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "compare" {
		return compare(flags.Args(), out)
	}
	if flags.NArg() > 0 {
		return errUsage
	}
	only, err := regexp.Compile(*programs)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(*root)
	if err != nil {
		return err
	}
	if *work == "" {
		// Prefer $GOTMPDIR to $TMPDIR, since it is a folder on the disk if $TMPDIR is in
		// memory.
		if *work, err = os.MkdirTemp(os.Getenv("GOTMPDIR"), "faults"); err != nil {
			return err
		}
		defer os.RemoveAll(*work)
		stopOnSignal(func() { _ = os.RemoveAll(*work) }) // an error is ignored, since the program ends
	} else {
		if *work, err = filepath.Abs(*work); err != nil {
			return err
		}
		stopOnSignal(func() {})
	}
	switch args[0] {
	case "coverage":
		reached, err := recordReach(folder, *work, only, out)
		if err != nil {
			return err
		}
		return printCoverage(reached.coverage(), *coverage, out)
	case "record":
		r := &recorder{root: folder, work: *work, file: *file, seed: *seed, mutants: *mutants, commits: *commits, upTo: *upTo, only: only, log: out}
		if *patience > 0 {
			r.until = time.Now().Add(*patience)
		}
		return r.record(*again)
	case "check":
		entries, err := readEntries(*file)
		if err != nil {
			return err
		}
		c := &checker{root: folder, work: *work, turns: *turns, out: out, without: map[string]*outcome{}}
		return c.check(entries)
	}
	if args[0] == "places" {
		return places(folder, *work, *file, *mend, out)
	}
	return errUsage
}

// printCoverage writes a coverage into a file, and prints its packages.
func printCoverage(shares map[place]share, file string, out io.Writer) error {
	packages := map[place]share{}
	for p, s := range shares {
		if p.Function == "" {
			packages[p] = s
		}
	}
	if err := writeCoverage(out, packages); err != nil || file == "" {
		return err
	}
	var text strings.Builder
	if err := writeCoverage(&text, shares); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text.String()), 0o666)
}

// compare prints the packages that are covered less than before.
func compare(names []string, out io.Writer) error {
	if len(names) != 2 && len(names) != 3 {
		return errUsage
	}
	var shares [3]map[place]share
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if shares[i], err = readCoverage(string(text)); err != nil {
			return err
		}
	}
	lost := compareCoverage(shares[0], shares[1], shares[2])
	for _, l := range lost {
		fmt.Fprintf(out, "%s: %.2f %% of the statements, %.2f %% before; %.2f points less are allowed\n", l.Package, l.Now, l.Before, l.Allowed)
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d packages are covered less than before", len(lost))
	}
	fmt.Fprintln(out, "no package is covered less than before")
	return nil
}

// record records the reach of the tests, and then the faults that they find.
func (r *recorder) record(again bool) (err error) {
	if r.entries, err = readEntries(r.file); err != nil {
		return err
	}
	if again {
		for i := range r.entries {
			r.entries[i].Result, r.entries[i].Note = open, ""
		}
	}
	reached, err := recordReach(r.root, r.work, r.only, r.log)
	if err != nil {
		return err
	}
	if err := r.recordMutants(reached); err != nil {
		return err
	}
	return r.recordCommits(reached)
}
