package drivers_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/drivers"
)

// ownModule is the package whose connections a test of its own module opens.
const ownModule = "github.com/keyfill/keyfill/keyfillpgx"

// TestPage: docs/compatibility.md lists the drivers that the package knows. A driver is
// known by tests exactly if a file of this repository imports it.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- drivers:")
	table, _, found := strings.Cut(rest, "<!-- end of drivers -->")
	if !found {
		t.Fatal("the page lacks the comments around its table of drivers")
	}
	imported := imports(t, "../..")
	var told []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+/\S+) \| (.+) \|$`).FindAllStringSubmatch(table, -1) {
		path, by := row[1], row[2]
		told = append(told, path)
		switch tested := imported[path] || path == ownModule; {
		case tested != strings.HasPrefix(by, "tests"):
			t.Errorf("%s is known by %s, and imported: %t", path, by, tested)
		case !tested && by != "reading its code":
			t.Errorf("%s is known by %s", path, by)
		}
	}
	slices.Sort(told)
	if known := drivers.Known(); !slices.Equal(told, known) {
		t.Errorf("the page has the drivers %q, the package knows %q", told, known)
	}
}

// imports returns the paths that the Go files below a folder import, with or without a name.
func imports(t *testing.T, folder string) map[string]bool {
	t.Helper()
	line := regexp.MustCompile(`(?m)^(?:import )?\s*(?:[_.a-z0-9]+ )?"([a-z0-9.]+\.[a-z]+/[^"\s]+)"(?: //.*)?$`)
	all := map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
