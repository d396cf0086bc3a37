package main

import (
	"regexp"
	"strings"
)

// again runs the tests of a program again that have no result, until all have one. Tests
// that were running when the program ended run alone, each of them once, since it may end
// the program each time. The tests that had not begun run together. If their program ends
// early too, it has at least begun one of them.
func (r *runner) again(p *program) {
	name := p.name
	var begun []string // tests that have a result, or have been run alone
	for p != nil && p.lost() && !r.isInterrupted() {
		var alone []string
		before := len(begun)
		for _, t := range p.topLevel() {
			if t.state == running {
				alone = append(alone, t.name)
			}
			if t.state != paused {
				begun = append(begun, t.name)
			}
		}
		if len(begun) == before {
			r.say("%s ended again before a test began: the other tests have no result", name)
			return
		}
		r.say("%s ended before all of its tests had a result: they run again", name)
		for _, one := range alone {
			r.alone(name, one)
		}
		p = r.repeat("-skip="+without(value(r.flags, "skip"), begun), name)
	}
}

// alone runs one test again. If its program ends early again, the test counts as failed.
func (r *runner) alone(name, one string) {
	p := r.repeat("-run="+only(one), name)
	if p != nil && p.byName[one] != nil && p.byName[one].hasResult() {
		return
	}
	if !r.isInterrupted() {
		r.say("--- FAIL: %s: it ran alone, and its program ended before the test", one)
	}
}

// repeat runs tests of one package again and prints the result of each one. It returns nil
// if no program ran.
func (r *runner) repeat(args ...string) *program {
	if r.isInterrupted() {
		return nil
	}
	var ran *program
	r.test(func(p *program) { ran = p }, args...)
	if ran == nil {
		return nil
	}
	if has(r.flags, "v") {
		ran.print(r.out, true)
		return ran
	}
	ran.printTests(r.out, true)
	if ran.lost() {
		ran.printRest(r.out)
	}
	return ran
}

// only returns the expression for -run that matches one test.
func only(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }

// without returns an expression for -skip that matches the named tests and what the
// expression skip matches.
func without(skip string, names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	whole := "^(" + strings.Join(quoted, "|") + ")$"
	if skip != "" {
		whole += "|" + skip // skip comes last, since go test would run a test if the first matching alternative were only about its subtests
	}
	return whole
}
