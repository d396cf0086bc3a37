package mysql_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// TestUnusedMethodsAreLeftOut: the linker can leave out of an application the
// methods that nothing calls. It keeps every exported method of every type in
// use, database/sql's and the application's too, as soon as one function asks
// reflect for a method by an index or by a name that is not a constant; it marks
// such a function with <ReflectMethod>.
func TestUnusedMethodsAreLeftOut(t *testing.T) {
	testturn.WhenChanged(t, "*.go", "*.mod")
	cmd := exec.Command("go", "build", "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "program"), "./testdata/program")
	dump, err := cmd.CombinedOutput() // the linker writes its dump to stderr
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, dump[:min(len(dump), 2000)])
	}
	edges := 0
	for edge := range bytes.Lines(dump) {
		edges++
		if bytes.Contains(edge, []byte("<ReflectMethod>")) {
			t.Errorf("the linker keeps all methods because of %s", edge)
		}
	}
	if edges < 1000 {
		t.Errorf("the linker's dump has %d lines; the test is out of date", edges)
	}
}
