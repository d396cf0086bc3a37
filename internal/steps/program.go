package steps

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// Program is a running program that counts its steps: the blocks of code that it executes.
type Program struct {
	in  *json.Encoder
	out *json.Decoder
}

// Counted skips a test that builds a program with [Build], unless tests go by turns (see
// package testturn) or KEYFILL_TEST_STEPS asks for all texts, which takes half an hour.
func Counted(t *testing.T) {
	t.Helper()
	if os.Getenv("KEYFILL_TEST_STEPS") != "1" && (!testturn.Enabled(t) || testing.Short()) {
		t.Skip("it counts steps for half an hour: make everything runs it, make test a part, and KEYFILL_TEST_STEPS=1")
	}
}

// Build builds the program in a folder and starts it; it runs until the test ends. The
// program counts the steps of the given packages, and of packages of the standard library
// in which a loop is easily overlooked.
func Build(t *testing.T, folder string, packages ...string) *Program {
	t.Helper()
	built := filepath.Join(t.TempDir(), "counted")
	command(t, "go", "build", "-overlay", counted(t, append(packages, "slices", "strings")), "-o", built, folder)
	run := exec.Command(built)
	// Garbage is collected rarely, which is faster and does not change what the program
	// measures.
	run.Env = append(os.Environ(), "GOGC=400", "GOMAXPROCS=1")
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
// takes much more than twice the steps or bytes.
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

// counted writes copies of the files of some packages, with a counter in each block. It
// returns the path of a file for the flag -overlay of the go command, which replaces the
// original files by the copies.
func counted(t *testing.T, packages []string) string {
	t.Helper()
	folder := t.TempDir()
	replace := map[string]string{}
	imports, counters := "", ""
	cover := strings.TrimSpace(command(t, "go", "tool", "-n", "cover"))
	list := command(t, "go", append([]string{"list", "-f", "{{$p := .}}{{range .GoFiles}}{{$p.ImportPath}}\t{{$p.Dir}}\t{{.}}\n{{end}}"}, packages...)...)
	for line := range strings.Lines(list) {
		of, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		dir, name, ok := strings.Cut(name, "\t")
		if !ok {
			continue // an empty line between two packages
		}
		variable := fmt.Sprint("KeyfillBlocks", len(replace))
		out := filepath.Join(folder, variable+".go")
		command(t, cover, "-mode=count", "-var="+variable, "-o="+out, filepath.Join(dir, name))
		replace[filepath.Join(dir, name)] = out
		imports += fmt.Sprintf("import p%d %q\n", len(replace), of)
		counters += fmt.Sprintf("{%q, p%d.%s.Count[:], p%[2]d.%[3]s.Pos[:]},\n", path.Join(of, name), len(replace), variable)
	}
	write := func(name, text string) string {
		at := filepath.Join(folder, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	own := filepath.Join(strings.TrimSpace(command(t, "go", "list", "-f", "{{.Dir}}", "github.com/keyfill/keyfill/internal/steps")), "blocks.go")
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	with := strings.NewReplacer("package steps\n", "package steps\n\n"+imports, "return nil", "return []file{\n"+counters+"}")
	replace[own] = write("blocks.go", with.Replace(string(text)))
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	return write("overlay.json", string(overlay))
}

// command runs a command without go.work, and returns what it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd, err, out, &complaint)
	}
	return string(out)
}
