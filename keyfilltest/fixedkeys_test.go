package keyfilltest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/policy"
)

// fixedKeys are the first two keys that a test sees, by source and layout.
var fixedKeys = []struct{ dialect, source, layout, want string }{
	{"postgres", "uuidv7", "", "019b76da-a800-7000-8000-000000000001 019b76da-a800-7001-8000-000000000002 "},
	{"mysql", "uuidv7", "string", "019b76da-a800-7000-8000-000000000001 019b76da-a800-7001-8000-000000000002 "},
	{"mysql", "uuidv7", "binary", "019b76daa80070008000000000000001 019b76daa80070018000000000000002 "},
	{"sqlserver", "uuidv7", "", "01000000-0000-0080-7000-019b76daa800 02000000-0000-0080-7001-019b76daa800 "},
	{"oracle", "uuidv7", "", "019b76daa80070008000000000000001 019b76daa80070018000000000000002 "},
	{"postgres", "uuidv4", "", "00000000-0000-4001-8000-000000000002 00000000-0000-4003-8000-000000000004 "},
	{"mysql", "uuidv4", "binary", "00000000000040018000000000000002 00000000000040038000000000000004 "},
	{"postgres", "{kind: uuidv7, prefix: cus}", "", "cus_01kdvdna00e008000000000001 cus_01kdvdna00e00r000000000002 "},
	{"postgres", "{kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [parent_id]}", "", "427176de-9f4e-5f50-8047-e4cbb3b93271 427176de-9f4e-5f50-8047-e4cbb3b93271 "},
	{"postgres", "ulid", "", "01KDVDNA000000000000002000 01KDVDNA000000000000002001 "},
	{"mysql", "ulid", "binary", "019b76daa80000000000000000010000 019b76daa80000000000000000010001 "},
	{"sqlserver", "comb", "", "00000000-0000-0100-0000-3a1e89078000 00000000-0200-0000-0000-3a1e89078000 "},
	{"mysql", "comb", "string", "3a1e8907-8000-0000-0000-000000010000 3a1e8907-8000-0000-0000-000200000000 "},
	{"mysql", "comb", "binary", "3a1e8907800000000000000000010000 3a1e8907800000000000000200000000 "},
	{"postgres", "sequence", "", "1 2 "},
	{"postgres", "{kind: sequence, transaction: joined}", "", "1 2 "},
	{"postgres", "{kind: sequence, scope: [parent_id]}", "", "1 2 "},
	{"postgres", "{kind: sequence, scope: [parent_id], transaction: joined}", "", "1 2 "},
	{"postgres", "maxplusone", "", "1 2 "},
	{"postgres", "{kind: native, sequence: s}", "", "1 2 "},
	{"postgres", "recycled", "", "1 2 "},
	{"postgres", "{kind: snowflake, worker: 3}", "", "1 2 "},
	{"postgres", "{kind: snowflake, worker_lease: 30s}", "", "1 2 "},
	{"postgres", "pseudorandom", "", "16807 33614 "},
	{"postgres", "{kind: scatter, key: a}", "", "4666965790083131373 7398300122048617898 "},
	{"postgres", "{kind: coprime, length: 5, k: 63}", "", "00011 00022 "},
	{"postgres", "{kind: composite, worker: 7}", "", "00720200101000000001 00720200101000000002 "},
}

// TestFixedKeys: each source makes the same keys in every run, which a test can name.
func TestFixedKeys(t *testing.T) {
	for _, tt := range fixedKeys {
		t.Run(tt.dialect+"/"+tt.source+"/"+tt.layout, func(t *testing.T) {
			layout := ""
			if tt.layout != "" {
				layout = ", layout: " + tt.layout
			}
			cfg, err := policy.Parse([]byte("version: 1\ndialect: " + tt.dialect + "\ntables: {things: {column: id, source: " + tt.source + layout + "}}"))
			if err != nil {
				t.Fatal(err)
			}
			filler := keyfilltest.NewFiller(t, keyfill.Options{Policy: cfg})
			got := ""
			for range 2 {
				_, args := filler.Fill("INSERT INTO things (parent_id) VALUES ("+map[string]string{"postgres": "$1", "mysql": "?", "sqlserver": "@p1", "oracle": ":1"}[tt.dialect]+")", 1)
				if key, ok := args[1].([]byte); ok {
					got += fmt.Sprintf("%x ", key)
				} else {
					got += fmt.Sprint(args[1], " ")
				}
			}
			if got != tt.want {
				t.Errorf("{%q, %q, %q, %q},", tt.dialect, tt.source, tt.layout, got)
			}
		})
	}
}

// TestEveryKind: each kind of the policy's schema is among the fixed keys, and among the
// sources that ask nothing.
func TestEveryKind(t *testing.T) {
	file, err := os.ReadFile("../policy/keyfill.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Properties           map[string]node
		AdditionalProperties json.RawMessage
		OneOf                []struct{ Const string }
	}
	var schema, source node
	if err := json.Unmarshal(file, &schema); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(schema.Properties["sources"].AdditionalProperties, &source); err != nil {
		t.Fatal(err)
	}
	kinds := source.Properties["kind"].OneOf
	if len(kinds) < 13 {
		t.Fatalf("the schema has %d kinds, want 13 or more", len(kinds))
	}
	fixed, asked := "", fmt.Sprint(sources)
	for _, key := range fixedKeys {
		fixed += key.source + "\n"
	}
	for _, kind := range kinds {
		if kind.Const == "identity" { // which keyfill does not fill
			continue
		}
		if !strings.Contains(fixed, kind.Const) {
			t.Errorf("no fixed key is of kind %s", kind.Const)
		}
		if !strings.Contains(asked, kind.Const) {
			t.Errorf("no source that asks nothing is of kind %s", kind.Const)
		}
	}
}
