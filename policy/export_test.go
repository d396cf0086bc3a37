package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var GenerateSchema = generateSchema

// Dump returns what p holds, in a stable order.
func Dump(p *Policy) string {
	var b strings.Builder
	if p.defaultSchema != "" {
		fmt.Fprintf(&b, "default_schema: %s\n", p.defaultSchema)
	}
	names := slices.SortedFunc(maps.Keys(p.exact), func(a, b tableName) int {
		return strings.Compare(a.schema+"\x00"+a.table, b.schema+"\x00"+b.table)
	})
	for _, name := range names {
		dumpRule(&b, "table "+p.exact[name].rule.Table, &p.exact[name].rule)
	}
	for _, e := range p.globs {
		what := fmt.Sprintf("glob %s (%d literals)", p.names.join(e.schema.text, e.table.text), e.literals)
		dumpRule(&b, what, &e.rule)
	}
	return b.String()
}

func dumpRule(b *strings.Builder, what string, r *Rule) {
	fmt.Fprintf(b, "%s: mode=%s unsupported=%s", what, r.Mode, r.Unsupported)
	if r.Identity {
		b.WriteString(" identity")
	}
	b.WriteString("\n")
	for _, k := range r.Keys {
		state := k.State
		if state == "" {
			state = "(per table)"
		}
		fmt.Fprintf(b, "  %s: %s", k.Column, k.Source.Kind)
		if k.Source.Epoch != "" {
			fmt.Fprintf(b, " epoch=%s", k.Source.Epoch)
		}
		fmt.Fprintf(b, " layout=%s state=%s fill=[%s]\n", k.Layout, state, k.Fill)
	}
	if r.Columns != nil {
		fmt.Fprintf(b, "  columns: %s\n", strings.Join(r.Columns, ", "))
	}
}

// GlobMatch and GlobsMeet open what decides about globs.
func GlobMatch(glob, s string) bool { return pattern{glob, true}.match(s) }

func GlobsMeet(a, b string) bool { return pattern{a, true}.meets(pattern{b, true}) }

// FieldNames returns the fields of the file for the Go types.
func FieldNames() map[string][]string {
	return map[string][]string{
		"Config": fieldNames(configFields),
		"Table":  fieldNames(tableFields()),
		"Key":    fieldNames(keyFields()),
		"Source": fieldNames(sourceFields),
	}
}
