package draft

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// leastJoined is the least number of tables that share an entry.
const leastJoined = 3

var (
	plainTable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	digitRuns  = regexp.MustCompile(`[0-9].*[0-9]|[0-9]`)
)

// joinTables gives one entry to tables whose names differ only in digits, if a pattern
// matches them and no other table.
func (f *Draft) joinTables(over *catalog.Overview) {
	type shape struct{ pattern, column, rest string }
	groups := map[shape][]*item{}
	var order []shape
	for _, i := range f.items {
		name := i.found.Name
		if i.verdict != filled || !i.found.Visible || i.table != name || !plainTable.MatchString(name) || !digitRuns.MatchString(name) {
			continue
		}
		at := digitRuns.FindStringIndex(name)
		s := shape{name[:at[0]] + "*" + name[at[1]:], i.column, i.rest}
		if at[0] == 0 || strings.Trim(name[:at[0]], "_") == "" {
			continue
		}
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], i)
	}
	for _, s := range order {
		all := groups[s]
		if len(all) < leastJoined || !f.isExact(over, s.pattern, all) {
			continue
		}
		first := all[0]
		first.table = s.pattern
		first.why = append(first.why, fmt.Sprintf("The pattern matches %d tables, such as %s, and those that are made with such a name.", len(all), first.names[0]))
		for _, other := range all[1:] {
			first.names = append(first.names, other.names...)
		}
		f.items = slices.DeleteFunc(f.items, func(i *item) bool { return i != first && slices.Contains(all, i) })
	}
}

// isExact reports whether a pattern matches the tables of the items, and no other table
// of any schema.
func (f *Draft) isExact(over *catalog.Overview, pattern string, all []*item) bool {
	before, behind, _ := strings.Cut(f.d.FoldTable(pattern, false), "*")
	matched := 0
	for _, t := range over.Tables {
		name := f.d.FoldTable(t.Name, true)
		if len(name) >= len(before)+len(behind) && strings.HasPrefix(name, before) && strings.HasSuffix(name, behind) {
			matched++
		}
	}
	return matched == len(all)
}
