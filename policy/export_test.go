package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

var GenerateSchema = generateSchema

// Rules returns the rules of the tables that the configuration names without
// wildcards, as they stand in the file; of a configuration that was built in
// Go, by their names.
func (p *Policy) Rules() []*Rule {
	var rules []*Rule
	for _, e := range p.inOrder {
		rules = append(rules, &e.rule)
	}
	return rules
}

// Dump returns what p holds, in a stable order.
func Dump(p *Policy) string {
	var b strings.Builder
	if set, certain := p.Settings(); certain {
		fmt.Fprintf(&b, "settings: %#x\n", set)
	}
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
		what := fmt.Sprintf("glob %s (%d literals)", p.names.join(e.schema.Text, e.table.Text), e.literals)
		dumpRule(&b, what, &e.rule)
	}
	if len(names)+len(p.globs) == 0 {
		b.WriteString("no table\n")
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
		if k.Source.Prefix != "" {
			fmt.Fprintf(b, " prefix=%q", k.Prefix)
		}
		fmt.Fprintf(b, " layout=%s state=%s fill=[%s]", k.Layout, state, k.Fill)
		if k.Integer {
			fmt.Fprintf(b, " max_bits=%d last_insert_id=%s", k.MaxBits, k.LastInsertID)
		}
		if Stateful(k.Source) {
			fmt.Fprintf(b, "\n    %s", dumpSource(k.Source))
			dumpState(b, k)
		}
		b.WriteString("\n")
	}
	if r.Columns != nil {
		fmt.Fprintf(b, "  columns: %s\n", strings.Join(r.Columns, ", "))
	}
}

// toldFirst are the fields of a source in the order of the golden files, without those that
// dumpSource formats itself. Other fields follow in the order of their declaration.
var toldFirst = strings.Fields(`name store block min_block max_block start ensure_schema create exclusive follow_explicit
	on_behind on_store_rollback worker_env worker_ordinal bits time_bits worker_bits sequence_bits unit
	transaction lock via procedure sequence length alphabet k grow collation key spread series lease`)

// dumpSource returns what a source says besides its kind, epoch, scope and upstream.
func dumpSource(s Source) string {
	usual := map[string]any{"transaction": TransactionAutonomous, "lock": LockPessimistic, "via": ViaTable}
	told := map[string]bool{
		"epoch": true, "scope": true, "from": true, "table": true, "worker": true, "worker_lease": true,
		"upstream": true, "upstream_block": true, "upstream_lasts": true,
	}
	words := []string{"source:"}
	for _, name := range append(slices.Clone(toldFirst), fieldNames(headings(sourceFields[1:]))...) {
		if told[name] {
			continue
		}
		told[name] = true
		value := reflect.ValueOf(s).FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, strings.ReplaceAll(name, "_", "")) })
		if name == "create" {
			value = reflect.ValueOf(s.CreateRow())
		}
		if !value.IsZero() && value.Interface() != usual[name] {
			words = append(words, fmt.Sprintf("%s=%v", name, value))
		}
	}
	if s.Worker != nil {
		words = append(words, fmt.Sprintf("worker=%d", *s.Worker))
	}
	if s.Table != nil {
		words = append(words, fmt.Sprintf("table=%+v", *s.Table))
	}
	return strings.Join(words, " ")
}

func dumpState(b *strings.Builder, k RuleKey) {
	for _, f := range []struct {
		name  string
		given bool
	}{{"contiguous", k.Contiguous}, {"joined", k.Joined}, {"shared", k.Shared}} {
		if f.given {
			b.WriteString("\n    " + f.name)
		}
	}
	if k.Scope != nil {
		fmt.Fprintf(b, "\n    scope: %v", k.Scope)
	}
	if k.From != nil {
		fmt.Fprintf(b, "\n    from: %v", k.From)
	}
	if k.Columns != nil {
		b.WriteString("\n    columns:")
		for _, c := range k.Columns {
			fmt.Fprintf(b, " %s|%s|%s", c.Schema, c.Table, c.Column)
		}
	}
	if k.Values != nil {
		fmt.Fprintf(b, "\n    values: %s", strings.Join(k.Values, ", "))
	}
	if k.fault != "" {
		fmt.Fprintf(b, "\n    fault: %s", k.fault)
	}
}

// FieldNames returns the fields of the file for the Go types.
func FieldNames() map[string][]string {
	return map[string][]string{
		"Config": fieldNames(headings(configFields)),
		"Table":  fieldNames(headings(tableFields())),
		"Key":    fieldNames(headings(keyFields())),
		"Source": fieldNames(headings(sourceFields)),
		"Store":  fieldNames(headings(storeFields)),

		"KeyTable":    fieldNames(headings(keyTableFields)),
		"StoreTLS":    fieldNames(headings(storeTLSFields)),
		"ScopeColumn": fieldNames(headings(scopeFields)),
	}
}

// KindNames returns the names of all kinds.
func KindNames() []string { return kindNames() }

// KindsWith returns the kinds that read a field of a source.
func KindsWith(field string) []string { return kindsWith(field) }

// StoreWords returns the names of the fields of a store that errors show, and those that there
// are.
func StoreWords() (shown, are []string) {
	return storeWords, append(fieldNames(headings(storeFields)), fieldNames(headings(storeTLSFields))...)
}
