package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func pageOfDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCommitted: the charts of docs/charts are drawn from the figures of
// docs/performance.md, and docs/sources.md shows each.
func TestCommitted(t *testing.T) {
	all, err := charts(pageOfDocs(t))
	if err != nil {
		t.Fatal(err)
	}
	sources, err := os.ReadFile("../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/charts/*")
	if err != nil || len(files) != len(all) {
		t.Errorf("docs/charts has %d files, %v, for %d charts", len(files), err, len(all))
	}
	for name, c := range all {
		got, err := os.ReadFile(filepath.Join("../../docs/charts", name))
		if err != nil || string(got) != c.SVG() {
			t.Errorf("docs/charts/%s is not what the figures of docs/performance.md give (%v): run make charts", name, err)
		}
		if !strings.Contains(string(sources), "](charts/"+name+")") {
			t.Errorf("docs/sources.md does not show %s", name)
		}
	}
}

// TestReadable: each drawing is XML without anything from elsewhere, its texts stay
// within it and apart from each other, and there are colours for a dark ground.
func TestReadable(t *testing.T) {
	all, err := charts(pageOfDocs(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range all {
		svg := c.SVG()
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, elsewhere := range []string{"url(", "href", "@import", "<script"} {
			if strings.Contains(svg, elsewhere) {
				t.Errorf("%s has %s", name, elsewhere)
			}
		}
		if !strings.Contains(svg, "prefers-color-scheme:dark") {
			t.Errorf("%s has no colours for a dark ground", name)
		}
		if misfits := c.Misfits(); misfits != nil {
			t.Errorf("%s: %q", name, misfits)
		}
	}
}

// TestNoFigures: a page without the tables, or with others, is an error and no empty
// chart.
func TestNoFigures(t *testing.T) {
	page := pageOfDocs(t)
	for i, broken := range []string{
		"", strings.Replace(page, "<!-- layouts: make layouts -->", "", 1), strings.ReplaceAll(page, ", a key |", ", one key |"),
		strings.ReplaceAll(page, "rows a second", "rows in a second"), strings.ReplaceAll(page, "Measured ", "Taken "),
		strings.ReplaceAll(page, "| SQLite | ", "| MariaDB | "),
	} {
		if _, err := charts(broken); err == nil {
			t.Errorf("charts of the broken page %d give no error", i)
		}
	}
}
