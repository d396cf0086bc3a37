package steps

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Program is a running program that counts its steps: the blocks of code that it executes.
type Program struct {
	in  *json.Encoder
	out *json.Decoder
}

// Counted skips a test that builds such a program, unless KEYFILL_TEST_STEPS is 1: to build
// the program and to run it takes minutes.
func Counted(t *testing.T) {
	t.Helper()
	if os.Getenv("KEYFILL_TEST_STEPS") != "1" {
		t.Skip("it counts steps for minutes: make everything runs it, and KEYFILL_TEST_STEPS=1")
	}
}

// Build builds the program in a folder and starts it; it runs until the test ends. The
// program counts the steps of the given packages, and of packages of the standard library
// in which a loop is easily overlooked.
func Build(t *testing.T, folder string, packages ...string) *Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "counted")
	// The main package has to be among them, since it sets the counters up.
	packages = append(packages, folder, "slices", "strings")
	build := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+strings.Join(packages, ","), "-o", path, folder)
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(path)
	run.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
	run.Stderr = os.Stderr
	in, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := run.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &Program{json.NewEncoder(in), json.NewDecoder(out)}
}

// Check sends a question to the program. It fails the test if a text of twice the length
// costs much more than twice as much.
func (p *Program) Check(t *testing.T, name string, question any) {
	t.Helper()
	if err := p.in.Encode(question); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var costs []Cost
	if err := p.out.Decode(&costs); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if what := growth(costs); what != "" {
		t.Errorf("%s: with %d KB more: %s", name, least>>10<<(len(costs)-1), what)
	}
}
