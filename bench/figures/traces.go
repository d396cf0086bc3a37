package figures

import (
	"fmt"
	"strings"
	"time"
)

// profileTotals holds the times of the samples of a CPU profile, by the part of the code.
type profileTotals struct {
	all    time.Duration
	parts  map[string]time.Duration
	memory map[string]time.Duration // the time in which memory is allocated and collected, by part
}

// The parts that are neither a function of keyfill's nor a package.
const (
	partBench     = "the loop, and the driver that does nothing"
	partCalls     = "calls of the system"
	partCollector = "the collector and the scheduler of Go"
)

// readTraces adds up what "go tool pprof -traces" prints: for each sample a line of
// dashes, labels if there are any, and the functions from the innermost one on, the first
// of them after the time.
func readTraces(text string) (profileTotals, error) {
	t := profileTotals{parts: map[string]time.Duration{}, memory: map[string]time.Duration{}}
	_, text, found := strings.Cut(text, "\n-----------+")
	for found {
		var sample string
		sample, text, found = strings.Cut(text, "\n-----------+")
		_, sample, _ = strings.Cut(sample, "\n") // drop the rest of the line of dashes
		if err := t.add(sample); err != nil {
			return t, err
		}
	}
	return t, nil
}

// add adds a sample.
func (t *profileTotals) add(sample string) error {
	var took time.Duration
	var stack []string
	for line := range strings.Lines(sample) {
		line = strings.TrimSuffix(strings.TrimSpace(line), " (inline)")
		switch at, function, timed := strings.Cut(line, "   "); {
		case line == "":
		case len(stack) > 0:
			stack = append(stack, line)
		case timed:
			var err error
			if took, err = time.ParseDuration(at); err != nil {
				return fmt.Errorf("figures: a trace without a time: %q", line)
			}
			stack = append(stack, strings.TrimSpace(function))
		}
	}
	if len(stack) == 0 {
		return nil
	}
	part := partOf(stack)
	t.all += took
	t.parts[part] += took
	if allocates(stack) {
		t.memory[part] += took
	}
	return nil
}

// partOf returns the part that a sample counts for: the innermost function of keyfill's, or
// the innermost other package that is not a helper of the standard library.
func partOf(stack []string) string {
	called := false // whether a system call was made further inside
	for _, function := range stack {
		rest, own := strings.CutPrefix(function, module+"/")
		name := packageOf(function)
		switch {
		case own && strings.HasPrefix(rest, "bench/"):
			return partBench
		case own, name == module:
			return strings.TrimPrefix(rest, module)
		case name == "syscall", name == "internal/runtime/syscall", name == "internal/runtime/syscall/linux":
			called = true
		case called && (name == "net" || strings.HasPrefix(name, "internal/poll")):
			return partCalls
		case name == "database/sql", name == "database/sql/driver":
			return "database/sql"
		case name == "testing":
			return partBench
		}
		if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
			return name
		}
	}
	if called {
		return partCalls
	}
	return partCollector
}

// allocates reports whether a sample was taken while memory was allocated or collected.
func allocates(stack []string) bool {
	for _, function := range stack {
		if strings.HasPrefix(function, "runtime.mallocgc") || strings.HasPrefix(function, "runtime.gcAssist") {
			return true
		}
	}
	return false
}
