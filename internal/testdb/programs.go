package testdb

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// programs holds the path of each program by its name.
type programs map[string]string

// missingError is returned when a program is not installed.
type missingError struct{ names []string }

func (e *missingError) Error() string {
	return strings.Join(e.names, ", ") + " not found (in $PATH, /usr/sbin, /usr/bin, /usr/local/bin, /usr/lib/postgresql/*/bin; PostgreSQL 18 in " + folder18 + ")"
}

// findEach finds each program in the first folder that has it.
func findEach(names ...string) (programs, error) {
	found := programs{}
	var missing []string
	for _, name := range names {
		i := slices.IndexFunc(folders(), func(folder string) bool { return isProgram(folder, name) })
		if i < 0 {
			missing = append(missing, name)
			continue
		}
		found[name] = filepath.Join(folders()[i], name)
	}
	if missing != nil {
		return nil, &missingError{missing}
	}
	return found, nil
}

// findTogether finds the programs in the first folder that has all of them,
// because programs of two versions do not work together.
func findTogether(names ...string) (programs, error) { return findIn(folders(), names...) }

func findIn(folders []string, names ...string) (programs, error) {
	for _, folder := range folders {
		found := programs{}
		for _, name := range names {
			if isProgram(folder, name) {
				found[name] = filepath.Join(folder, name)
			}
		}
		if len(found) == len(names) {
			return found, nil
		}
	}
	return nil, &missingError{names}
}

// folders returns where programs are looked for, in that order.
func folders() []string {
	list := filepath.SplitList(os.Getenv("PATH"))
	list = append(list, "/usr/sbin", "/usr/bin", "/usr/local/bin")
	versions, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // Glob fails only for a malformed pattern
	slices.SortFunc(versions, func(a, b string) int {
		return -cmp.Compare(postgresVersion(a), postgresVersion(b))
	})
	return append(list, versions...)
}

// postgresVersion returns 15 for /usr/lib/postgresql/15/bin, and 0 for what
// is not a number.
func postgresVersion(folder string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(folder)), 64)
	return v
}

func isProgram(folder, name string) bool {
	if !filepath.IsAbs(folder) {
		return false
	}
	info, err := os.Stat(filepath.Join(folder, name))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
