package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/sim"
)

// test is a Go test that runs a trial, or mutants of it (deliberate mistakes in the
// source).
type test struct {
	name   string // the name of the test function
	folder string // the folder of the test's package
	binary string // the path of the compiled test program
	mutant string // the only mutant to run; empty for all
}

func (t test) display() string { return sim.Name(t.name) }

func (t test) mutants() bool { return strings.HasSuffix(t.name, "Mutants") }

// run runs the test with variables in its environment and returns its reports. A broken law
// is not an error, but a test that ends without a report is an error.
func (t test) run(variables ...string) ([]sim.Report, error) {
	pattern := "^" + t.name + "$"
	if t.mutant != "" {
		pattern += "/" + regexp.QuoteMeta(t.mutant)
	}
	// The test itself stops after its slice of time. This timeout ends a test that hangs.
	c := exec.Command(t.binary, "-test.run", pattern, "-test.timeout", "2h")
	c.Dir = t.folder
	c.Env = append(os.Environ(), append(variables, sim.EnvReport+"=1")...)
	out, failed := c.CombinedOutput()
	var reports []sim.Report
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), sim.ReportPrefix)
		if !ok {
			continue
		}
		var r sim.Report
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		reports = append(reports, r)
	}
	if len(reports) == 0 {
		return nil, fmt.Errorf("%s has ended without a report (%v):\n%s", t.name, failed, out)
	}
	return reports, lines.Err()
}

// declared finds the tests of trials and of mutants (deliberate mistakes) in source.
var declared = regexp.MustCompile(`(?m)^func (Test\w*(?:Simulation|Mutants))\(t \*testing\.T\)`)

// find returns the tests of trials and of mutants (deliberate mistakes) in all packages
// that have a file whose name ends in _sim_test.go, in the order of the packages' paths.
func find(root string) ([]test, error) {
	folders := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_sim_test.go"):
			folders[filepath.Dir(path)] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []test
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for _, name := range declared.FindAllSubmatch(source, -1) {
				all = append(all, test{name: string(name[1]), folder: folder})
			}
		}
	}
	return all, nil
}

// compile compiles the packages of tests, each in its own module, and sets the field binary
// of the tests.
func (e *explorer) compile(tests []test) error {
	programs := map[string]string{}
	for i, t := range tests {
		if programs[t.folder] == "" {
			programs[t.folder] = filepath.Join(e.folder, fmt.Sprintf("%d.test", i))
			c := exec.Command("go", "test", "-c", "-o", programs[t.folder], ".")
			c.Dir = t.folder
			c.Env = append(os.Environ(), "GOWORK=off")
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("%s in %s: %w\n%s", c, t.folder, err, out)
			}
		}
		tests[i].binary = programs[t.folder]
	}
	return nil
}
