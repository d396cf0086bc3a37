package fakedb

import (
	"flag"
	"os"
	"testing"

	"github.com/keyfill/keyfill/internal/txtar"
)

// Update makes [Compare] write the expected texts.
var Update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// Compare compares got with the sections of an archive, in order. With -update it
// writes got into the archive instead.
func Compare(t *testing.T, file string, got []txtar.File) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if *Update {
		archive.Files = got
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(got) != len(archive.Files) {
		t.Fatalf("%s has %d sections, want %d", file, len(archive.Files), len(got))
	}
	for i, want := range archive.Files {
		if got[i].Name != want.Name || string(got[i].Data) != string(want.Data) {
			t.Errorf("%s is\n%s\nwant %s to be\n%s", got[i].Name, got[i].Data, want.Name, want.Data)
		}
	}
}
