// Package goldens says for which engines a golden case holds: a case of a test, with its
// expected result in a file.
package goldens

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Named are the names of the dialects for which files have golden cases. Any other dialect
// has the cases of the first dialect of its family, and tests of its own for the
// differences.
var Named = []string{"mysql", "mariadb", "postgres", "sqlite", "sqlserver", "oracle"}

// Of returns the name of the dialect whose golden cases hold for d.
func Of(d *dialect.Dialect) string {
	if slices.Contains(Named, d.Name) {
		return d.Name
	}
	for _, first := range dialect.All() {
		if first.SharesFamily(d) && slices.Contains(Named, first.Name) {
			return first.Name
		}
	}
	return d.Name
}

// Has reports whether a list of names, with spaces between them, has the name of the
// dialect whose golden cases hold for d.
func Has(list string, d *dialect.Dialect) bool { return slices.Contains(strings.Fields(list), Of(d)) }

// Dialects returns the dialects for which the golden cases under some names hold, or the
// error of [dialect.ByName] for an unknown name.
func Dialects(names []string) (all []*dialect.Dialect, err error) {
	for _, name := range names {
		if _, err := dialect.ByName(name); err != nil {
			return nil, err
		}
		for _, d := range dialect.All() {
			if Of(d) == name {
				all = append(all, d)
			}
		}
	}
	return all, nil
}
