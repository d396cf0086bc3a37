package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testturn"
)

// asCommand makes this test binary the command: TestSignal ends a process of its own.
const asCommand = "KEYFILL_TESTRUN_ARGUMENTS"

func TestMain(m *testing.M) {
	if args := os.Getenv(asCommand); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
	}
	m.Run()
}

// module writes a module with a package for each text and returns its folder.
func module(t *testing.T, packages map[string]string) string {
	t.Helper()
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("it builds programs: left out by -short")
	}
	folder := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example\n\ngo 1.26\n")
	for name, text := range packages {
		write(filepath.Join(name, name+"_test.go"), "package "+name+"\n\n"+text)
	}
	return folder
}

// inModule runs the command in a module and returns what it printed on its output, without
// times and stack traces, and its exit code.
func inModule(t *testing.T, packages map[string]string, args ...string) (string, int) {
	t.Helper()
	testturn.WhenChanged(t, "internal/testrun/")
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	var out, errs strings.Builder
	r := &runner{out: &out, errs: &errs, folder: module(t, packages)}
	code := r.main(args)
	text := out.String()
	for _, change := range [][2]string{
		{`(?ms)^goroutine \d+.*?(^FAIL|^testrun:|^exit status)`, "…\n$1"},
		{`\b\d+\.\d+s`, "0s"},
	} {
		text = regexp.MustCompile(change[0]).ReplaceAllString(text, change[1])
	}
	t.Logf("exit code %d, standard error %q, output:\n%s", code, &errs, &out)
	return text, code
}

// dies is a package with a test that ends the program after one test has failed, while two
// wait for their turn and two have not begun.
const dies = `import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

var ends = map[string]func(){
	"exit":   func() { os.Exit(1) },
	"fatal":  func() { new(sync.Mutex).Unlock() },
	"killed": func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"panic":  func() { panic("boom") },
}

func TestPasses(t *testing.T) { t.Log("logged") }

func TestFails(t *testing.T) {
	t.Run("inner", func(t *testing.T) { t.Run("most", func(t *testing.T) { t.Error("wrong") }) })
	t.Log("after it")
}

func TestWaits(t *testing.T)  { t.Parallel() }
func TestWaits2(t *testing.T) { t.Parallel(); t.Error("wrong too") }

func TestDies(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		fmt.Println("printed")
		never := make(chan bool)
		go func() { ends["END"]() }()
		<-never
	})
}

func TestLate(t *testing.T)    {}
func TestSkipped(t *testing.T) { t.Skip("not now") }
`

const lives = `import "testing"

func TestLives(t *testing.T) { t.Log("logged") }
`

// failed is what go test prints of the test of dies that fails.
const failed = `--- FAIL: TestFails (0s)
    dies_test.go:22: after it
    --- FAIL: TestFails/inner (0s)
        --- FAIL: TestFails/inner/most (0s)
            dies_test.go:21: wrong
`

// TestPanic: a test that has no result runs again, and has one.
func TestPanic(t *testing.T) {
	out, code := inModule(t, map[string]string{"dies": strings.Replace(dies, "END", "panic", 1), "lives": lives}, "-count=1", "-p=1", "--", "./...")
	want := failed + `printed
panic: boom

…
FAIL	example/dies	0s
ok  	example/lives	0s
testrun: example/dies ended before all of its tests had a result: they run again
printed
panic: boom

…
FAIL	example/dies	0s
testrun: --- FAIL: TestDies: it ran alone, and its program ended before the test
--- PASS: TestWaits (0s)
--- FAIL: TestWaits2 (0s)
    dies_test.go:26: wrong too
--- PASS: TestLate (0s)
--- SKIP: TestSkipped (0s)
FAIL
`
	if out != want {
		t.Errorf("it prints\n%s, want\n%s", out, want)
	}
	if code != 1 {
		t.Errorf("the exit code is %d, want 1", code)
	}
}

// TestEnds: however a program ends, and with -v and -skip too, each test has one result.
func TestEnds(t *testing.T) {
	packages := map[string]string{}
	for _, end := range []string{"exit", "fatal", "killed"} {
		packages[end] = strings.Replace(dies, "END", end, 1)
	}
	out, code := inModule(t, packages, "-v", "-skip", "Late|Fails/inner", "--", "./...")
	if code != 1 {
		t.Errorf("the exit code is %d, want 1", code)
	}
	for test, want := range map[string]string{
		"TestPasses": "PASS", "TestFails": "PASS", "TestWaits": "PASS", "TestWaits2": "FAIL", "TestDies": "FAIL", "TestSkipped": "SKIP", "TestLate": "",
	} {
		var found []string
		for _, one := range regexp.MustCompile(`--- (PASS|FAIL|SKIP): `+test+`\b`).FindAllStringSubmatch(out, -1) {
			found = append(found, one[1])
		}
		if want != "" && !slices.Equal(found, []string{want, want, want}) || want == "" && found != nil {
			t.Errorf("%s has the results %q, want %q in each package", test, found, want)
		}
	}
}

// TestWithoutDeath: what go test prints and its exit code stay the same where nothing runs
// again.
func TestWithoutDeath(t *testing.T) {
	broken := "import \"testing\"\n\nfunc TestBroken(t *testing.T) { undefined() }\n"
	first := "import (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(3) }\n\nfunc TestNever(*testing.T) {}\n"
	fails := "import \"testing\"\n\nfunc TestFails(t *testing.T) { t.Error(\"wrong\") }\n\nfunc TestPasses(*testing.T) {}\n"
	for _, one := range []struct {
		name, text, out string
		flags           []string
		code            int
	}{
		{"passes", lives, "ok  \texample/one\t0s\n", nil, 0},
		{"no tests", lives, "ok  \texample/one\t0s [no tests to run]\n", []string{"-run=Other"}, 0},
		{"verbose", lives, "=== RUN   TestLives\n    one_test.go:5: logged\n--- PASS: TestLives (0s)\nPASS\nok  \texample/one\t0s\n", []string{"-v"}, 0},
		{"list", lives, "TestLives\nok  \texample/one\t0s\n", []string{"-list", "."}, 0},
		{"does not compile", broken, "FAIL\texample/one [build failed]\nFAIL\n", nil, 1},
		{"fails", fails, "--- FAIL: TestFails (0s)\n    one_test.go:5: wrong\nFAIL\nFAIL\texample/one\t0s\nFAIL\n", nil, 1},
		{"ends before the first test", first, "exit status 3\nFAIL\texample/one\t0s\nFAIL\n", nil, 1},
		{"wrong flag", lives, "", []string{"-count=x"}, 2},
	} {
		t.Run(one.name, func(t *testing.T) {
			args := append(append([]string{"-count=1"}, one.flags...), "--", "./...")
			out, code := inModule(t, map[string]string{"one": one.text}, args...)
			if out != one.out || code != one.code {
				t.Errorf("it prints\n%s and the exit code is %d, want\n%s and %d", out, code, one.out, one.code)
			}
		})
	}
}

// waits is a package whose test prints its process id and ends by a signal alone.
const waits = `import (
	"os"
	"strconv"
	"testing"
	"time"
)

func TestWaits(t *testing.T) {
	if err := os.WriteFile("process.new", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("process.new", "process"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour)
}
`

// TestSignal: a signal to the command alone ends the test program, and nothing runs again.
func TestSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			folder := module(t, map[string]string{"waits": waits})
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			c := exec.Command(self)
			c.Dir, c.Stdout = folder, &out
			c.Env = append(os.Environ(), asCommand+"=-count=1 -- ./...", "GOWORK=off", "GOFLAGS=")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { defer close(ended); _ = c.Wait() }()
			process := started(t, filepath.Join(folder, "waits", "process"), ended)
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			<-ended
			for runs(process) { // the signal has been sent, so the process ends
				time.Sleep(10 * time.Millisecond)
			}
			if code := c.ProcessState.ExitCode(); code != 1 || strings.Contains(out.String(), "testrun:") {
				t.Errorf("the exit code is %d, want 1, and it prints\n%s", code, &out)
			}
		})
	}
}

// started waits for a file with the id of a process.
func started(t *testing.T, name string, ended <-chan struct{}) int {
	t.Helper()
	for {
		text, err := os.ReadFile(name)
		if err == nil {
			process, err := strconv.Atoi(string(text))
			if err != nil {
				t.Fatal(err)
			}
			return process
		}
		select {
		case <-ended:
			t.Fatal("the command ended before the test began")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// runs reports whether a process runs. One that has ended may wait for its parent.
func runs(process int) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(process), "status"))
	return err == nil && !strings.Contains(string(status), "\nState:\tZ")
}
