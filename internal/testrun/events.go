package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
)

// event is a line that go test -json prints: see "go doc test2json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// The states of a test that has no result yet. The states of a test with a result are pass,
// fail and skip.
const (
	running = "run"
	paused  = "pause" // the test waits in t.Parallel
)

// test is a test or a subtest.
type test struct {
	name   string // the name of the test; it contains a slash if it is a subtest
	state  string
	output strings.Builder
}

// hasResult reports whether the test has passed, failed or been skipped.
func (t *test) hasResult() bool { return t.state != running && t.state != paused }

// passed reports whether the test has passed or been skipped.
func (t *test) passed() bool { return t.state == "pass" || t.state == "skip" }

// program is a package's test program.
type program struct {
	name   string
	action string // pass, fail or skip; empty if go test ended before the program
	tests  []*test
	byName map[string]*test
	whole  strings.Builder // all output
	output strings.Builder // the output that belongs to no test
	judged bool            // whether package testing has printed PASS or FAIL, so that all tests have a result
}

// lost reports whether the program has ended before all of its tests had a result. If the
// program has ended before its first test, lost returns false, since it would end there
// again.
func (p *program) lost() bool { return p.action == "fail" && !p.judged && len(p.tests) > 0 }

// topLevel returns the tests that are no subtests, in the order in which they began.
func (p *program) topLevel() (all []*test) {
	for _, t := range p.tests {
		if !strings.Contains(t.name, "/") {
			all = append(all, t)
		}
	}
	return all
}

// take adds an event to the program.
func (p *program) take(e event) {
	if e.Test == "" {
		p.whole.WriteString(e.Output)
		p.output.WriteString(e.Output)
		p.judged = p.judged || e.Output == "PASS\n" || e.Output == "FAIL\n"
		return
	}
	t := p.byName[e.Test]
	if t == nil {
		t = &test{name: e.Test, state: running}
		p.byName[e.Test] = t
		p.tests = append(p.tests, t)
	}
	switch e.Action {
	case "output":
		p.whole.WriteString(e.Output)
		t.output.WriteString(e.Output)
	case "run", "cont":
		t.state = running
	case "pause", "pass", "fail", "skip":
		t.state = e.Action
	}
}

// reader reads the events of go test.
type reader struct {
	ended     func(*program)
	out, errs io.Writer
	programs  []*program
	byName    map[string]*program
}

// read reads all events until the input ends.
func (r *reader) read(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err != nil {
			return // the only possible error is io.EOF, since the writer is in this process
		}
	}
}

// line handles a line. It prints a line that is no event unchanged.
func (r *reader) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		_, _ = r.out.Write(line)
		return
	}
	if e.Package == "" { // the line is output of the compiler
		_, _ = io.WriteString(r.errs, e.Output)
		return
	}
	p := r.byName[e.Package]
	if p == nil {
		p = &program{name: e.Package, byName: map[string]*test{}}
		if r.byName == nil {
			r.byName = map[string]*program{}
		}
		r.byName[e.Package] = p
		r.programs = append(r.programs, p)
	}
	p.take(e)
	if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
		p.action = e.Action
		r.ended(p)
	}
}

// finish returns all programs. Before that it prints the programs that have not ended,
// because go test was killed.
func (r *reader) finish() []*program {
	for _, p := range r.programs {
		if p.action == "" {
			r.ended(p)
		}
	}
	return r.programs
}
