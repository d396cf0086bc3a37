package keyfill_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// TestWay bounds the files that a statement passes through when its text was seen
// before: what the coverage of one execution says, of a program that is built for it.
func TestWay(t *testing.T) {
	testturn.WhenChanged(t, "*.go")
	if testing.Short() && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
		t.Skip("it builds a program: left out by -short")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "way")
	run(t, nil, "go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", program, "./testdata/way")
	for _, c := range []struct {
		name, query string
		root, all   int
	}{
		{"filled UUID", "INSERT INTO t (a) VALUES (?)", 2, 14},
		{"passed SELECT", "SELECT a FROM b WHERE c = ?", 1, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := t.TempDir()
			run(t, []string{"GOCOVERDIR=" + data}, program, c.query)
			profile := filepath.Join(dir, "profile")
			run(t, nil, "go", "tool", "covdata", "textfmt", "-i="+data, "-o="+profile)
			files := covered(t, profile)
			t.Logf("%d files:\n%s", len(files), strings.Join(files, "\n"))
			root := 0
			for _, f := range files {
				if !strings.Contains(f, "/") {
					root++
				}
				for _, word := range []string{"transaction", "proof", "joined", "savepoint", "scoped", "series", "maxplusone"} {
					if strings.Contains(f, word) {
						t.Errorf("%s is on the way", f)
					}
				}
			}
			if root == 0 || root > c.root || len(files) > c.all {
				t.Errorf("%d files of the root and %d in all, want at most %d and %d", root, len(files), c.root, c.all)
			}
		})
	}
}

// run runs a command with further variables of the environment.
func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), append(env, "GOWORK=off")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// covered returns the files of this module of which a profile says that something was
// executed, but for the program of the test.
func covered(t *testing.T, profile string) []string {
	t.Helper()
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		name, rest, ok := strings.Cut(line, ":")
		if file, own := strings.CutPrefix(name, module+"/"); ok && own && !strings.HasSuffix(strings.TrimSpace(rest), " 0") {
			files[file] = true
		}
	}
	delete(files, "testdata/way/main.go")
	return slices.Sorted(maps.Keys(files))
}
