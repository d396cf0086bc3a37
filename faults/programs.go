package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// program is a test program: the tests of one package.
type program struct {
	name   string // folder of the package below the root, "." for the root
	dir    string
	rank   int      // programs of a lower rank are run before others
	files  []string // the files of the program that have tests
	mu     sync.Mutex
	binary string // the compiled program; empty if it is not built yet
	broken error  // the error of building the program
}

// programs returns the test programs of all modules: first those beside product code, then
// tests on servers, and last the tests of tools.
func (t *tree) programs() (all []*program, err error) {
	for _, folder := range t.modules {
		rank := 0
		switch {
		case folder == "e2e":
			rank = 1
		case slices.Contains(tools, folder):
			rank = 2
		}
		out, err := output(command(filepath.Join(t.root, folder), "go", "list", "-json=Dir,TestGoFiles,XTestGoFiles", "./..."))
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Dir                       string
				TestGoFiles, XTestGoFiles []string
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			var files []string
			for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
				files = append(files, filepath.Join(p.Dir, name))
			}
			if len(files) == 0 {
				continue
			}
			name, err := filepath.Rel(t.root, p.Dir)
			if err != nil {
				return nil, err
			}
			all = append(all, &program{name: filepath.ToSlash(name), dir: p.Dir, files: files, rank: rank})
		}
	}
	slices.SortStableFunc(all, func(a, b *program) int { return a.rank - b.rank })
	return all, nil
}

// fileName returns a name of a file for a program.
func fileName(programName string) string {
	if programName == "." {
		return "root"
	}
	return strings.ReplaceAll(programName, "/", "_")
}

// build compiles the program, if it is not built yet.
func (p *program) build(t *tree) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.binary != "" || p.broken != nil {
		return p.broken
	}
	folder := t.root + ".bin"
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	binary := filepath.Join(folder, fileName(p.name)+".test")
	if _, err := os.Stat(binary); err != nil || !t.fixed {
		_, err := output(command(p.dir, "go", "test", "-c", "-ldflags=-s", "-o", binary+".new", "."))
		if err == nil {
			err = os.Rename(binary+".new", binary) // rename a complete file, so that an interrupted build leaves no half-written one
		}
		if err != nil {
			p.broken = err
			return err
		}
	}
	p.binary = binary
	return nil
}

// runningGroup is the process group of the test program that runs, or 0 if no test program
// runs.
var runningGroup atomic.Int64

// stopOnSignal ends the test program that runs, which is in a process group of its own, and
// then this program. It also makes test programs start without ignored signals, since some
// tests send signals. A program that a shell runs in the background ignores some.
func stopOnSignal(clean func()) {
	hangup := signal.Ignored(syscall.SIGHUP) // by nohup
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			if s == syscall.SIGHUP && hangup {
				continue
			}
			if group := int(runningGroup.Load()); group != 0 {
				_ = syscall.Kill(-group, syscall.SIGKILL) // an error only says that the program has ended meanwhile
			}
			clean()
			os.Exit(1)
		}
	}()
}

// verdict says how a test has ended.
type verdict string

const (
	passed     verdict = "PASS"
	failed     verdict = "FAIL"
	skipped    verdict = "SKIP"
	unfinished verdict = "no result"
)

// outcome is how the tests of one run have ended.
type outcome struct {
	ok       bool // whether the exit code is 0
	hung     bool
	verdicts map[string]verdict // by test
	seconds  map[string]float64
	took     time.Duration
	tail     string // the end of the program's output
}

// failures returns the tests that have failed, followed by the tests that have begun and
// have no result.
func (o *outcome) failures() (names []string) {
	if o.ok {
		return nil
	}
	for _, v := range []verdict{failed, unfinished} {
		first := len(names)
		for name, is := range o.verdicts {
			if is == v {
				names = append(names, name)
			}
		}
		slices.Sort(names[first:])
	}
	return names
}

// run is one run of a test program.
type run struct {
	tests    []string // empty: all
	env      []string
	failFast bool
	limit    time.Duration
}

// In "go test -test.v=test2json", the line with a result begins with this byte. It may
// follow other output of the test on the same line.
var resultLine = regexp.MustCompile(`\x16(?:=== (RUN)   |--- (PASS|FAIL|SKIP): )([^/\s]+)(?: \((\d+\.\d+)s\))?\n`)

// do runs tests of the program. They run with all engines, drivers, sources and faults,
// unless env says otherwise.
func (p *program) do(t *tree, r run) (*outcome, error) {
	if err := p.build(t); err != nil {
		return nil, err
	}
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.parallel=4", fmt.Sprint("-test.timeout=", r.limit)}
	if len(r.tests) > 0 {
		args = append(args, "-test.run=^("+strings.Join(r.tests, "|")+")$")
	}
	if r.failFast {
		args = append(args, "-test.failfast")
	}
	cmd := command(p.dir, p.binary, args...)
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(s string) bool {
		return strings.HasPrefix(s, "KEYFILL_TEST_TURN=") || strings.HasPrefix(s, "KEYFILL_FAULTS")
	}), "KEYFILL_TEST_REQUIRE=1", "GOGC=400")
	cmd.Env = append(cmd.Env, r.env...)
	file, err := os.CreateTemp("", "output")
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = file.Close() // an error of Close is ignored, since the file is removed
		_ = os.Remove(file.Name())
	}()
	cmd.Stdout, cmd.Stderr = file, file
	// Run the program in a process group of its own, which the processes started by its
	// tests join, so that all of them can be killed if the program hangs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	runningGroup.Store(int64(cmd.Process.Pid))
	defer runningGroup.Store(0)
	hung := false
	// The program ends when the limit is reached, except in a loop that it cannot
	// interrupt.
	timer := time.AfterFunc(r.limit+20*time.Second, func() {
		hung = true
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error only says that the program has ended meanwhile
	})
	err = cmd.Wait()
	if !timer.Stop() {
		hung = true
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kill the processes that the program has left running
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	text, readErr := os.ReadFile(file.Name())
	if readErr != nil {
		return nil, readErr
	}
	o := readOutcome(text)
	o.ok, o.took = err == nil, time.Since(begun)
	o.hung = hung || bytes.Contains(text, []byte("panic: test timed out after"))
	return o, nil
}

// readOutcome reads what a test program has printed.
func readOutcome(text []byte) *outcome {
	o := &outcome{verdicts: map[string]verdict{}, seconds: map[string]float64{}}
	for _, m := range resultLine.FindAllSubmatch(text, -1) {
		name := string(m[3])
		if len(m[1]) > 0 {
			o.verdicts[name] = unfinished
			continue
		}
		o.verdicts[name] = verdict(m[2])
		o.seconds[name], _ = strconv.ParseFloat(string(m[4]), 64) // this never fails, since the expression matches a number
	}
	o.tail = string(text[max(0, len(text)-1500):])
	return o
}

// listed returns the tests in what "-test.list" prints. TestMain may print more.
func listed(out []byte) (names []string) {
	for _, word := range strings.Fields(string(out)) {
		if isTestName(word, "Test") || isTestName(word, "Fuzz") || isTestName(word, "Example") {
			names = append(names, word)
		}
	}
	return names
}
