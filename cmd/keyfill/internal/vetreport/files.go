package vetreport

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
)

// sqlFile is a file of SQL.
type sqlFile struct {
	name   string
	ofSqlc bool // sqlc.yaml names it as a file of queries
}

// places are the files and packages that the arguments of vet name.
type places struct {
	files    []sqlFile
	packages []string // patterns for the go command
}

// sqlPlaces returns the files of SQL and the packages that patterns name. A pattern of the
// go command that begins with a dot or a slash names a folder, or with "..." the folder and
// those below it. The files of SQL in these folders are returned too, except in folders
// that the go command skips.
func sqlPlaces(patterns []string) (*places, error) {
	p := &places{}
	for _, pattern := range patterns {
		if strings.HasSuffix(pattern, ".sql") {
			p.add(pattern, false)
			continue
		}
		if !isFolder(pattern) {
			p.packages = append(p.packages, pattern)
			continue
		}
		folder, below := strings.CutSuffix(filepath.ToSlash(pattern), "...")
		hasGo, err := p.walk(filepath.FromSlash(folder), below)
		if err != nil {
			return nil, usage.Errorf("the folder of %q cannot be read (%v): name one that is there", pattern, err)
		}
		if hasGo {
			p.packages = append(p.packages, pattern)
		}
	}
	return p, nil
}

// isFolder reports whether a pattern of the go command names a folder.
func isFolder(pattern string) bool {
	return pattern == "." || pattern == ".." || filepath.IsAbs(pattern) ||
		strings.HasPrefix(filepath.ToSlash(pattern), "./") || strings.HasPrefix(filepath.ToSlash(pattern), "../")
}

// add adds a file, unless it was added before.
func (p *places) add(name string, ofSqlc bool) {
	name = filepath.Clean(name)
	i := slices.IndexFunc(p.files, func(f sqlFile) bool { return f.name == name })
	if i < 0 {
		i = len(p.files)
		p.files = append(p.files, sqlFile{name: name})
	}
	p.files[i].ofSqlc = p.files[i].ofSqlc || ofSqlc
}

// sqlcNames are the names of sqlc's configuration.
var sqlcNames = []string{"sqlc.yaml", "sqlc.yml", "sqlc.json"}

// walk adds the files of a folder, and of the folders below it if below is true, and
// reports whether a file of Go is among them.
func (p *places) walk(folder string, below bool) (hasGo bool, err error) {
	folder = filepath.Clean(folder)
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != folder && (!below || isLeftOut(name, entry.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case filepath.Ext(name) == ".go":
			hasGo = true
		case filepath.Ext(name) == ".sql":
			p.add(name, false)
		case slices.Contains(sqlcNames, entry.Name()):
			return p.addSqlc(name)
		}
		return nil
	})
	return hasGo, err
}

// isLeftOut reports whether the go command skips a folder for the pattern "...", as it does
// with vendor, testdata and other modules.
func isLeftOut(path, name string) bool {
	if name == "vendor" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// sqlcConfig is the part of sqlc's configuration that keyfill reads, for the versions 1 and
// 2 of that configuration: https://docs.sqlc.dev/en/stable/reference/config.html.
type sqlcConfig struct {
	SQL      []sqlcQueries `yaml:"sql"`
	Packages []sqlcQueries `yaml:"packages"`
}

type sqlcQueries struct {
	Queries sqlcPaths `yaml:"queries"`
}

// sqlcPaths are files, folders and patterns, written in the configuration as one text or as
// a list.
type sqlcPaths []string

// UnmarshalYAML reads one path or a list.
func (p *sqlcPaths) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*p = sqlcPaths{node.Value}
		return nil
	}
	var all []string
	err := node.Decode(&all)
	*p = all
	return err
}

// addSqlc adds the files of queries that a configuration of sqlc names.
func (p *places) addSqlc(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var c sqlcConfig
	if err := yaml.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("%s cannot be read as sqlc reads it (%w): correct it", name, err)
	}
	for _, one := range slices.Concat(c.SQL, c.Packages) {
		for _, path := range one.Queries {
			pattern := filepath.Join(filepath.Dir(name), filepath.FromSlash(path))
			if info, err := os.Stat(pattern); err == nil && info.IsDir() {
				pattern = filepath.Join(pattern, "*.sql")
			}
			files, err := filepath.Glob(pattern)
			if err != nil {
				return fmt.Errorf("%s names %q, which is no pattern of files: correct it", name, path)
			}
			for _, file := range files {
				if strings.HasSuffix(file, ".sql") {
					p.add(file, true)
				}
			}
		}
	}
	return nil
}
