package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/stats"
)

// counted is a number of instructions: all are all instructions, own those outside of Go's
// runtime, whose threads execute more instructions the longer a run takes.
type counted struct{ all, own float64 }

// instructions returns how many instructions a statement takes. It compares a run of many
// statements with a run of few, so that the program's start does not count.
func instructions(program, way string) (of counted, err error) {
	const few, many = 2_000, 22_000
	folder, err := os.MkdirTemp("", "keyfill-cost-")
	if err != nil {
		return of, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var runs [2]counted
	for i, n := range []int{few, many} {
		file := filepath.Join(folder, strconv.Itoa(n))
		command := exec.Command("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file="+file,
			program, "-way="+way, "-n="+strconv.Itoa(n))
		command.Env = append(os.Environ(), "GOMAXPROCS=1")
		if out, err := command.CombinedOutput(); err != nil {
			return of, fmt.Errorf("valgrind: %w: is Debian's package valgrind installed?\n%s", err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return of, err
		}
		if runs[i], err = read(string(text)); err != nil {
			return of, err
		}
	}
	return counted{(runs[1].all - runs[0].all) / (many - few), (runs[1].own - runs[0].own) / (many - few)}, nil
}

// read reads a file of cachegrind, which has a count for each line of a function:
// https://valgrind.org/docs/manual/cg-manual.html#cg-manual.impl-details.file-format.
func read(text string) (of counted, err error) {
	function := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "fn="); ok {
			function = name
			continue
		}
		at, count, ok := strings.Cut(line, " ")
		if _, err := strconv.Atoi(at); !ok || err != nil {
			continue // the line names a file, or belongs to the head
		}
		n, err := strconv.ParseFloat(count, 64)
		if err != nil {
			return of, fmt.Errorf("cachegrind's file has the line %q", line)
		}
		if of.all += n; !isRuntime(function) {
			of.own += n
		}
	}
	if of.own == 0 {
		return of, errors.New("cachegrind's file has no function outside of Go's runtime")
	}
	return of, nil
}

// isRuntime reports whether a function belongs to Go's runtime.
func isRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/runtime/")
}

// timed is the processor time of statements in nanoseconds, one sample for each round, and
// how many allocations one statement takes.
type timed struct {
	with, without             []float64
	ratio                     stats.Estimate
	allocsWith, allocsWithout float64
}

// times measures both builds in turns.
func times(with, without, way string, rounds int) (t timed, err error) {
	a, err := start(with, way)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	b, err := start(without, way)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for round := range rounds + 1 { // the first round only warms up
		var took, allocs [2]float64
		for _, i := range stats.Order(round, 2) {
			if took[i], allocs[i], err = []*runner{a, b}[i].turn(); err != nil {
				return t, err
			}
		}
		if round > 0 {
			t.with, t.without = append(t.with, took[0]), append(t.without, took[1])
			t.allocsWith, t.allocsWithout = allocs[0], allocs[1]
		}
	}
	t.ratio = stats.Of(stats.Ratios(t.with, t.without))
	return t, nil
}

// runner is a program that executes statements on request.
type runner struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start starts a program.
func start(program, way string) (*runner, error) {
	r := &runner{command: exec.Command(program, "-way="+way)}
	r.command.Env = append(os.Environ(), "GOMAXPROCS=1")
	r.command.Stderr = os.Stderr
	var err error
	if r.in, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.command.Start()
}

// turn lets the program execute some statements, and returns the nanoseconds and the
// allocations that one statement took.
func (r *runner) turn() (took, allocs float64, err error) {
	const n = 20_000
	if _, err := fmt.Fprintln(r.in, n); err != nil {
		return 0, 0, err
	}
	_, err = fmt.Fscan(r.out, &took, &allocs)
	return took / n, allocs / n, err
}

// close ends the program.
func (r *runner) close() error { return errors.Join(r.in.Close(), r.command.Wait()) }
