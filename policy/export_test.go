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
		what := fmt.Sprintf("glob %s (%d literals)", p.names.join(e.schema.text, e.table.text), e.literals)
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

// dumpSource returns what a source says besides its kind and epoch.
func dumpSource(s Source) string {
	words := []string{"source:"}
	told := map[string]bool{
		"epoch": true, "scope": true, "table": true, "worker": true, "worker_lease": true,
		"upstream": true, "upstream_block": true, "upstream_lasts": true,
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"name", s.Name}, {"store", s.Store},
		{"block", s.Block}, {"min_block", s.MinBlock}, {"max_block", s.MaxBlock}, {"start", s.Start},
		{"ensure_schema", s.EnsureSchema}, {"create", s.CreateRow()},
		{"exclusive", s.Exclusive}, {"follow_explicit", s.FollowExplicit},
		{"on_behind", s.OnBehind}, {"on_store_rollback", s.OnStoreRollback},
		{"worker_env", s.WorkerEnv}, {"worker_ordinal", s.WorkerOrdinal},
		{"bits", s.Bits}, {"time_bits", s.TimeBits}, {"worker_bits", s.WorkerBits}, {"sequence_bits", s.SequenceBits},
		{"unit", s.Unit},
		{"transaction", unlessWord(s.Transaction, TransactionAutonomous)},
		{"lock", unlessWord(s.Lock, LockPessimistic)}, {"via", unlessWord(s.Via, ViaTable)}, {"procedure", s.Procedure},
		{"sequence", s.Sequence}, {"length", s.Length}, {"alphabet", s.Alphabet}, {"k", s.K}, {"grow", s.Grow},
		{"collation", s.Collation}, {"key", s.Key}, {"spread", s.Spread}, {"series", s.Series}, {"lease", s.Lease},
	} {
		told[f.name] = true
		if !reflect.ValueOf(f.value).IsZero() {
			words = append(words, fmt.Sprintf("%s=%v", f.name, f.value))
		}
	}
	for _, f := range ownFields { // the fields that were added since
		if !told[f.name] && f.isSet(&s) {
			value := reflect.ValueOf(s).FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(f.name, "_", "")) })
			words = append(words, fmt.Sprintf("%s=%v", f.name, value))
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

// unlessWord returns a word, or an empty text for the default.
func unlessWord(word, usual string) string {
	if word == usual {
		return ""
	}
	return word
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

// GlobMatch and GlobsMeet open what decides about globs.
func GlobMatch(glob, s string) bool { return pattern{glob, true}.match(s) }

func GlobsMeet(a, b string) bool { return pattern{a, true}.meets(pattern{b, true}) }

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
