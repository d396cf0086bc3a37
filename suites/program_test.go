package suites_test

import (
	"maps"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/suites"
)

// TestRunAgain: tests that end their program do not hide the results of the others.
func TestRunAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "again.test")
	if text, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", file, "./testdata/again").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p := suites.NewProgram(&suites.Suite{Skip: "^TestLeftOut$"}, file, t.TempDir())
	o, _, err := p.Run(t.Context(), suites.Run{}, nil, func() suites.Place {
		return suites.Place{Folder: t.TempDir()}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"TestFails": "fail", "TestParallel": "pass", "TestParallel/sub": "pass", "TestPasses": "pass",
		"TestExits": "fail", "TestPanics": "fail", "TestSkips": "skip", "TestLast": "pass",
	}
	if !maps.Equal(o.Results, want) {
		t.Errorf("the results are %v, want %v", o.Results, want)
	}
}
