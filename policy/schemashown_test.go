package policy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// TestSchemaShowsWhatFits: each default and each example in the schema is a value of its
// field, and each field that may be left out says what counts then.
func TestSchemaShowsWhatFits(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(policy.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	shown := 0
	everyField(root, func(name string, required bool, field map[string]any) {
		examples, _ := field["examples"].([]any)
		if len(examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		byDefault, has := field["default"]
		if has {
			examples = append(examples, byDefault)
		}
		for _, one := range examples {
			if msg := violation(field, one); msg != "" {
				t.Errorf("%s shows %v: %s", name, one, msg)
			}
		}
		text, _ := field["description"].(string)
		if says := strings.Contains(text, "Left out, "); required && (says || has) || !required && says == has {
			t.Errorf("%s: required is %v, a default is there %v, and its description says what is meant by none %v: %s", name, required, has, says, text)
		}
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%s: its description is no sentence: %q", name, text)
		}
		shown++
	})
	if shown < 100 {
		t.Errorf("the schema has %d fields, want 100 or more", shown)
	}
}

// everyField calls f for each field of each mapping that a schema describes.
func everyField(s map[string]any, f func(name string, required bool, field map[string]any)) {
	required, _ := s["required"].([]any)
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			field := properties[name].(map[string]any)
			f(name, slices.Contains(required, any(name)), field)
			everyField(field, f)
		}
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if below, ok := s[keyword].(map[string]any); ok {
			everyField(below, f)
		}
	}
	if forms, ok := s["oneOf"].([]any); ok {
		for _, form := range forms {
			everyField(form.(map[string]any), f)
		}
	}
}

// TestDefaultsOfSources: a source that says a default of the schema is compiled to the
// same source as one that leaves the field out.
func TestDefaultsOfSources(t *testing.T) {
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(policy.Schema()))
	decoder.UseNumber() // an integer stays as it is written
	if err := decoder.Decode(&root); err != nil {
		t.Fatal(err)
	}
	fields := root["properties"].(map[string]any)["sources"].(map[string]any)["additionalProperties"].(map[string]any)["properties"].(map[string]any)
	needs := map[string]string{
		"snowflake": "worker_env: A", "composite": "worker_env: A", "coprime": "length: 6",
		"procedure": "via: procedure", "unit": "time_bits: 41, worker_bits: 10, sequence_bits: 12",
		"upstream_lasts": "upstream: central",
	}
	// Package keysource knows what 0 means for two of these, and the SQL of a store the third.
	elsewhere := []string{"min_block", "max_block", "procedure"}
	compared := 0
	for name, field := range fields {
		byDefault, has := field.(map[string]any)["default"]
		if !has || slices.Contains(elsewhere, name) {
			continue
		}
		for _, kind := range policy.KindsWith(name) {
			text := strings.Join(slices.DeleteFunc([]string{"kind: " + kind, needs[kind], needs[name]}, func(s string) bool { return s == "" }), ", ")
			left := compiledSource(t, text)
			if said := compiledSource(t, fmt.Sprintf("%s, %s: %v", text, name, byDefault)); said != left {
				t.Errorf("{%s} with %s: %v is\n%+v, want\n%+v", text, name, byDefault, said, left)
			}
			compared++
		}
	}
	if compared < 19 {
		t.Errorf("%d defaults were compared, want 19 or more", compared)
	}
}

// compiledSource returns the source of a key on PostgreSQL, whose fields are given as YAML.
func compiledSource(t *testing.T, fields string) policy.Source {
	t.Helper()
	cfg, err := policy.Parse([]byte("version: 1\nstores: {central: {driver: mysql, dsn_env: A}}\ntables: {t: {column: id, source: {" + fields + "}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	return p.Match("", "t").Keys[0].Source
}
