package statements_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

// TestWays bounds the code of keyfill that an INSERT passes through on go-sql-driver/mysql
// when its text was seen before: the files, the functions, and the deepest stack of them
// when the driver writes to the server, in whichever goroutine. It prints the figures of all
// ways with -v, and with KEYFILL_TEST_WAYS=1 the names of the functions too. A bound of 0 is
// none. A function that is declared in another one counts as part of it, except on the stack.
func TestWays(t *testing.T) {
	testturn.WhenChanged(t, "*.go")
	program := filepath.Join(t.TempDir(), "way")
	goCommand(t, "build", "-cover", "-covermode=atomic", "-coverpkg=github.com/keyfill/keyfill/...", "-o", program, "../internal/way")
	for _, c := range []struct {
		way                    string
		engine                 harness.Engine
		files, functions, deep int
	}{
		{"uuidv7", harness.MySQLDefault, 17, 0, 0},
		{"uuidv7", harness.MySQLInterp, 13, 0, 0},
		{"block in hand", harness.MySQLDefault, 0, 0, 0},
		{"block in hand", harness.MySQLInterp, 0, 0, 0},
		{"reservation", harness.MySQLDefault, 0, 108, 14},
		{"reservation", harness.MySQLInterp, 0, 0, 0},
		{"joined", harness.MySQLDefault, 0, 189, 19},
		{"joined", harness.MySQLInterp, 0, 185, 18},
		{"upsert", harness.MySQLDefault, 0, 0, 0},
		{"upsert", harness.MySQLInterp, 0, 0, 0},
		{"select", harness.MySQLDefault, 0, 0, 0},
		{"select", harness.MySQLInterp, 0, 0, 0},
	} {
		t.Run(c.way+"/"+c.engine.Name, func(t *testing.T) {
			data := t.TempDir()
			cmd := exec.Command(program, c.way, c.engine.DSN(t), data)
			cmd.Env = append(os.Environ(), "GOCOVERDIR="+t.TempDir())
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			stack := strings.Fields(string(out))
			files, functions := executed(goCommand(t, "tool", "covdata", "func", "-i="+data))
			t.Logf("%d files, %d functions, %d deep", len(files), len(functions), len(stack))
			if os.Getenv("KEYFILL_TEST_WAYS") == "1" {
				t.Logf("functions:\n%s\nstack:\n%s", strings.Join(functions, "\n"), strings.Join(stack, "\n"))
			}
			for _, b := range []struct {
				what      string
				got, want int
			}{
				{"files", len(files), c.files},
				{"functions", len(functions), c.functions},
				{"functions on the stack", len(stack), c.deep},
			} {
				if b.got == 0 || b.want > 0 && b.got > b.want {
					t.Errorf("%d %s, want at most %d", b.got, b.what, b.want)
				}
			}
		})
	}
}

// executed returns the files and the functions of keyfill of which something was executed,
// by the output of "go tool covdata func", whose lines have a place, a name and a percentage.
func executed(profile string) (files map[string]bool, functions []string) {
	files = map[string]bool{}
	for line := range strings.Lines(profile) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] == "0.0%" {
			continue
		}
		place, _ := strings.CutPrefix(fields[0], "github.com/keyfill/keyfill/")
		file, _, found := strings.Cut(place, ":")
		if !found || strings.HasPrefix(file, "e2e/") {
			continue // the sum, or the program of the test
		}
		files[file] = true
		functions = append(functions, file+" "+fields[1])
	}
	return files, functions
}

// goCommand returns what a command of go prints.
func goCommand(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
