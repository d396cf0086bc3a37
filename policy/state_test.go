package policy_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestMatchStates looks at states of integers, which tables share or not.
func TestMatchStates(t *testing.T) {
	cfg := &policy.Config{
		Sources: map[string]policy.Source{
			"all":     {Kind: "sequence"},
			"one":     {Kind: "sequence"},
			"each":    {Kind: "sequence", Name: "{table}-no"},
			"schema":  {Kind: "sequence", Name: "{schema}-{table}"},
			"tenants": {Kind: "sequence", Name: "{value:t}"},
		},
		Tables: map[string]policy.Table{
			"a_*":         {Column: "id", Source: "all"},
			"b":           {Column: "id", Source: "all"},
			"c":           {Column: "id", Source: "one"},
			"d_*":         {Column: "id", Source: "each"},
			"sales.d_one": {Column: "id", Source: "each"},
			"x.e_*":       {Column: "id", Source: "sequence"},
			"f_*":         {Column: "id", Source: "sequence"},
			"y*.g_*":      {Column: "id", InPlace: &policy.Source{Kind: "sequence", Name: "{table}"}},
			"h":           {Column: "id", Source: "schema"},
			"i_*":         {Column: "id", Source: "schema"},
			"j":           {Column: "id", Source: "tenants"},
			"k":           {Column: "id", Source: "tenants", Keys: []policy.Key{{Column: "no", Source: "sequence"}}},
		},
	}
	tests := []struct {
		table   string // schema.table
		state   string
		shared  bool
		columns string
	}{
		{"a_1", "all", true, "[{ b id} { a_1 id}]"},
		{"s.a_1", "all", true, "[{ b id} { a_1 id}]"},
		{"b", "all", true, "[{ b id}]"},
		{"s.b", "all", true, "[{ b id}]"},
		{"c", "one", false, "[{ c id}]"},
		{"s.c", "one", false, "[{ c id}]"},
		{"d_two", "d_two-no", true, "[{ d_two id}]"},
		{"sales.d_one", "d_one-no", true, "[{sales d_one id}]"},
		{"other.d_one", "d_one-no", true, "[{sales d_one id} { d_one id}]"},
		{"x.e_1", "x.e_1.id", false, "[{x e_1 id}]"},
		{"f_1", "f_1.id", false, "[{ f_1 id}]"},
		{"s.f_1", "f_1.id", false, "[{ f_1 id}]"},
		{"ya.g_1", "g_1", true, "[{ya g_1 id}]"},
		{"s.h", "s-h", false, "[{s h id}]"},
		{"r.h", "r-h", false, "[{r h id}]"},
		{"s.i_1", "s-i_1", false, "[{s i_1 id}]"},
		{"j", "{value:t}", true, "[{ j id} { k id}]"},
	}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		schema, table := fold(dialect.PostgreSQL(), tt.table)
		r := p.Match(schema, table)
		if r == nil {
			t.Errorf("Match(%q, %q) = nil", schema, table)
			continue
		}
		k := r.Keys[0]
		if got := fmt.Sprint(k.Columns); k.State != tt.state || k.Shared != tt.shared || got != tt.columns {
			t.Errorf("Match(%q, %q) has State %q, Shared %v, Columns %s; want %q, %v, %s",
				schema, table, k.State, k.Shared, got, tt.state, tt.shared, tt.columns)
		}
		if r.Schema != schema || r.Name != table {
			t.Errorf("Match(%q, %q) is called %q, %q", schema, table, r.Schema, r.Name)
		}
	}
	if got := p.Match("", "k").Keys[0].Values; !slices.Equal(got, []string{"t"}) {
		t.Errorf("the values of k are %q, want t", got)
	}
}

// TestMatchKeepsSources: one state has one source, pointers and all, and keys of
// equal sources can be found in a map.
func TestMatchKeepsSources(t *testing.T) {
	cfg := &policy.Config{Tables: map[string]policy.Table{
		"a":   {Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(1), Name: "n"}},
		"b":   {Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(1), Name: "n", Bits: 63}},
		"c_*": {Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(1), Name: "n", Epoch: "2020-01-01"}},
	}}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	want := p.Match("", "a").Keys[0].Source
	for _, table := range []string{"b", "c_1", "c_2"} {
		if got := p.Match("", table).Keys[0].Source; got != want {
			t.Errorf("the source of %s is %+v, want %+v", table, got, want)
		}
	}
	if got := p.Sources(); len(got) != 1 {
		t.Errorf("Sources = %+v, want one", got)
	}
}

func TestStateFor(t *testing.T) {
	long := strings.Repeat("x", 185)
	tests := []struct {
		name          string // of the state
		schema, table string
		values        map[string]string
		want, err     string
	}{
		{name: "", table: "orders", want: "orders.id"},
		{name: "n", table: "orders", want: "n"},
		{name: "{table}/{value:a}-{value:b}{value:a}", table: "orders", values: map[string]string{"a": "1", "b": "{value:a}"},
			want: "orders/1-{value:a}1"},
		{name: "{value:a}", table: "orders", values: map[string]string{"b": "secret"},
			err: `policy: the state "{value:a}" needs the value "a", which is not given: keyfill.WithValue(ctx, "a", …)`},
		{name: "{value:a}", table: "orders", values: map[string]string{"a": ""},
			err: `policy: the state "{value:a}" needs the value "a", which is not given: keyfill.WithValue(ctx, "a", …)`},
		{name: "{value:a}", table: "orders", values: map[string]string{"a": "secret "},
			err: `policy: the state "{value:a}" with its values: the name of a state neither begins nor ends with a space`},
		{name: "{value:a}", table: "orders", values: map[string]string{"a": "secret\xff"},
			err: `policy: the state "{value:a}" with its values: the name of a state is text in UTF-8, without NUL`},
		{name: "{value:a}", table: "orders", values: map[string]string{"a": strings.Repeat("ü", 190)}, want: strings.Repeat("ü", 190)},
		{name: "{value:a}", table: "orders", values: map[string]string{"a": strings.Repeat("ü", 191)},
			err: `policy: the state "{value:a}" with its values: the name of a state has at most 190 characters`},
		{name: "{schema}.{table}", schema: "s", table: "orders", want: "s.orders"},
		{name: "{schema}.{table}", table: "orders",
			err: `policy: the state "{schema}.orders" is named after the table's schema, which is not known: say default_schema:, or schema.table in the statement`},
		{name: "", table: long + "ab", want: long + "ab.id"},
		{name: "", table: long + "abc", err: "policy: the name of a state has at most 190 characters"},
		{name: "", table: "{value:a}", want: "{value:a}.id"},
		{name: "{table}", table: "{schema}", want: "{schema}"},
		{name: "{table}", table: "a ", err: "policy: the name of a state neither begins nor ends with a space"},
	}
	for _, tt := range tests {
		cfg := &policy.Config{Tables: map[string]policy.Table{
			"*": {Column: "id", InPlace: &policy.Source{Kind: "sequence", Name: tt.name}},
		}}
		p, err := cfg.Compile(dialect.PostgreSQL())
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Match(tt.schema, tt.table).Keys[0].StateFor(func(name string) (string, bool) {
			v, ok := tt.values[name]
			return v, ok
		})
		msg := ""
		if err != nil {
			msg = plain(err)
			if e := new(policy.Error); !errors.As(err, &e) {
				t.Errorf("StateFor fails with a %T", err)
			}
		}
		if got != tt.want || msg != tt.err {
			t.Errorf("StateFor of %q for %q, %q = %q, %q, want %q, %q", tt.name, tt.schema, tt.table, got, msg, tt.want, tt.err)
		}
	}
}

// TestStateOfAnotherColumn has tables of a glob whose states are called like other
// columns'.
func TestStateOfAnotherColumn(t *testing.T) {
	const want = `policy: the state "log_1.id" belongs to another column too: say name: in the source of one of them`
	for _, other := range []policy.Source{
		{Kind: "sequence", Name: "log_1.id", Block: 5}, {Kind: "sequence", Name: "log_1.id"},
	} {
		cfg := &policy.Config{Tables: map[string]policy.Table{
			"log_*":  {Column: "id", Source: "sequence"},
			"orders": {Column: "id", InPlace: &other},
		}}
		p, err := cfg.Compile(dialect.PostgreSQL())
		if err != nil {
			t.Fatal(err)
		}
		if k := p.Match("", "orders").Keys[0]; k.Shared {
			t.Errorf("the state of orders is shared by %v", k.Columns)
		}
		for table, want := range map[string]string{"log_1": want, "log_2": "<nil>", "orders": "<nil>"} {
			_, err := p.Match("", table).Keys[0].StateFor(nil)
			if plain(err) != want {
				t.Errorf("StateFor of %s fails with %v, want %s", table, err, want)
			}
		}
	}
}

func TestStateForAllocations(t *testing.T) {
	p := compile(t, dialect.PostgreSQL(), "", "orders")
	k := p.Match("", "orders").Keys[0]
	n := testing.AllocsPerRun(100, func() {
		if _, err := k.StateFor(nil); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("StateFor allocates %v times, want 0", n)
	}
}

func TestRulesAndSources(t *testing.T) {
	cfg, err := policy.Parse([]byte(`version: 1
default_schema: shop
sources:
  unused: {kind: snowflake, worker: 9}
  used: {kind: sequence, block: 7}
tables:
  zebras: {column: id, source: used}
  "log_*": {column: id, source: {kind: snowflake, worker_env: W}}
  shop.apes: {column: id, keys: [{column: no, source: sequence}, {column: other, source: used}]}
  cats: {column: id, source: identity}
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, r := range p.Rules() {
		rules = append(rules, fmt.Sprintf("%s|%s|%s", r.Table, r.Schema, r.Name))
		if p.Match(r.Schema, r.Name) != r {
			t.Errorf("Match(%q, %q) is not the rule", r.Schema, r.Name)
		}
	}
	if got, want := strings.Join(rules, " "), "zebras||zebras shop.apes|shop|apes cats||cats"; got != want {
		t.Errorf("Rules are %s, want %s", got, want)
	}
	var sources []string
	for _, s := range p.Sources() {
		sources = append(sources, fmt.Sprintf("%s %d %s", s.Kind, s.Block, s.OnBehind))
	}
	if got, want := strings.Join(sources, ", "), "sequence 7 error, snowflake 0 error, sequence 0 error"; got != want {
		t.Errorf("Sources are %s, want %s", got, want)
	}
	p.Sources()[0].Kind = "x"
	if p.Sources()[0].Kind != policy.KindSequence {
		t.Error("Sources is not the caller's")
	}
}

// TestCompileReadsNothing: whether a worker has a number, and a store a DSN, is
// seen when a database is opened.
func TestCompileReadsNothing(t *testing.T) {
	cfg := &policy.Config{
		Stores: map[string]policy.Store{"central": {Driver: "nosuch", DSNEnv: "KEYFILL_TEST_NO_DSN"}},
		Tables: map[string]policy.Table{
			"a": {Column: "id", InPlace: &policy.Source{Kind: "snowflake", WorkerEnv: "KEYFILL_TEST_NO_WORKER", Store: "central"}},
			"b": {Column: "id", InPlace: &policy.Source{Kind: "snowflake", WorkerOrdinal: true, Epoch: "2039-01-01", Unit: 100e6, TimeBits: 40}},
		},
	}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := policy.NewSource(p.Match("", "a").Keys[0].Source, keysource.Env{}); !errors.Is(err, keysource.ErrOptions) {
		t.Errorf("New without the variable fails with %v, want ErrOptions", err)
	}
}
