// Package vetreport reads Go packages and files of SQL, has their INSERTs judged, and prints
// the findings as text, JSON and SARIF, for keyfill vet.
package vetreport

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/vet"
)

// Report has the findings in the files and packages.
type Report struct {
	Findings []vet.Finding
	packages int
	files    int
	orms     map[string]bool // the names of the libraries that build INSERTs, and that a package imports
	Faults   []error         // errors about files and packages that could not be read
}

// Read reads the packages and the files of SQL that patterns name. If tests is true, it
// reads the files of tests too.
func Read(ctx context.Context, judge *vet.Judge, patterns []string, tests bool) (*Report, error) {
	v := &Report{orms: map[string]bool{}}
	places, err := sqlPlaces(patterns)
	if err != nil {
		return nil, err
	}
	queries, scripts := map[string]bool{}, map[string]bool{}
	for _, file := range places.files {
		script, err := readScript(judge, file)
		if err != nil {
			v.Faults = append(v.Faults, err)
			continue
		}
		v.files++
		if path, err := filepath.Abs(file.name); err == nil {
			scripts[path] = true
		}
		v.Findings = append(v.Findings, script.Findings...)
		for _, name := range script.Queries {
			queries[name] = true
		}
	}
	err = eachPackage(ctx, places.packages, tests, func(p *goPackage) {
		v.packages++
		for _, name := range ormsOf(p.files) {
			v.orms[name] = true
		}
		v.Faults = append(v.Faults, p.faults...)
		for _, one := range judge.Source(p.fset, gosql.Source{Package: p.types, Files: p.files, Info: p.info}) {
			// Skip a text that was judged before: sqlc has generated it from a query file
			// that was read, or it is embedded from such a file.
			if !queries[vet.QueryName(one.Text)] && !scripts[one.File] {
				v.Findings = append(v.Findings, one)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if v.packages+v.files+len(v.Faults) == 0 {
		return nil, usage.Errorf("there is nothing to read: name folders with Go packages or .sql files")
	}
	return v, nil
}

// readScript reads one file of SQL.
func readScript(judge *vet.Judge, file sqlFile) (vet.Script, error) {
	r, err := os.Open(file.name)
	if err != nil {
		return vet.Script{}, fmt.Errorf("a file of SQL cannot be read (%w): name one that is there", err)
	}
	defer r.Close()
	return judge.Script(file.name, r, file.ofSqlc)
}

// Sort sorts the findings by file and line, makes names of files relative to the working
// folder, and removes findings that several packages repeat.
func (v *Report) Sort() {
	here, err := os.Getwd()
	for i := range v.Findings {
		for _, at := range []*string{&v.Findings[i].At.Filename, &v.Findings[i].End.Filename} {
			if name, relErr := filepath.Rel(here, *at); err == nil && relErr == nil && filepath.IsAbs(*at) && filepath.IsLocal(name) {
				*at = name
			}
		}
	}
	slices.SortStableFunc(v.Findings, vet.Finding.Compare)
	v.Findings = slices.CompactFunc(v.Findings, func(a, b vet.Finding) bool { return a.Compare(b) == 0 && a.Message == b.Message })
}
