package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keyfill/keyfill/faults/inserted"
)

// searcher looks for tests that fail because of a fault.
type searcher struct {
	tree     *tree // the tree with the faults, each of which is switched on by its number in the environment
	programs map[string]*program
	seconds  map[test]float64 // the time of each test without faults
	flaky    map[test]bool    // tests that have failed without a fault
	// clean runs tests without a fault. It is nil if tree itself runs without a fault while
	// no fault is switched on.
	clean *searcher
	until time.Time // when the search ends early; the zero time means never
	log   io.Writer
}

// errTime ends a search that has no time left.
var errTime = errors.New("no time is left for the search")

// late reports whether a search has no time left.
func (s *searcher) late() bool { return !s.until.IsZero() && time.Now().After(s.until) }

func newSearcher(t *tree, r *reach, log io.Writer) (*searcher, error) {
	s := &searcher{tree: t, programs: map[string]*program{}, seconds: map[test]float64{}, flaky: map[test]bool{}, log: log}
	programs, err := t.programs()
	if err != nil {
		return nil, err
	}
	for _, p := range programs {
		s.programs[p.name] = p
	}
	if r != nil {
		for _, t := range r.Tests {
			s.seconds[t.Test] = t.Seconds
			s.flaky[t.Test] = t.Verdict != passed
		}
	}
	return s, nil
}

// atOnce is how long the tests of one run may take together without faults. Tests that take
// longer run alone.
const atOnce = 2 * time.Second

// quick is how long a test may take to be run with one mutant (a single change of the code)
// after the other.
const quick = time.Second / 2

// limit returns how long tests may take before they count as hung.
func (s *searcher) limit(program string, names []string) time.Duration {
	sum := 0.0
	for _, name := range names {
		sum += s.seconds[test{program, name}]
	}
	return max(time.Minute, time.Duration(5*sum*float64(time.Second)))
}

func faultEnv(faults ...int) []string {
	var list []string
	for _, n := range faults {
		list = append(list, strconv.Itoa(n))
	}
	return []string{inserted.Faults + "=" + strings.Join(list, ",")}
}

// fails reports whether a test fails with faults.
func (s *searcher) fails(t test, env []string) (bool, error) {
	o, err := s.alone(t, env, s.limit(t.Program, []string{t.Name}))
	if err != nil {
		return false, err
	}
	return !o.ok, nil
}

// alone runs one test.
func (s *searcher) alone(t test, env []string, limit time.Duration) (*outcome, error) {
	p := s.programs[t.Program]
	if p == nil {
		return nil, fmt.Errorf("there is no test program %s", t.Program)
	}
	o, err := p.do(s.tree, run{tests: []string{t.Name}, env: env, limit: limit})
	if err == nil && len(o.verdicts) == 0 && o.ok {
		err = fmt.Errorf("%s has not run: %s", t, o.tail)
	}
	return o, err
}

// kills reports whether a test that has failed once with a fault fails again, and passes
// without the fault.
func (s *searcher) kills(t test, env []string) (bool, error) {
	if s.flaky[t] {
		return false, nil
	}
	if again, err := s.fails(t, env); err != nil || !again {
		return false, err
	}
	clean := s
	if s.clean != nil {
		clean = s.clean
	}
	without, err := clean.fails(t, nil)
	if without {
		s.flaky[t] = true
		fmt.Fprintf(s.log, "  %s fails without a fault\n", t)
	}
	return !without, err
}

// batch is tests of one program that are run at once.
type batch struct {
	program string
	names   []string
	seconds float64
}

// batches returns tests as batches, the quickest first. Tests on servers come after all
// others, except for tests of tools, which come last. It leaves out tests that fail without
// a fault.
func (s *searcher) batches(tests []test) (all []batch) {
	byProgram := map[string][]string{}
	for _, t := range tests {
		if s.flaky[t] || s.programs[t.Program] == nil {
			continue
		}
		if s.seconds[t] >= atOnce.Seconds() {
			all = append(all, batch{t.Program, []string{t.Name}, s.seconds[t]})
			continue
		}
		byProgram[t.Program] = append(byProgram[t.Program], t.Name)
	}
	for name, tests := range byProgram {
		b := batch{name, tests, 0}
		for _, t := range tests {
			b.seconds += s.seconds[test{name, t}]
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b batch) int {
		return cmp.Or(s.programs[a.program].rank-s.programs[b.program].rank, cmp.Compare(a.seconds, b.seconds), strings.Compare(a.program, b.program), slices.Compare(a.names, b.names))
	})
	return all
}

// single looks for a test that kills one fault, in batches whose order it keeps.
func (s *searcher) single(all []batch, env []string) (*test, error) {
	for _, b := range all {
		names := b.names
		if err := s.programs[b.program].build(s.tree); err != nil && s.clean != nil {
			fmt.Fprintf(s.log, "  the tests of %s do not compile\n", b.program)
			continue
		}
		for len(names) > 0 {
			if s.late() {
				return nil, errTime
			}
			o, err := s.programs[b.program].do(s.tree, run{tests: names, env: env, failFast: true, limit: s.limit(b.program, names)})
			if err != nil {
				return nil, err
			}
			suspects := o.failures()
			if len(suspects) == 0 && !o.ok {
				suspects = names // the program ended before a test began, so each of its tests is suspect
			}
			for _, name := range suspects {
				t := test{b.program, name}
				if o.hung && len(suspects) == 1 {
					return &t, nil // do not run it again, which would take as long
				}
				if ok, err := s.kills(t, env); err != nil {
					return nil, err
				} else if ok {
					return &t, nil
				}
			}
			if o.ok {
				break
			}
			// Tests that have passed, and suspects that were run again and do not kill the
			// fault, do not run again.
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return o.verdicts[name] == passed || o.verdicts[name] == skipped || slices.Contains(suspects, name)
			})
		}
	}
	return nil, nil
}

// group looks for tests that kill faults, with all of the faults switched on at once: a
// test that passes kills none of them. It removes a fault that is killed from the group,
// and runs those tests again that failed because of this fault. reaching holds the faults
// that each test reaches. For each test that passes, group calls cleared with the faults
// that are left.
func (s *searcher) group(reaching map[test][]int, killed func(fault int, t test) error, cleared func(faults []int, t test) error) error {
	alive := map[int]bool{}
	for _, faults := range reaching {
		for _, n := range faults {
			alive[n] = true
		}
	}
	reaches := func(t test) (faults []int) {
		for _, n := range reaching[t] {
			if alive[n] {
				faults = append(faults, n)
			}
		}
		return faults
	}
	for _, b := range s.batches(slices.Collect(maps.Keys(reaching))) {
		names := b.names
		for {
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return len(reaches(test{b.program, name})) == 0 })
			if len(names) == 0 {
				break
			}
			if s.late() {
				return errTime
			}
			var all []int
			for n := range alive {
				if alive[n] {
					all = append(all, n)
				}
			}
			slices.Sort(all)
			o, err := s.programs[b.program].do(s.tree, run{tests: names, env: faultEnv(all...), limit: s.limit(b.program, names)})
			if err != nil {
				return err
			}
			fmt.Fprintf(s.log, "  %d faults at once, %s: %d tests in %.0f s; failed: %v\n", len(all), b.program, len(names), o.took.Seconds(), o.failures())
			for _, name := range names {
				t := test{b.program, name}
				if v := o.verdicts[name]; v == passed || v == skipped {
					if err := cleared(reaches(t), t); err != nil {
						return err
					}
				}
			}
			if o.ok {
				break
			}
			suspects := o.failures()
			if len(suspects) == 0 {
				suspects = slices.Clone(names)
			}
			// The first fault that is found makes most of the other tests fail too, so
			// these tests are run again without that fault.
			var innocent []string
			slices.SortStableFunc(suspects, func(x, y string) int {
				return cmp.Compare(s.seconds[test{b.program, x}], s.seconds[test{b.program, y}])
			})
			for _, name := range suspects {
				t := test{b.program, name}
				n, err := s.halve(t, reaches(t))
				if err != nil {
					return err
				}
				if n >= 0 {
					delete(alive, n)
					if err := killed(n, t); err != nil {
						return err
					}
					break
				}
				fmt.Fprintf(s.log, "  %s fails with several faults at once, and with none of them alone\n", t)
				innocent = append(innocent, name)
			}
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				return o.verdicts[name] == passed || o.verdicts[name] == skipped || slices.Contains(innocent, name)
			})
		}
	}
	return nil
}

// halve returns the fault that alone makes a test fail, of several faults with which it
// fails, or -1 if no single fault does.
func (s *searcher) halve(t test, faults []int) (int, error) {
	if len(faults) == 0 {
		return -1, nil
	}
	if ok, err := s.fails(t, faultEnv(faults...)); err != nil || !ok {
		return -1, err
	}
	if len(faults) == 1 {
		ok, err := s.kills(t, faultEnv(faults...))
		if err != nil || !ok {
			return -1, err
		}
		return faults[0], nil
	}
	half := len(faults) / 2
	if n, err := s.halve(t, faults[:half]); err != nil || n >= 0 {
		return n, err
	}
	return s.halve(t, faults[half:])
}
