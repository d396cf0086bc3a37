package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// print prints what go test prints about a package without -json: only the closing line if
// all tests have passed; otherwise each failed test with its output, and the output that
// belongs to no test, such as the stack traces of a panic.
func (p *program) print(w io.Writer, verbose bool) {
	if verbose {
		_, _ = io.WriteString(w, p.whole.String())
		return
	}
	if p.action == "pass" || p.action == "skip" {
		_, _ = io.WriteString(w, p.closing())
		return
	}
	p.printTests(w, false)
	p.printRest(w)
}

// closing returns the line with the result and the time of the package.
func (p *program) closing() string {
	var closing strings.Builder
	for line := range strings.Lines(p.output.String()) {
		for _, begin := range []string{"ok  \t", "?   \t", "\t"} { // go test -cover prints a line beginning with "\t" for a package without tests
			if strings.HasPrefix(line, begin+p.name) {
				closing.WriteString(line)
			}
		}
	}
	return closing.String()
}

// printTests prints the tests that have not passed: for each its result and then its
// output, as go test does without -v. The events of -json have the result last. With
// passed, it prints the results of all tests.
func (p *program) printTests(w io.Writer, passed bool) {
	for _, t := range p.tests {
		result, logged, rest := t.parts()
		indent := strings.Repeat("    ", strings.Count(t.name, "/"))
		if t.passed() {
			if passed && indent == "" {
				_, _ = io.WriteString(w, result)
			}
			continue
		}
		if result != "" {
			result = indent + result
		}
		_, _ = io.WriteString(w, result)
		for line := range strings.Lines(logged) {
			if strings.HasPrefix(line, "    ") { // only lines of t.Log are indented already
				line = indent + line
			}
			_, _ = io.WriteString(w, line)
		}
		_, _ = io.WriteString(w, rest)
	}
}

// printRest prints the output that belongs to no test. If the program ended early, a part
// of that output, such as the stack traces of a panic, may follow the result of the test
// that ended last.
func (p *program) printRest(w io.Writer) {
	for _, t := range p.tests {
		if _, _, rest := t.parts(); !p.judged && t.passed() {
			_, _ = io.WriteString(w, rest)
		}
	}
	_, _ = io.WriteString(w, p.output.String())
}

var (
	resultLine = regexp.MustCompile(`^ *--- (FAIL|PASS|SKIP): `)
	stateLine  = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) `)
)

// parts returns the line with the result of a test, its output before that line, without
// the lines about its state, and its output after that line.
func (t *test) parts() (result, logged, rest string) {
	var before, after strings.Builder
	for line := range strings.Lines(t.output.String()) {
		switch {
		case stateLine.MatchString(line):
		case result == "" && resultLine.MatchString(line):
			result = line
		case result == "":
			before.WriteString(line)
		default:
			after.WriteString(line)
		}
	}
	return result, before.String(), after.String()
}

// say prints a message of testrun itself.
func (r *runner) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.out, "testrun: "+format+"\n", args...)
}
