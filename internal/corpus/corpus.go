// Package corpus reads files of SQL statements: JSON Lines, an object a line
// with the fields id, sql, kind and source, and others that are not read. The file
// "<dialect>.jsonl" or "<dialect>.<anything>.jsonl" holds the statements of a
// dialect. "applications.<anything>.jsonl" holds INSERTs of applications, of which
// each names its dialect.
package corpus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Statement is a line of a corpus.
type Statement struct {
	ID   string `json:"id"`
	SQL  string `json:"sql"`
	Kind string `json:"kind"` // a guess of the project that collected it

	Source string `json:"source"` // the project and the file that it is from

	// Dialect is the dialect of the statement, in the word that the names of files begin
	// with. It is empty if the file holds the statements of one dialect.
	Dialect string `json:"dialect"`
}

// Of returns the statements of applications that run in a dialect.
func Of(dialect string, statements []Statement) []Statement {
	return slices.DeleteFunc(slices.Clone(statements), func(s Statement) bool { return !slices.Contains(dialects[s.Dialect], dialect) })
}

// dialects maps the word at the beginning of a file's name to the dialects that it stands
// for.
var dialects = map[string][]string{
	"mysql":     {"mysql", "mariadb"},
	"mariadb":   {"mariadb"},
	"postgres":  {"postgres"},
	"sqlite":    {"sqlite"},
	"mssql":     {"sqlserver"},
	"sqlserver": {"sqlserver"},
	"oracle":    {"oracle"},
}

// File is a file of a corpus and the dialects that it is for.
type File struct {
	Path     string
	Dialects []string

	// Applications reports whether each statement names its dialect.
	Applications bool
}

// applications begins the name of a file of applications' INSERTs.
const applications = "applications"

// Files returns the files of a folder, by their names. It returns an error if there is
// none.
func Files(folder string) ([]File, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var files []File
	for _, path := range paths {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		if name == applications {
			files = append(files, File{Path: path, Dialects: []string{"mysql", "mariadb", "postgres", "sqlite", "sqlserver", "oracle"}, Applications: true})
			continue
		}
		d := dialects[name]
		if d == nil {
			return nil, fmt.Errorf("corpus: %s: the name does not begin with a dialect's", path)
		}
		files = append(files, File{Path: path, Dialects: d})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("corpus: no *.jsonl in %s", folder)
	}
	return files, nil
}

// Read returns the statements of a file. The error names the line.
func (f File) Read() ([]Statement, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	const longest = 1 << 26
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longest)
	var statements []Statement
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var s Statement
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", f.Path, n, err)
		}
		statements = append(statements, s)
	}
	return statements, lines.Err()
}
