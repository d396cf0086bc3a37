package policy

import (
	"fmt"
	"slices"
	"strings"
)

// fieldLevels holds the names of the fields on each level of the file. The error about a
// misplaced field uses them to name the level where the field belongs.
type fieldLevels struct {
	file, table, source []string            // the names of the fields on the level of the file, of a table and of a source
	kinds               []string            // the names of the kinds
	kindsWith           map[string][]string // for each field of a source, the kinds that have it
}

// belongs returns the end of a message about a field that the mapping at p does not
// have: on which level of the file it belongs, and how to write it there. It is empty
// if no level has the field.
func (l *fieldLevels) belongs(p place, name string) string {
	isKey := p.field == "keys"
	isTable := p.section == "tables" && (p.field == "" || isKey)
	isSource := p.section == "sources" && p.field == "" || p.section == "tables" && (p.field == "source" || strings.HasSuffix(p.field, ".source"))
	if p.section == "" && p.field != "" || p.section != "" && !isTable && !isSource {
		return ""
	}
	inSource := func() string {
		if with := l.kindsWith[name]; len(with) > 0 {
			kind := with[0]
			if slices.Contains(with, KindSequence) {
				kind = KindSequence
			}
			return fmt.Sprintf("source: {kind: %s, %s: …}", kind, name)
		}
		return "source: {" + name + ": …}"
	}
	switch {
	case isKey && slices.Contains(l.table, name):
		return "to the table: write the field beside keys:"
	case isTable && slices.Contains(l.source, name):
		return "to the source: write " + inSource()
	case isSource && slices.Contains(l.table, name) && p.section == "sources":
		return "to the tables that use the source: write the field there, beside source:"
	case isSource && slices.Contains(l.table, name):
		return "to the table: write the field beside source:"
	case p.section != "" && slices.Contains(l.file, name):
		return "to the file: write the field at the beginning of a line"
	case p.section == "" && slices.Contains(l.table, name):
		return fmt.Sprintf("to a table: write tables: {orders: {column: id, %s: …}}", name)
	case p.section == "" && slices.Contains(l.source, name):
		return "to a source: write " + inSource() + " in a table"
	}
	return ""
}
