package txtar_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/keyfill/keyfill/internal/txtar"
)

// TestParse: lines of the form "-- name --" begin a file, and no other lines do.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		want      txtar.Archive
		formatted string // if it differs from text
	}{
		"empty":         {},
		"comment alone": {text: "a\nb\n", want: txtar.Archive{Comment: []byte("a\nb\n")}},
		"no comment":    {text: "-- a --\n1\n", want: txtar.Archive{Files: []txtar.File{{Name: "a", Data: []byte("1\n")}}}},
		"two files, one empty": {text: "c\n-- a.in --\n-- b --\n1\n\n", want: txtar.Archive{Comment: []byte("c\n"), Files: []txtar.File{
			{Name: "a.in"}, {Name: "b", Data: []byte("1\n\n")}}}},
		"no newline at the end": {text: "-- a --\n1", formatted: "-- a --\n1\n", want: txtar.Archive{Files: []txtar.File{{Name: "a", Data: []byte("1\n")}}}},
		"spaces around a name":  {text: "--  a  --\n", formatted: "-- a --\n", want: txtar.Archive{Files: []txtar.File{{Name: "a"}}}},
		"a marker at the end":   {text: "-- a --", formatted: "-- a --\n", want: txtar.Archive{Files: []txtar.File{{Name: "a"}}}},
		"SQL comments":          {text: "-- a\n -- a --\n-- --\n--  --\n--a --\n", want: txtar.Archive{Comment: []byte("-- a\n -- a --\n-- --\n--  --\n--a --\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := txtar.Parse([]byte(c.text))
			if !reflect.DeepEqual(*got, c.want) {
				t.Errorf("Parse(%q) = %q, want %q", c.text, *got, c.want)
			}
			if c.formatted == "" {
				c.formatted = c.text
			}
			if text := string(txtar.Format(got)); text != c.formatted {
				t.Errorf("Format = %q, want %q", text, c.formatted)
			}
		})
	}
}

// TestFormatEnds: Format ends data that has no newline at its end, and leaves it as it was.
func TestFormatEnds(t *testing.T) {
	comment := append(make([]byte, 0, 8), 'c')
	a := txtar.Archive{Comment: comment, Files: []txtar.File{{Name: "a", Data: []byte("1")}}}
	if got, want := string(txtar.Format(&a)), "c\n-- a --\n1\n"; got != want {
		t.Errorf("Format = %q, want %q", got, want)
	}
	if comment[:2][1] != 0 {
		t.Error("Format has written into the comment")
	}
}

// TestParseFile: a missing file is an error; one that is there is parsed.
func TestParseFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txtar")
	if _, err := txtar.ParseFile(name); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	if err := os.WriteFile(name, []byte("-- a --\n1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if a, err := txtar.ParseFile(name); err != nil || len(a.Files) != 1 || string(a.Files[0].Data) != "1\n" {
		t.Errorf("ParseFile = %q, %v", a, err)
	}
}
