package policy_test

import (
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/steps"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// TestLinear: a policy file that has twice as many entries, or an entry with a list twice
// as long, costs about twice as much to compile.
func TestLinear(t *testing.T) {
	steps.Counted(t)
	const module = "github.com/keyfill/keyfill"
	program := steps.Build(t, "./testdata/linear", module+"/policy", module+"/dialect", module+"/internal/nearest")
	for i, g := range policyGrowths(t) {
		if testturn.Of(t, i, 100) {
			program.Check(t, g.name, map[string]any{"Dialect": g.dialect, "Text": g.text})
		}
	}
}

// policyGrowth is a way to make a policy file longer.
type policyGrowth struct {
	name, dialect string
	text          steps.Text
}

// policyGrowths returns many entries of all kinds, and the golden cases, of each of which
// the name decides which line is repeated: under numbered names if it begins an entry.
func policyGrowths(t *testing.T) (all []policyGrowth) {
	const n = steps.Number
	add := func(name string, text steps.Text) { all = append(all, policyGrowth{name, "mysql", text}) }
	for _, c := range []struct{ name, table, source string }{
		{"exact", "t" + n, "uuidv7"},
		{"front", "a" + n + "*", "uuidv7"},
		{"back", `"*a` + n + `"`, "uuidv7"},
		{"middle", `"*` + n + `*"`, "uuidv7"},
		{"both ends", "a*" + n, "uuidv7"},
		{"any character", "a?" + n, "uuidv7"},
		{"any first character", `"?` + n + `?"`, "uuidv7"},
		{"any first character and text", `"?` + n + `*"`, "uuidv7"},
		{"schemas", "s" + n + ".*", "uuidv7"},
		{"schema globs", "s" + n + "*.*", "uuidv7"},
		{"tables of schemas", `"*.a` + n + `*"`, "uuidv7"},
		{"globs of a schema", "s.a" + n + "*", "uuidv7"},
		{"sequences", "t" + n, "{kind: sequence}"},
		{"named sequences", "t" + n, "{kind: sequence, name: s" + n + "}"},
		{"starts", "t" + n, "{kind: sequence, start: 1" + n + "}"},
		{"one sequence", "t" + n, "{kind: sequence, name: s}"},
		{"one sequence for globs", "a" + n + "*", "{kind: sequence, name: s}"},
		{"table", "t" + n, "{kind: sequence, name: '{table}'}"},
		{"table of globs", "a" + n + "*", "{kind: sequence, name: '{table}'}"},
		{"table of back globs", `"*a` + n + `"`, "{kind: sequence, name: '{table}'}"},
		{"table of schemas", "s" + n + ".*", "{kind: sequence, name: '{table}'}"},
		{"schema", "t" + n, "{kind: sequence, name: '{schema}'}"},
		{"schema of schemas", "s" + n + ".*", "{kind: sequence, name: '{schema}'}"},
		{"schema of schema globs", "s" + n + "*.*", "{kind: sequence, name: '{schema}'}"},
		{"schema and table", "s" + n + ".t", "{kind: sequence, name: '{schema}{table}'}"},
		{"values", "t" + n, "{kind: sequence, name: '{value:x}'}"},
		{"snowflakes", "t" + n, "{kind: snowflake, worker: 1}"},
		{"wrong", "t" + n, "nothing"},
	} {
		unit := "  " + c.table + ": {column: id, source: " + c.source + "}\n"
		add(c.name, steps.Text{Head: "version: 1\ntables:\n", Unit: unit})
		add(c.name+" beside a glob", steps.Text{Head: "version: 1\ntables:\n  \"*\": {column: id, source: " + strings.ReplaceAll(c.source, n, "") + "}\n", Unit: unit})
		add(c.name+" in a file with names in upper case", steps.Text{Head: "version: 1\ndefault_schema: S\ntables:\n", Unit: strings.ReplaceAll(unit, "t"+n, "T"+n)})
	}
	add("sources", steps.Text{
		Head: "version: 1\nsources:\n", Unit: "  s" + n + ": {kind: sequence}\n",
		Middle: "tables:\n", Second: "  t" + n + ": {column: id, source: s" + n + "}\n",
	})
	add("columns", steps.Text{Head: "version: 1\ntables:\n  t: {column: id, source: uuidv7, columns: [id", Unit: ", c" + n, Tail: "]}\n"})
	add("keys", steps.Text{Head: "version: 1\ntables:\n  t:\n    keys:\n", Unit: "      - {column: c" + n + ", source: uuidv7}\n"})
	name := regexp.MustCompile(`^  "?\w[^:{]*?("?):`)
	for _, c := range goldenCases(t) {
		lines := strings.SplitAfter(strings.TrimSuffix(c.in, "\n")+"\n", "\n")
		i := int(crc32.ChecksumIEEE([]byte(c.archive+c.name))) % (len(lines) - 1)
		unit := lines[i]
		if m := name.FindStringSubmatchIndex(unit); m != nil {
			unit = unit[:m[2]] + n + unit[m[2]:]
		}
		text := steps.Text{Head: strings.Join(lines[:i+1], ""), Unit: unit, Tail: strings.Join(lines[i+1:], "")}
		all = append(all, policyGrowth{filepath.Base(c.archive) + " " + c.name, c.dialect.Name, text})
	}
	return all
}

// TestCompileManyOverlappingGlobs: of many globs of which all match some table together,
// each is compared with the first and not with all. Two globs of more than 32 characters
// are compared with slices of their own, so that what is allocated counts comparisons.
func TestCompileManyOverlappingGlobs(t *testing.T) {
	work := func(n int) float64 {
		cfg := &policy.Config{Tables: map[string]policy.Table{}}
		for i := range n {
			cfg.Tables[fmt.Sprintf("*%s%04d*", strings.Repeat("x", 40), i)] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7}}
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := cfg.Compile(dialect.MySQL()); err == nil {
				t.Fatal("no error")
			}
		})
	}
	if few, many := work(500), work(1000); many > 2.5*few {
		t.Errorf("500 globs are %v allocations, 1000 globs are %v", few, many)
	}
}
