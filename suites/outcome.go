package suites

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// The results of a test.
const (
	pass = "pass"
	fail = "fail"
	skip = "skip"
)

// Outcome holds the results of a run of a test program.
type Outcome struct {
	Results map[string]string // the results of tests and subtests by name: pass, fail or skip
	Output  map[string]string // the output by test; under an empty name, the output that belongs to no test
}

// ReadOutcome reads the lines that "go tool test2json" writes. A test that ends its program
// counts as failed. Tests that were running at the same time have no result.
func ReadOutcome(r io.Reader) (*Outcome, error) {
	o := &Outcome{Results: map[string]string{}, Output: map[string]string{}}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := o.add(line); err != nil {
				return nil, err
			}
		}
		switch {
		case err == io.EOF:
			return o, nil
		case err != nil:
			return nil, err
		}
	}
}

// add adds one line.
func (o *Outcome) add(line []byte) error {
	var event struct{ Action, Test, Output string }
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("%q is no line of test2json: %w", line, err)
	}
	switch event.Action {
	case "output":
		o.Output[event.Test] += event.Output
	case pass, fail, skip:
		if event.Test != "" {
			o.Results[event.Test] = event.Action
		}
	}
	return nil
}

// merge adds the results of a later run.
func (o *Outcome) merge(later *Outcome) {
	maps.Copy(o.Results, later.Results)
	for name, text := range later.Output {
		o.Output[name] += text
	}
}

// Tests returns how many tests and subtests passed or failed.
func (o *Outcome) Tests() int {
	n := 0
	for _, result := range o.Results {
		if result != skip {
			n++
		}
	}
	return n
}

// Failed returns the names of the tests that failed, in order. A test that contains a
// failed subtest is left out, since it has failed because of the subtest.
func (o *Outcome) Failed() []string {
	var all []string
	for name, result := range o.Results {
		if result == fail && !o.hasFailedBelow(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func (o *Outcome) hasFailedBelow(name string) bool {
	for other, result := range o.Results {
		if result == fail && strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// failedAbove reports whether the test, or a test that contains it, has failed.
func (o *Outcome) failedAbove(name string) bool {
	for {
		if o.Results[name] == fail {
			return true
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return false
		}
		name = name[:i]
	}
}

// Comparison describes how a filled run differs from the plain run, by names of tests.
type Comparison struct {
	Broken []string // tests that failed only in the filled run
	Mended []string // tests that failed only in the plain run
	Lost   []string // tests that passed in the plain run, and were skipped or not run in the filled run
}

// Compare compares two runs of one program.
func Compare(plain, filled *Outcome) Comparison {
	var c Comparison
	before, after := plain.Failed(), filled.Failed()
	for _, name := range after {
		if plain.Results[name] != fail {
			c.Broken = append(c.Broken, name)
		}
	}
	for _, name := range before {
		if filled.Results[name] == pass {
			c.Mended = append(c.Mended, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plain.Results)) {
		result := filled.Results[name]
		if plain.Results[name] == pass && result != pass && !filled.failedAbove(name) {
			c.Lost = append(c.Lost, name)
		}
	}
	return c
}

// Names returns all tests that differ.
func (c Comparison) Names() []string { return slices.Concat(c.Broken, c.Mended, c.Lost) }

// Unexpected compares the tests that differ with the list of the suite. It returns the tests
// that are not in the list, and the listed tests that do not differ.
func (c Comparison) Unexpected(s *Suite, driver, policy string) (unlisted, alike []string) {
	listed := map[string]bool{} // the listed tests; the value reports whether the test may have the same result in both runs
	for _, d := range s.Differences {
		if matches(d.Drivers, driver) && matches(d.Policies, policy) {
			for _, name := range d.Tests {
				listed[name] = d.Sometimes
			}
		}
	}
	names := c.Names()
	for _, name := range names {
		if _, ok := listed[name]; !ok {
			unlisted = append(unlisted, name)
		}
	}
	for name, sometimes := range listed {
		if !sometimes && !slices.Contains(names, name) {
			alike = append(alike, name)
		}
	}
	slices.Sort(alike)
	return unlisted, alike
}

// matches reports whether a list is empty or has the name.
func matches(list []string, name string) bool {
	return len(list) == 0 || slices.Contains(list, name)
}
