package policy_test

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

func ExampleParse() {
	cfg, err := policy.Parse([]byte(`
version: 1
tables:
  orders:  {column: id}
  "log_*": {column: id, source: ulid}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := cfg.Compile(dialect.PostgreSQL())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, table := range []string{"orders", "log_2024"} {
		key := p.Match("", table).Keys[0]
		fmt.Println(table, key.Column, key.Source.Kind, key.Layout, key.State)
	}
	fmt.Println("customers:", p.Match("", "customers"))
	// Output:
	// orders id uuidv7 string orders.id
	// log_2024 id ulid string log_2024.id
	// customers: <nil>
}

func ExampleConfig() {
	cfg := &policy.Config{
		Mode: policy.ModeDryRun,
		Tables: map[string]policy.Table{
			"orders":  {Column: "id"},
			"devices": {Column: "id", InPlace: &policy.Source{Kind: "comb"}, Layout: dialect.SequentialAsBinary},
		},
	}
	p, err := cfg.Compile(dialect.MySQL())
	if err != nil {
		fmt.Println(err)
		return
	}
	rule := p.Match("", "devices")
	fmt.Println(rule.Mode, rule.Unsupported, rule.Keys[0].Source.Kind, rule.Keys[0].Fill)
	// Output:
	// dry_run refuse comb missing, null, default, zero
}

func ExampleError() {
	_, err := policy.Parse([]byte("version: 1\ntables:\n  orders: {colum: id}\n"))
	fmt.Println(err)
	// Output:
	// policy: line 3, column 12: table "orders": unknown field "colum"; did you mean "column"? [docs/errors.md#policy]
}

// The rule of a table says which columns get keys, and how they are sent.
func ExamplePolicy() {
	c, err := policy.Parse([]byte("version: 1\ntables: {\"order*\": {column: id}}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := c.Compile(dialect.PostgreSQL())
	if err != nil {
		fmt.Println(err)
		return
	}
	rule := p.Match("", "orders")
	fmt.Println(rule.Table, rule.Keys[0].Column, rule.Keys[0].Source.Kind, rule.Keys[0].Layout)
	fmt.Println(p.Match("", "customers") == nil)
	// Output:
	// orders id uuidv7 string
	// true
}

// A source without a state makes keys without a database.
func ExampleNewSource() {
	source, err := policy.NewSource(policy.Source{Kind: policy.KindULID}, keysource.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	keys, err := source.Next(context.Background(), keysource.Request{N: 2, Layout: dialect.SequentialAsString})
	fmt.Println(len(keys), err)
	// Output: 2 <nil>
}

// Integers are drawn from a state that a database keeps; UUIDs need none.
func ExampleStateful() {
	for _, kind := range []string{policy.KindSequence, policy.KindUUIDv7} {
		fmt.Println(kind, policy.Stateful(policy.Source{Kind: kind}))
	}
	// Output:
	// sequence true
	// uuidv7 false
}

// A store names its DSN by an environment variable, which must be set.
func ExampleStore() {
	s := policy.Store{Driver: "mysql", DSNEnv: "STATES_DSN"}
	_, err := s.Resolve()
	fmt.Println(err != nil)
	// Output: true
}
