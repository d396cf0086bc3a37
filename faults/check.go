package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checker checks that the present tests find the faults that are recorded as found.
type checker struct {
	root, work string
	turns      int // how many turns (see package testturn) to try; 0 runs each test with all engines, drivers, sources and faults
	out        io.Writer
	without    map[string]*outcome // the outcomes of tests without a fault, by test and turn
	most       int                 // the greatest number of turns (runs of some of the tests) that finding a fault has taken
	mostOf     string
	lost, gone []string // faults
}

// check runs for each fault that is recorded as killed the test that kills it, wherever
// its package is today, and returns an error if a fault is not found any more.
func (c *checker) check(entries []entry) error {
	if err := c.mutants(entries); err != nil {
		return err
	}
	if err := c.undone(entries); err != nil {
		return err
	}
	found := 0
	for _, e := range entries {
		if e.Result == killed {
			found++
		}
	}
	fmt.Fprintf(c.out, "%d faults are recorded as found; %d are found now, %d are not, and %d are gone from the code\n",
		found, found-len(c.lost)-len(c.gone), len(c.lost), len(c.gone))
	if c.turns > 0 && c.most > 0 {
		fmt.Fprintf(c.out, "the last of them is found in turn %d: %s\n", c.most, c.mostOf)
	}
	for _, id := range c.gone {
		fmt.Fprintf(c.out, "  gone: %s\n", id)
	}
	for _, id := range c.lost {
		fmt.Fprintf(c.out, "  not found: %s\n", id)
	}
	if len(c.lost) > 0 {
		return fmt.Errorf("%d faults that tests have found are not found any more: mend the tests, or search all again by ALL=1", len(c.lost))
	}
	return nil
}

// mutants checks the faults that are mutants (single changes of the code), all of which are
// in one copy of the repository.
func (c *checker) mutants(entries []entry) error {
	t, err := copyTree(c.root, filepath.Join(c.work, "mutants"))
	if err != nil {
		return err
	}
	found, err := findCandidates(t)
	if err != nil {
		return err
	}
	var chosen []candidate
	var of []entry
	for _, e := range entries {
		if e.Mutant == nil || e.Result != killed {
			continue
		}
		i := slices.IndexFunc(found, func(c candidate) bool { return c.key == *e.Mutant })
		if i < 0 {
			c.gone = append(c.gone, e.ID)
			continue
		}
		chosen, of = append(chosen, found[i]), append(of, e)
	}
	if bad, err := t.mutate(chosen); err != nil {
		return err
	} else if len(bad) > 0 {
		return fmt.Errorf("%s does not compile any more: remove its line", of[bad[0]].ID)
	}
	if err := t.commit("mutants"); err != nil {
		return err
	}
	s, err := newSearcher(t, nil, c.out)
	if err != nil {
		return err
	}
	for i, e := range of {
		if err := c.one(s, s, e, faultEnv(i)); err != nil {
			return err
		}
	}
	return nil
}

// undone checks the faults that are commits, by undoing one commit after the other.
func (c *checker) undone(entries []entry) error {
	var clean *searcher
	var t *tree
	for _, e := range entries {
		if e.Commit == "" || e.Result != killed {
			continue
		}
		if clean == nil {
			cleanTree, err := copyTree(c.root, filepath.Join(c.work, "clean"))
			if err != nil {
				return err
			}
			if clean, err = newSearcher(cleanTree, nil, c.out); err != nil {
				return err
			}
			if t, err = copyTree(c.root, filepath.Join(c.work, "undone")); err != nil {
				return err
			}
			if err := t.commit("as it is"); err != nil {
				return err
			}
		}
		undone, err := t.commitOf(e.Commit)
		if err == nil && undone == nil {
			err = errors.New("it does not change product code and a test")
		}
		if err == nil {
			_, err = t.undo(undone)
		}
		if err != nil {
			fmt.Fprintf(c.out, "%s: %v\n", e.ID, err)
			c.gone = append(c.gone, e.ID)
			continue
		}
		s, err := newSearcher(t, nil, c.out)
		if err != nil {
			return err
		}
		s.clean = clean
		if err := c.one(s, clean, e, nil); err != nil {
			return err
		}
		if err := t.redo(); err != nil {
			return err
		}
	}
	return nil
}

// one checks one fault.
func (c *checker) one(s, clean *searcher, e entry, env []string) error {
	programs, err := programsWith(s, e.Test)
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		fmt.Fprintf(c.out, "%s: there is no test %s any more\n", e.ID, e.Test)
		c.lost = append(c.lost, e.ID)
		return nil
	}
	// The recorded program comes first, if several programs have a test of this name.
	slices.SortStableFunc(programs, func(a, b string) int {
		return strings.Compare(strconv.FormatBool(b == e.Program), strconv.FormatBool(a == e.Program))
	})
	for _, name := range programs {
		t := test{name, e.Test}
		if c.turns == 0 {
			if found, err := c.finds(s, clean, t, env, nil); err != nil {
				return err
			} else if found {
				fmt.Fprintf(c.out, "%s: %s finds it\n", e.ID, t)
				return nil
			}
		}
		for turn := 1; turn <= c.turns; turn++ {
			found, err := c.finds(s, clean, t, env, []string{"KEYFILL_TEST_TURN=" + strconv.Itoa(turn)})
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			fmt.Fprintf(c.out, "%s: %s finds it in turn %d\n", e.ID, t, turn)
			if turn > c.most {
				c.most, c.mostOf = turn, fmt.Sprintf("%s by %s", e.ID, t)
			}
			return nil
		}
	}
	fmt.Fprintf(c.out, "%s: %s in %v does not find it\n", e.ID, e.Test, programs)
	c.lost = append(c.lost, e.ID)
	return nil
}

// finds reports whether a test fails with a fault and passes without it, in a turn.
func (c *checker) finds(s, clean *searcher, t test, env, turn []string) (bool, error) {
	env = slices.Concat(env, turn)
	limit := s.limit(t.Program, []string{t.Name})
	o, err := s.alone(t, env, limit)
	if err != nil || o.ok {
		return false, err
	}
	id := t.String() + strings.Join(turn, "")
	without := c.without[id]
	if without == nil {
		if without, err = clean.alone(t, turn, 45*time.Minute); err != nil {
			return false, err
		}
		c.without[id] = without
	}
	if !without.ok {
		fmt.Fprintf(c.out, "%s fails without a fault too: %s\n", t, without.tail)
		return false, nil
	}
	if o.hung && 5*without.took > limit {
		if o, err = s.alone(t, env, 5*without.took); err != nil {
			return false, err
		}
	}
	return !o.ok, nil
}

// programsWith returns the programs that have a test with a name.
func programsWith(s *searcher, name string) (found []string, err error) {
	for _, p := range s.programs {
		for _, file := range p.files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if !strings.Contains(string(text), "func "+name+"(") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, f := range testFunctions(parsed) {
				if f.Name.Name == name {
					found = append(found, p.name)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
