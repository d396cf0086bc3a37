// Package goldens says which golden cases hold for which engine, for tests.
package goldens

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Named are the engines that golden cases name, by their dialects' names. Each has cases of
// its own. Any other engine takes the cases of the first of its family, and tests of its own
// say where it differs from that one.
var Named = []string{"mysql", "mariadb", "postgres", "sqlite", "sqlserver", "oracle"}

// Of returns the name under which golden cases hold for an engine.
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

// Has reports whether a list of names with spaces between them has an engine's.
func Has(list string, d *dialect.Dialect) bool { return slices.Contains(strings.Fields(list), Of(d)) }

// Dialects returns the engines for which the cases under some names hold, or the error of
// [dialect.ByName].
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
