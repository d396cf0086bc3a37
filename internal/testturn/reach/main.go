// Command reach replays the choices that tests have written to a folder by
// KEYFILL_TEST_CHOICES, for as many turns as they need. It prints how many turns that is,
// and fails if a combination of choices has its turn in none of them.
//
//	go run ./internal/testturn/reach FOLDER
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/testturn"
)

// mostTurns is how many turns the replay of a test tries at most.
const mostTurns = 100_000

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reach:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments; name the folder of KEYFILL_TEST_CHOICES", len(args))
	}
	suites, err := read(args[0])
	if err != nil {
		return err
	}
	var all []testturn.Reached
	combinations, missed := 0, 0
	for _, program := range slices.Sorted(maps.Keys(suites)) {
		for _, r := range suites[program].Replay(mostTurns) {
			for _, cell := range r.Missed {
				fmt.Printf("%s: no turn reaches %s\n", program, cell)
			}
			r.Test = program + " " + r.Test
			combinations, missed = combinations+r.Combinations, missed+len(r.Missed)
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no test has written a choice to %s", args[0])
	}
	slices.SortStableFunc(all, func(a, b testturn.Reached) int { return cmp.Compare(b.Turns, a.Turns) })
	fmt.Printf("%d tests have made choices: %d combinations, of which no turn reaches %d\n", len(all), combinations, missed)
	fmt.Printf("half of the tests need %d turns, nine of ten %d, all %d:\n",
		all[len(all)/2].Turns, all[len(all)/10].Turns, all[0].Turns)
	for _, r := range all[:min(5, len(all))] {
		fmt.Printf("  %4d turns for %4d combinations: %s\n", r.Turns, r.Combinations, r.Test)
	}
	if missed > 0 {
		return fmt.Errorf("no turn reaches %d combinations", missed)
	}
	return nil
}

// read returns the choices of each program.
func read(folder string) (map[string]*testturn.Suite, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*~*.jsonl"))
	if err != nil {
		return nil, err
	}
	suites := map[string]*testturn.Suite{}
	for _, file := range files {
		program, _, _ := strings.Cut(filepath.Base(file), "~")
		if suites[program] == nil {
			suites[program] = &testturn.Suite{}
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		err = suites[program].Add(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return suites, nil
}
