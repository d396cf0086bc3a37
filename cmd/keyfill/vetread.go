package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/vet"
)

// vetted is what was read.
type vetted struct {
	findings []vet.Finding
	packages int
	files    int
	faults   []error // what could not be read
}

// vetSource reads the packages and the files of SQL that patterns name, with tests the files
// of tests too.
func vetSource(ctx context.Context, judge *vet.Judge, patterns []string, tests bool) (*vetted, error) {
	v := &vetted{}
	places, err := sqlPlaces(patterns)
	if err != nil {
		return nil, err
	}
	queries, scripts := map[string]bool{}, map[string]bool{}
	for _, file := range places.files {
		script, err := readScript(judge, file)
		if err != nil {
			v.faults = append(v.faults, err)
			continue
		}
		v.files++
		if path, err := filepath.Abs(file.name); err == nil {
			scripts[path] = true
		}
		v.findings = append(v.findings, script.Findings...)
		for _, name := range script.Queries {
			queries[name] = true
		}
	}
	err = eachPackage(ctx, places.packages, tests, func(p *goPackage) {
		v.packages++
		v.faults = append(v.faults, p.faults...)
		for _, one := range judge.Source(p.fset, gosql.Source{Package: p.types, Files: p.files, Info: p.info}) {
			// sqlc has made it of a query that was read, or it embeds a file that was read.
			if !queries[vet.QueryName(one.Text)] && !scripts[one.File] {
				v.findings = append(v.findings, one)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if v.packages+v.files+len(v.faults) == 0 {
		return nil, usagef("there is nothing to read: name folders with Go packages or .sql files")
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

// sort puts the findings in the order of the files, with names relative to the folder of
// the process. What packages share comes once.
func (v *vetted) sort() {
	here, err := os.Getwd()
	for i := range v.findings {
		for _, at := range []*string{&v.findings[i].At.Filename, &v.findings[i].End.Filename} {
			if name, relErr := filepath.Rel(here, *at); err == nil && relErr == nil && filepath.IsAbs(*at) && filepath.IsLocal(name) {
				*at = name
			}
		}
	}
	slices.SortStableFunc(v.findings, vet.Finding.Compare)
	v.findings = slices.CompactFunc(v.findings, func(a, b vet.Finding) bool { return a.Compare(b) == 0 && a.Message == b.Message })
}
