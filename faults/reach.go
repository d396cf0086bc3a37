package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/faults/inserted"
)

// result is what one test has done without faults.
type result struct {
	Test    test
	Verdict verdict
	Seconds float64
	Blocks  []int // the numbers of the blocks that the test has reached, ascending
}

// reach holds the blocks of the product code that tests reach, by test.
type reach struct {
	Blocks  []block
	Tests   []result
	Outside map[string][]int // the blocks that are reached while no test runs, by program
	// partial reports whether some test programs have not run, so that their tests are
	// missing.
	partial bool
}

// recordReach runs all tests of a tree, and records which blocks each reaches. It writes
// the records of each program to a file, so that an interrupted run can go on. It runs only
// the programs whose names match only.
func recordReach(from, work string, only *regexp.Regexp, log io.Writer) (*reach, error) {
	t, blocks, err := countingTree(from, filepath.Join(work, "counting"))
	if err != nil {
		return nil, err
	}
	t.fixed = true
	programs, err := t.programs()
	if err != nil {
		return nil, err
	}
	all := len(programs)
	programs = slices.DeleteFunc(programs, func(p *program) bool { return !only.MatchString(p.name) })
	// The next program is compiled while the tests of one wait for servers. An error of the
	// compiler is only logged here, and returned when the program is to run.
	go func() {
		for _, p := range programs {
			if _, err := os.Stat(recordFile(work, p)); err != nil && p.build(t) != nil {
				fmt.Fprintf(log, "%s does not compile\n", p.name)
			}
		}
	}()
	r := &reach{Blocks: blocks, Outside: map[string][]int{}, partial: len(programs) < all}
	for _, p := range programs {
		part, err := recordProgram(t, p, recordFile(work, p), log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		r.Tests = append(r.Tests, part.Tests...)
		r.Outside[p.name] = part.Outside[p.name]
	}
	return r, nil
}

// recordFile returns the name of the file with what the tests of a program reach.
func recordFile(work string, p *program) string {
	return filepath.Join(work, "reach", fileName(p.name)+".json")
}

// countingTree makes a copy of the repository that counts which blocks are reached, or
// opens the copy that an interrupted run has left.
func countingTree(from, to string) (*tree, []block, error) {
	var blocks []block
	if err := readJSON(to+".json", &blocks); err == nil {
		t, err := openTree(to)
		return t, blocks, err
	}
	if err := errors.Join(os.RemoveAll(to), os.RemoveAll(to+".bin")); err != nil {
		return nil, nil, err
	}
	t, err := copyTree(from, to)
	if err != nil {
		return nil, nil, err
	}
	if err := t.enterTests(); err != nil {
		return nil, nil, err
	}
	if blocks, err = t.countBlocks(); err != nil {
		return nil, nil, err
	}
	if err := t.commit("count"); err != nil {
		return nil, nil, err
	}
	return t, blocks, writeJSON(to+".json", blocks)
}

// recordProgram runs the tests of one program. If the program ends early, it runs again for
// the tests that have no result.
func recordProgram(t *tree, p *program, file string, log io.Writer) (*reach, error) {
	folder := strings.TrimSuffix(file, ".json")
	part := &reach{Outside: map[string][]int{}}
	if err := readJSON(file, part); err == nil {
		return part, nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	env := []string{inserted.Folder + "=" + folder}
	verdicts, seconds := map[string]verdict{}, map[string]float64{}
	var rest []string
	for attempt := 0; ; attempt++ {
		o, err := p.do(t, run{tests: rest, env: env, limit: 45 * time.Minute})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(log, "%s: %d tests in %.0f s; failed: %v\n", p.name, len(o.verdicts), o.took.Seconds(), o.failures())
		if !o.ok {
			fmt.Fprintf(log, "%s\n", o.tail)
		}
		for name, v := range o.verdicts {
			verdicts[name], seconds[name] = v, o.seconds[name]
		}
		if rest, err = p.withoutResult(verdicts); err != nil {
			return nil, err
		}
		if o.ok || len(rest) == 0 || attempt == 2 {
			break
		}
	}
	for name, v := range verdicts {
		blocks, err := readRecord(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		part.Tests = append(part.Tests, result{test{p.name, name}, v, seconds[name], blocks})
	}
	slices.SortFunc(part.Tests, func(a, b result) int { return compareTests(a.Test, b.Test) })
	blocks, err := readRecord(filepath.Join(folder, inserted.Outside))
	if err != nil {
		return nil, err
	}
	part.Outside[p.name] = blocks
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	return part, writeJSON(file, part)
}

// withoutResult returns the tests of the program that have no result.
func (p *program) withoutResult(verdicts map[string]verdict) (rest []string, err error) {
	out, err := output(command(p.dir, p.binary, "-test.list=."))
	if err != nil {
		return nil, err
	}
	for _, name := range listed(out) {
		if v, ok := verdicts[name]; !ok || v == unfinished {
			rest = append(rest, name)
		}
	}
	return rest, nil
}

// readRecord returns the blocks that a record of package inserted has.
func readRecord(name string) (blocks []int, err error) {
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for n, b := range data {
		if b == 1 {
			blocks = append(blocks, n)
		}
	}
	return blocks, err
}

// readJSON reads a value from a file.
func readJSON(name string, value any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// writeJSON writes a value into a file, which is complete or does not exist.
func writeJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", text, 0o666); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
