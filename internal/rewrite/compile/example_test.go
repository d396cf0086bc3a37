package compile_test

import (
	"database/sql/driver"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// orders is a policy of one table, whose key is the column id.
func orders(_, table string) *plans.Target {
	if table != "orders" {
		return nil
	}
	return &plans.Target{Table: "orders", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing}}}
}

func Example_compile() {
	plan := compile.Query(dialect.PostgreSQL(), orders, "INSERT INTO orders (note) VALUES ($1), ($2)")
	fmt.Println(plan.Action)

	args := []driver.NamedValue{{Ordinal: 1, Value: "a"}, {Ordinal: 2, Value: "b"}}
	holes, err := bind.FindHoles(plan, args) // how many keys this execution takes
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(holes.Counts, "keys")
	for _, arg := range bind.Arguments(plan, args, holes, [][]driver.Value{{"key1", "key2"}}, false) {
		fmt.Println(arg.Ordinal, arg.Value)
	}
	fmt.Println(bind.Text(plan, false))
	// Output:
	// fill
	// [2] keys
	// 1 a
	// 2 b
	// 3 key1
	// 4 key2
	// INSERT INTO orders (note, "id") VALUES ($1, $3), ($2, $4)
}

// A text without placeholders gets its keys as literals.
func Example_inline() {
	plan := compile.Query(dialect.MySQL(), orders, "INSERT INTO orders SET note = 'a'")
	holes, err := bind.FindHoles(plan, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	query, _ := bind.Inline(plan, nil, holes, [][]driver.Value{{"key1"}}, false)
	fmt.Println(query)
	// Output: INSERT INTO orders SET note = 'a', `id` = 'key1'
}

func Example_refusal() {
	plan := compile.Query(dialect.MySQL(), orders, "INSERT INTO orders VALUES ('a')")
	fmt.Println(plan.Action, plan.Refusal.Reason, plan.Refusal.Offset)
	// Output: refuse the INSERT has no column list: name the columns in it, or list all of the table's under columns: in the policy 26
}

// Under the settings of a session a text may become something else.
func ExampleReadings() {
	plan := compile.Readings(dialect.MySQL(), orders, `INSERT INTO "orders" (note) VALUES (?)`)
	fmt.Println(plan.Ambiguous())
	// Output: true
}

// A name may be taken by a temporary table of the connection.
func ExampleQueryWithTemporary() {
	temporary := func(plans.TableName) plans.Standing { return plans.IsTemporary }
	plan := compile.QueryWithTemporary(dialect.MySQL(), orders, "INSERT INTO orders (note) VALUES ('a')", temporary)
	fmt.Println(plan.Action)
	// Output: pass
}

func Example_newCache() {
	cache := plans.NewCache(1000, 1<<20)
	query := "INSERT INTO orders (note) VALUES ($1)"
	cache.Put(query, compile.Query(dialect.PostgreSQL(), orders, query))
	plan, found := cache.Get(query)
	fmt.Println(plan.Action, found)
	// Output: fill true
}

func Example_temporary() {
	fmt.Println(effects.Temporary(dialect.MySQL(), "CREATE TEMPORARY TABLE Orders (id INT)"))
	// Output: [orders]
}

func Example_made() {
	fmt.Println(effects.Made(dialect.MySQL(), "CREATE TABLE orders (id INT)"))
	// Output: [orders]
}

// PostgreSQL folds names to lower case.
func Example_temporaryOfAny() {
	fmt.Println(effects.TemporaryOfAny(dialect.PostgreSQL(), "CREATE TEMP TABLE Orders (id INT)"))
	// Output: [orders]
}

func Example_soleTable() {
	for _, query := range []string{
		"INSERT INTO orders (name) VALUES (?)",
		"INSERT INTO sales.orders (name) VALUES (?)",
	} {
		fmt.Println(words.SoleTable(dialect.MySQL(), query))
	}
	// Output:
	// orders true
	//  false
}

// The sequence of a serial column.
func Example_drawnFrom() {
	fmt.Println(effects.DrawnFrom(dialect.PostgreSQL(), "nextval('app.orders_id_seq'::regclass)"))
	// Output: [app orders_id_seq]
}
