package keyfill_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAPI compares the output of "go doc -all" for each public package with the files of
// testdata/api: a change of the API shows there, and belongs into the CHANGELOG. go test
// -run TestAPI . -update writes the files.
//
//deviation:pgx | `Pool.Close` returns an error. A `Pool` has no `Config`, `Stat`, `Reset`, `AcquireAllIdle` and `Hijack`. | PostgreSQL with pgx | `db.Stat()` | the pool that was wrapped
func TestAPI(t *testing.T) {
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal("no go command: go doc is what is compared")
	}
	for _, folder := range publicFolders(t) {
		name := filepath.Join("testdata", "api", filepath.FromSlash(folder)+".txt")
		if folder == "." {
			name = filepath.Join("testdata", "api", "keyfill.txt")
		}
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			doc := exec.Command(command, "doc", "-all", ".")
			doc.Dir = filepath.FromSlash(folder)
			doc.Env = append(os.Environ(), "GOWORK=off")
			got, err := doc.Output()
			if err != nil {
				t.Fatalf("go doc: %v", err)
			}
			if *update {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is not what go doc says: %s\nRun go test -run TestAPI . -update, and review the diff",
					name, firstDifference(string(got), string(want)))
			}
		})
	}
}

// publicModules are the folders of the modules beside this one that hold packages for
// others to import.
var publicModules = []string{"auto", "keyfilletcd", "keyfillgorm", "keyfillotel", "keyfillpgx", "keyfillprom", "keyfillredis", "keyfillvet"}

// publicFolders returns the folders of the packages that others can import.
func publicFolders(t *testing.T) []string {
	t.Helper()
	own, nested := goFiles(t)
	var folders []string
	for _, file := range slices.Concat(own, nested) {
		top, _, _ := strings.Cut(file.folder, "/")
		isNested := slices.ContainsFunc(nested, func(n goFile) bool { return n.folder == file.folder })
		if file.test || top == "internal" || isNested && !slices.Contains(publicModules, top) || slices.Contains(folders, file.folder) {
			continue
		}
		folders = append(folders, file.folder)
	}
	slices.Sort(folders)
	return folders
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(got, want string) string {
	is, was := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(is), len(was)) {
		if is[i] != was[i] {
			return "it says\n\t" + is[i] + "\nand not\n\t" + was[i]
		}
	}
	return "one ends where the other goes on"
}
