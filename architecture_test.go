package keyfill_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitecture: each file and folder that docs/architecture.md names is there. A path
// begins in the root, or below internal; a file without a folder is somewhere.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	somewhere := map[string]bool{}
	err = filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		somewhere[filepath.Base(name)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	isThere := func(name string) bool {
		for _, pattern := range []string{name, "internal/" + name} {
			if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
				return true
			}
		}
		return !strings.Contains(name, "/") && somewhere[name]
	}
	named := regexp.MustCompile("`([a-z][\\w./*-]*(?:/[\\w.*-]+|\\.go))`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 100 {
		t.Fatalf("%d paths are found: the test looks for the wrong form", len(named))
	}
	for _, name := range named {
		if !isThere(name[1]) {
			t.Errorf("docs/architecture.md names %s, which is not there", name[1])
		}
	}
}
