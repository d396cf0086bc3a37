// Command testrun runs go test and starts tests again that have no result.
//
//	testrun [flags of go test] -- [packages]
//
// A panic, a fatal error or a timeout ends a Go test program, and with it every test that
// runs or waits there. "make test" has few test programs with many tests each, so testrun
// runs the tests that have no result again: each test that was running is run alone and by
// its name, since it may be the cause, and then the remaining tests are run together. The
// run fails in any case.
//
// It prints what go test prints without -json, but each package when it has ended.
// It has the exit code of go test. SIGINT and SIGTERM go to go test and to its programs,
// and no test is run again after them.
//
// # Caveats
//
// Flags by which go test does something other than to run tests, such as -bench, -list and
// -json, are passed to go test, and no test is run again. With -failfast no test is run
// again either. A profile, such as -coverprofile, is of the last program alone.
package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	r := &runner{out: os.Stdout, errs: os.Stderr}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for s := range signals {
			r.forward(s.(syscall.Signal))
		}
	}()
	os.Exit(r.main(os.Args[1:]))
}

// runner runs go test.
type runner struct {
	out, errs io.Writer
	folder    string // the folder in which go test runs; empty for the working directory
	flags     []string

	mu          sync.Mutex
	group       int // the process group of go test; 0 if go test does not run
	interrupted bool
}

// main runs go test with flags and packages and returns the exit code.
func (r *runner) main(args []string) int {
	flags, packages := args, []string(nil)
	if i := slices.Index(args, "--"); i >= 0 {
		flags, packages = args[:i], args[i+1:]
	}
	r.flags = flags
	if slices.ContainsFunc(flags, otherUse) {
		return r.command(r.out, slices.Concat([]string{"test"}, flags, packages))
	}
	all, code := r.test(r.printed, packages...)
	if !has(flags, "failfast") {
		for _, p := range all {
			r.again(p)
		}
	}
	if code != 0 && len(all) > 0 {
		_, _ = io.WriteString(r.out, "FAIL\n") // go test ends its output with this line too
	}
	return code
}

// printed prints a package that has ended as go test does.
func (r *runner) printed(p *program) { p.print(r.out, has(r.flags, "v")) }

// test runs go test -json with the runner's flags and more arguments. It calls ended for
// each package that has ended, and returns all packages.
func (r *runner) test(ended func(*program), args ...string) ([]*program, int) {
	read, write := io.Pipe()
	events := &reader{ended: ended, out: r.out, errs: r.errs}
	done := make(chan struct{})
	go func() {
		defer close(done)
		events.read(read)
	}()
	code := r.command(write, slices.Concat([]string{"test", "-json"}, r.flags, args))
	_ = write.Close() // Close of a pipe never fails
	<-done
	return events.finish(), code
}

// command runs the go command in a process group of its own, so that a signal
// reaches the test programs too, and returns its exit code.
func (r *runner) command(out io.Writer, args []string) int {
	c := exec.Command("go", args...)
	c.Dir, c.Stdout, c.Stderr = r.folder, out, r.errs
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.WaitDelay = 10 * time.Second // how long to wait for processes that a test program has left running
	if err := r.start(c); err != nil {
		_, _ = io.WriteString(r.errs, "testrun: "+err.Error()+"\n")
		return 1
	}
	err := c.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.group = 0
	if code := c.ProcessState.ExitCode(); code > 0 || err == nil && !r.interrupted {
		return code
	}
	return 1 // a signal has ended go test, or came before it started
}

func (r *runner) start(c *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.interrupted {
		return syscall.EINTR
	}
	if err := c.Start(); err != nil {
		return err
	}
	r.group = c.Process.Pid
	return nil
}

// forward sends a signal to go test and to the programs that it runs.
func (r *runner) forward(s syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupted = true
	if r.group != 0 {
		_ = syscall.Kill(-r.group, s) // an error only says that go test has ended already
	}
}

func (r *runner) isInterrupted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.interrupted
}

// otherUse reports whether go test does not run tests, or not only tests, with a flag.
func otherUse(flag string) bool {
	name, _, _ := parse(flag)
	return slices.Contains([]string{"json", "c", "list", "bench", "fuzz", "n", "h", "help", "args"}, name)
}

// has reports whether a boolean flag is set.
func has(flags []string, name string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool {
		n, value, _ := parse(flag)
		return n == name && value != "false"
	})
}

// value returns the last value of a flag, empty without the flag.
func value(flags []string, name string) (last string) {
	for i, flag := range flags {
		n, v, whole := parse(flag)
		switch {
		case n != name:
		case whole:
			last = v
		case i+1 < len(flags):
			last = flags[i+1]
		}
	}
	return last
}

// parse splits -name=value. The name is empty if the text is no flag; whole reports whether
// the text contains the value.
func parse(flag string) (name, value string, whole bool) {
	name, isFlag := strings.CutPrefix(flag, "-")
	if !isFlag {
		return "", "", false
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "-"), "test.")
	return strings.Cut(name, "=")
}
