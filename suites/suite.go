package suites

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Suite is the test suite of another project: a file of the folder list.
type Suite struct {
	Name string `yaml:"-"` // the name of the file, without its extension

	Module  string `yaml:"module"`
	Version string `yaml:"version"`
	Folder  string `yaml:"folder"` // the package with the tests, below the module; "." for its root
	Tags    string `yaml:"tags"`   // build tags, with commas between them
	Skip    string `yaml:"skip"`   // the regular expression of -test.skip; empty skips no test

	// Pins are modules, written as path@version, for which the suite needs an earlier
	// version than the packages below filled require.
	Pins []string `yaml:"pins"`
	// Edits change the suite's source in places where it opens a database without the name
	// of a driver.
	Edits []Edit `yaml:"edits"`

	Runs []Run `yaml:"runs"`

	// Integers are the tables that a sequence fills.
	Integers []Tables `yaml:"integers"`
	// UUIDs are the tables of uuidv7. If there are no such tables, NoUUIDs says why.
	UUIDs   []Tables `yaml:"uuids"`
	NoUUIDs string   `yaml:"no_uuids"`

	// FillsNone says why no INSERT is filled. If it is empty, a run that fills no INSERT
	// has failed.
	FillsNone string `yaml:"fills_none"`

	Differences []Difference `yaml:"differences"`
}

// Edit replaces a text in a file of the suite, wherever the file has it.
type Edit struct {
	File string `yaml:"file"` // the path of the file below the module's folder
	Old  string `yaml:"old"`
	New  string `yaml:"new"`
}

// Tables are tables whose keys are of the same kind.
type Tables struct {
	Column  string   `yaml:"column"`
	MaxBits int      `yaml:"max_bits"` // 0 leaves max_bits out of the policy
	Drivers []string `yaml:"drivers"`  // the drivers to which the tables apply; empty for all drivers
	// Policies are the policies that fill the tables; empty for all. A comment in the
	// suite's file says why some are left out.
	Policies []string `yaml:"policies"`
	Tables   []string `yaml:"tables"`
}

// Run is one driver with which the suite runs. In Env and Args, {base} is replaced by the DSN
// of an empty database, without parameters, and {folder} by the path of an empty folder.
type Run struct {
	Engine string            `yaml:"engine"`
	Driver string            `yaml:"driver"` // the package below filled that wraps the driver
	Tests  string            `yaml:"tests"`  // the regular expression of -test.run; empty runs all tests
	Env    map[string]string `yaml:"env"`
	Args   []string          `yaml:"args"`
	// Quote is the character around the names of tables and columns in SQL; empty if there
	// is none. It matters for keywords, and on PostgreSQL for capital letters.
	Quote string `yaml:"quote"`
}

// Difference names tests of a suite that have one result with the plain driver and another one
// with keyfill around it, and says why.
type Difference struct {
	Drivers  []string `yaml:"drivers"`  // the drivers to which the difference applies; empty for all
	Policies []string `yaml:"policies"` // the policies to which the difference applies; empty for all
	Tests    []string `yaml:"tests"`
	Reason   string   `yaml:"reason"`
	// Sometimes reports whether the tests may also have the same result, since they depend
	// on chance.
	Sometimes bool `yaml:"sometimes"`
}

// The engines of a Run.
const (
	MariaDB    = "MariaDB"
	PostgreSQL = "PostgreSQL"
	SQLite     = "SQLite"
)

// Load reads the suites of a folder, in the order of their names.
func Load(files fs.FS) ([]*Suite, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*Suite
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		s, err := Parse(strings.TrimSuffix(name, ".yaml"), text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Parse reads one suite.
func Parse(name string, text []byte) (*Suite, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	s := &Suite{Name: name}
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// check returns an error if the file leaves something out that a run needs.
func (s *Suite) check() error {
	switch {
	case s.Module == "" || s.Version == "" || s.Folder == "":
		return fmt.Errorf("module, version and folder have to be there")
	case len(s.Runs) == 0:
		return fmt.Errorf("runs has no run")
	case len(s.Integers) == 0:
		return fmt.Errorf("integers has no table")
	case (len(s.UUIDs) == 0) == (s.NoUUIDs == ""):
		return fmt.Errorf("either uuids or no_uuids has to be there")
	case !fs.ValidPath(s.Folder):
		return fmt.Errorf("folder: %q is no path below the module", s.Folder)
	}
	for _, e := range s.Edits {
		if !fs.ValidPath(e.File) || e.Old == "" {
			return fmt.Errorf("edits: %q is no file of the module, or there is no old text", e.File)
		}
	}
	seen := map[string]bool{}
	for _, r := range s.Runs {
		if !slices.Contains([]string{MariaDB, PostgreSQL, SQLite}, r.Engine) {
			return fmt.Errorf("runs: %q is no engine", r.Engine)
		}
		if r.Driver == "" || seen[r.Driver] {
			return fmt.Errorf("runs: the one on %s has no driver of its own", r.Engine)
		}
		seen[r.Driver] = true
	}
	for _, d := range s.Differences {
		if err := s.checkDifference(d); err != nil {
			return fmt.Errorf("differences: %w", err)
		}
	}
	return nil
}

// checkDifference returns an error if a difference can never be found.
func (s *Suite) checkDifference(d Difference) error {
	if d.Reason == "" || len(d.Tests) == 0 {
		return fmt.Errorf("tests and reason have to be there")
	}
	for _, driver := range d.Drivers {
		if !slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Driver == driver }) {
			return fmt.Errorf("no run has the driver %q", driver)
		}
	}
	for _, name := range d.Policies {
		if !slices.ContainsFunc(Policies, func(p Policy) bool { return p.Name == name }) {
			return fmt.Errorf("%q is no policy", name)
		}
	}
	return nil
}
