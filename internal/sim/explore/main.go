// Explore is the program of "make sim": it runs the trials of package sim, which are
// tests all over the repository, from as many seeds as a time allows, or prints the story
// of one world.
//
//	go run ./internal/sim/explore -time 1h
//	go run ./internal/sim/explore -seed 42 -trial sequence
//
// A trial is a test whose name ends in Simulation, in a file whose name ends in
// _sim_test.go; tests whose names end in Mutants look for mistakes that were made on purpose.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	e := explorer{out: os.Stdout}
	var seed, trial string
	flag.DurationVar(&e.limit, "time", time.Hour, "how long to go on")
	flag.StringVar(&seed, "seed", "", "tell the story of this world")
	flag.StringVar(&trial, "trial", "", "the trial's name, or an expression that names match; all of them if empty")
	flag.Uint64Var(&e.from, "from", 0, "the first seed; 0: another one each second")
	flag.StringVar(&e.root, "root", ".", "the repository")
	flag.Parse()
	if e.from == 0 {
		e.from = uint64(time.Now().Unix()) << 20
	}
	if err := e.main(seed, trial); err != nil {
		fmt.Fprintln(os.Stderr, "explore:", err)
		os.Exit(1)
	}
}

// explorer runs trials (each runs one kind of source in simulated worlds).
type explorer struct {
	out   io.Writer
	root  string
	limit time.Duration
	from  uint64

	folder string // the folder of the compiled tests
}

func (e *explorer) main(seed, trial string) (err error) {
	e.folder, err = os.MkdirTemp("", "keyfill-sim")
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.RemoveAll(e.folder); err == nil {
			err = gone
		}
	}()
	all, err := find(e.root)
	if err != nil {
		return err
	}
	wanted, err := choose(all, trial)
	if err != nil {
		return err
	}
	if seed != "" && !strings.Contains(trial, "/") {
		wanted = slices.DeleteFunc(wanted, test.mutants)
	}
	if err := e.compile(wanted); err != nil {
		return err
	}
	if seed != "" {
		return e.tell(wanted, seed)
	}
	return e.explore(wanted)
}

// choose returns the tests whose names match wanted. The exact name of a trial selects that
// trial and its mutants.
func choose(all []test, wanted string) ([]test, error) {
	name, mutant, _ := strings.Cut(wanted, "/")
	var exact, matching []test
	pattern, err := regexp.Compile("(?i)" + name)
	if err != nil {
		return nil, fmt.Errorf("the trial %q: %w", wanted, err)
	}
	for _, t := range all {
		t.mutant = mutant
		switch {
		case mutant != "" && !t.mutants():
		case t.display() == name || t.display() == name+" mutants":
			exact = append(exact, t)
		case pattern.MatchString(t.display()):
			matching = append(matching, t)
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}
	if len(matching) == 0 {
		var names []string
		for _, t := range all {
			names = append(names, "\t"+t.display())
		}
		return nil, fmt.Errorf("no trial is called %q; there are:\n%s", wanted, strings.Join(names, "\n"))
	}
	return matching, nil
}

// tell prints what happens in the worlds of one seed.
func (e *explorer) tell(tests []test, seed string) error {
	broken := 0
	for _, t := range tests {
		reports, err := t.run("KEYFILL_TEST_SEED=" + seed)
		if err != nil {
			return err
		}
		for _, r := range reports {
			fmt.Fprintln(e.out, r.Story)
			if len(r.Broken) > 0 && !t.mutants() {
				broken++
			}
		}
	}
	if broken > 0 {
		return fmt.Errorf("laws are broken in %d worlds", broken)
	}
	return nil
}
