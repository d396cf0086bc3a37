package session

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/internal/wordplaces"
)

// goldenTexts calls f with the texts of the golden cases in their dialects.
func goldenTexts(t *testing.T, f func(d *dialect.Dialect, name, text string)) {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives: %v", err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut("\n"+string(archive.Comment), "\ndialects:")
		list, _, _ = strings.Cut(list, "\n")
		for _, file := range archive.Files {
			name, isText := strings.CutSuffix(file.Name, ".in")
			if !isText {
				continue
			}
			names := strings.Fields(list)
			if _, own, has := strings.Cut(name, "."); has {
				names = strings.Split(own, "+")
			}
			dialects, err := goldens.Dialects(names)
			if err != nil {
				t.Fatalf("%s: %s: %v", path, file.Name, err)
			}
			for _, d := range dialects {
				f(d, filepath.Base(path)+" "+name, strings.TrimSuffix(string(file.Data), "\n"))
			}
		}
	}
}

// TestUnknownCall: an unknown function may change a setting on PostgreSQL, and any known
// state of a session where functions can write. No text of the golden cases leaves the
// settings, or is quiet, once a literal of it is replaced by a call of such a function.
// The laws about tables and places are in rewrite.
func TestUnknownCall(t *testing.T) {
	settings, quiet := 0, map[string]int{}
	goldenTexts(t, func(d *dialect.Dialect, name, text string) {
		for _, with := range wordplaces.UnknownCalls(d, text) {
			if d.Family == dialect.FamilyPostgreSQL && LeavesSettings(d, text) {
				if settings++; LeavesSettings(d, with) {
					t.Errorf("%s: leaves the settings: %s", name, with)
				}
			}
			if d.Numbering.Writing && IsQuiet(d, text) {
				if quiet[d.Name]++; IsQuiet(d, with) {
					t.Errorf("%s, %s: is quiet: %s", name, d.Name, with)
				}
			}
		}
	})
	if settings < 300 || quiet["mysql"] < 300 || quiet["mariadb"] < 300 || quiet["postgres"] < 300 {
		t.Errorf("only %d texts about settings, and quiet ones %v", settings, quiet)
	}
}

// TestUnknownStatement: an unknown statement may do anything. No text of the golden cases
// leaves the settings, or is quiet, once one of its statements begins with an unknown
// word.
func TestUnknownStatement(t *testing.T) {
	texts := 0
	goldenTexts(t, func(d *dialect.Dialect, name, text string) {
		for _, with := range wordplaces.UnknownStatements(d, text) {
			texts++
			if LeavesSettings(d, with) {
				t.Errorf("%s, %s: leaves the settings: %s", name, d.Name, with)
			}
			if IsQuiet(d, with) {
				t.Errorf("%s, %s: is quiet: %s", name, d.Name, with)
			}
		}
	})
	if texts < 2000 {
		t.Errorf("only %d texts", texts)
	}
}
