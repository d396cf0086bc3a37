package corpus_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/corpus"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestFiles(t *testing.T) {
	folder := write(t, map[string]string{
		"mysql.own.jsonl": `{"id": "1", "sql": "SELECT 1", "kind": "other"}` + "\n\n" + `{"id": "2", "sql": "SELECT\n2"}`,
		"oracle.jsonl":    "", "readme.md": "no corpus",
	})
	files, err := corpus.Files(folder)
	if err != nil || len(files) != 2 {
		t.Fatalf("Files = %v, %v", files, err)
	}
	if want := []string{"mysql", "mariadb"}; !slices.Equal(files[0].Dialects, want) {
		t.Errorf("dialects are %v, want %v", files[0].Dialects, want)
	}
	got, err := files[0].Read()
	want := []corpus.Statement{{ID: "1", SQL: "SELECT 1", Kind: "other"}, {ID: "2", SQL: "SELECT\n2"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Read = %v, %v, want %v", got, err, want)
	}
}

// TestApplications: each statement of applications is for the dialects that it names.
func TestApplications(t *testing.T) {
	files, err := corpus.Files(write(t, map[string]string{
		"applications.own.jsonl": `{"id": "1", "dialect": "mysql", "sql": "SELECT 1"}` + "\n" + `{"id": "2", "dialect": "postgres", "sql": "SELECT 2"}`,
	}))
	if err != nil || len(files) != 1 || !files[0].Applications {
		t.Fatalf("Files = %v, %v", files, err)
	}
	all, err := files[0].Read()
	if err != nil {
		t.Fatal(err)
	}
	for dialect, want := range map[string]string{"mysql": "1", "mariadb": "1", "postgres": "2", "sqlite": ""} {
		got := ""
		for _, s := range corpus.Of(dialect, all) {
			got += s.ID
		}
		if got != want {
			t.Errorf("Of(%q) = %q, want %q", dialect, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := corpus.Files(t.TempDir()); err == nil {
		t.Error("Files takes an empty folder")
	}
	if _, err := corpus.Files(write(t, map[string]string{"klingon.jsonl": ""})); err == nil {
		t.Error("Files takes any dialect")
	}
	files, err := corpus.Files(write(t, map[string]string{"oracle.jsonl": "{}\n{"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files[0].Read(); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("Read = %v", err)
	}
}
