package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/conformance"
	"github.com/keyfill/keyfill/dialect"
)

const (
	conformancePage    = "../../docs/conformance.md"
	conformanceResults = "../../docs/conformance"
)

// keepResult writes a report into the folder of results: see TestConformance.
func keepResult(t *testing.T, name string, r *conformance.Report) {
	t.Helper()
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output() // a test's program does not know it
	if err != nil {
		t.Fatal(err)
	}
	r.Commit = strings.TrimSpace(string(commit))
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", "..", ":!../../docs").Run() != nil {
		r.Commit += " and changes"
	}
	file, err := os.Create(filepath.Join(conformanceResults, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestConformancePage: the page lists the results that are there, each of which has a
// version, a date, who ran it, and claims of its engine alone.
func TestConformancePage(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(conformanceResults, "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no results: %v", err)
	}
	var table strings.Builder
	table.WriteString("| engine | driver | keys of each layout | shown | refused | not tried | run by | when |\n|---|---|---|---|---|---|---|---|\n")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var r conformance.Report
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		checkResult(t, name, &r)
		fmt.Fprintf(&table, "| [%s](conformance/%[1]s.json) | %s | %d | %d | %d | %d | %s | %s |\n", name, r.Driver, r.Flags.Rows,
			r.Count(conformance.Shown), r.Count(conformance.Refused), r.Count(conformance.NotTried), r.By, r.Time.Format("2006-01-02"))
	}
	page, err := os.ReadFile(conformancePage)
	if err != nil {
		t.Fatal(err)
	}
	between := regexp.MustCompile(`(?s)(<!-- results: [^\n]* -->\n).*(<!-- end of results -->)`)
	want := between.ReplaceAll(page, []byte("${1}"+table.String()+"${2}"))
	if *updateScripts {
		if err := os.WriteFile(conformancePage, want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(page, want) {
		t.Errorf("docs/conformance.md lists other results: -update writes\n%s", table.String())
	}
}

func checkResult(t *testing.T, name string, r *conformance.Report) {
	t.Helper()
	if r.Commit == "" || r.Server == "" || r.By == "" || r.Time.IsZero() || r.DriverVersion == "" {
		t.Errorf("%s has no commit, server, driver's version, date or name of who ran it", name)
	}
	d, err := dialect.ByName(r.Engine)
	if err != nil {
		t.Fatal(err)
	}
	known := conformance.Claims(d)
	for _, c := range r.Claims {
		if !slices.Contains(known, c.Name) {
			t.Errorf("%s has the claim %s, which the command does not make: run it again", name, c.Name)
		}
	}
}
