package rewrite_test

import (
	"database/sql/driver"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// orders is a policy of one table, whose key is the column id.
func orders(_, table string) *rewrite.Target {
	if table != "orders" {
		return nil
	}
	return &rewrite.Target{Table: "orders", Keys: []rewrite.Key{{Column: "id", Fill: rewrite.FillMissing}}}
}

func ExampleCompile() {
	plan := rewrite.Compile(dialect.PostgreSQL(), orders, "INSERT INTO orders (note) VALUES ($1), ($2)")
	fmt.Println(plan.Action)

	args := []driver.NamedValue{{Ordinal: 1, Value: "a"}, {Ordinal: 2, Value: "b"}}
	holes, err := plan.Holes(args) // how many keys this execution takes
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(holes.Counts, "keys")
	for _, arg := range plan.Bind(args, holes, [][]driver.Value{{"key1", "key2"}}, false) {
		fmt.Println(arg.Ordinal, arg.Value)
	}
	fmt.Println(plan.BoundText(false))
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
func ExamplePlan_Inline() {
	plan := rewrite.Compile(dialect.MySQL(), orders, "INSERT INTO orders SET note = 'a'")
	holes, err := plan.Holes(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	query, _ := plan.Inline(nil, holes, [][]driver.Value{{"key1"}}, false)
	fmt.Println(query)
	// Output: INSERT INTO orders SET note = 'a', `id` = 'key1'
}

func ExampleRefusal() {
	plan := rewrite.Compile(dialect.MySQL(), orders, "INSERT INTO orders VALUES ('a')")
	fmt.Println(plan.Action, plan.Refusal.Reason, plan.Refusal.Offset)
	// Output: refuse the INSERT has no column list: name the columns in it, or list all of the table's under columns: in the policy 26
}

// A text without the words that would make it our business needs no plan.
func ExampleConcerns() {
	d := dialect.PostgreSQL()
	fmt.Println(rewrite.Concerns(d, "SELECT * FROM orders") == 0)
	fmt.Println(rewrite.Concerns(d, "INSERT INTO orders (note) VALUES ('a')")&rewrite.ConcernsInsert != 0)
	// Output:
	// true
	// true
}

// Under the settings of a session a text may become something else.
func ExampleReadings() {
	plan := rewrite.Readings(dialect.MySQL(), orders, `INSERT INTO "orders" (note) VALUES (?)`)
	fmt.Println(plan.Ambiguous())
	// Output: true
}

// A name may be taken by a temporary table of the connection.
func ExampleCompileBeside() {
	temporary := func(rewrite.TableName) rewrite.Standing { return rewrite.IsTemporary }
	plan := rewrite.CompileBeside(dialect.MySQL(), orders, "INSERT INTO orders (note) VALUES ('a')", temporary)
	fmt.Println(plan.Action)
	// Output: pass
}

func ExampleNewCache() {
	cache := rewrite.NewCache(1000, 1<<20)
	query := "INSERT INTO orders (note) VALUES ($1)"
	cache.Put(query, rewrite.Compile(dialect.PostgreSQL(), orders, query))
	plan, found := cache.Get(query)
	fmt.Println(plan.Action, found)
	// Output: fill true
}

func ExampleTransactionOf() {
	d := dialect.PostgreSQL()
	fmt.Println(rewrite.TransactionOf(d, "BEGIN"))
	fmt.Println(rewrite.TransactionOf(d, "COMMIT"))
	fmt.Println(rewrite.TransactionOf(d, "SELECT 1"))
	fmt.Println(rewrite.TransactionOf(dialect.MySQL(), "CALL p()"))
	// Output:
	// begins
	// ends
	// unchanged
	// unknown
}

func ExampleTemporary() {
	fmt.Println(rewrite.Temporary(dialect.MySQL(), "CREATE TEMPORARY TABLE Orders (id INT)"))
	// Output: [orders]
}

func ExampleMade() {
	fmt.Println(rewrite.Made(dialect.MySQL(), "CREATE TABLE orders (id INT)"))
	// Output: [orders]
}

func ExampleMakesNames() {
	fmt.Println(rewrite.MakesNames(dialect.PostgreSQL(), "ALTER TABLE orders RENAME TO old"))
	fmt.Println(rewrite.MakesNames(dialect.PostgreSQL(), "UPDATE orders SET note = 'alter'"))
	// Output:
	// true
	// false
}

// All questions about a text are answered at once.
func ExampleLeft() {
	left := rewrite.Leaves(dialect.PostgreSQL(), "INSERT INTO orders (name) VALUES (unheard_of($1))")
	fmt.Println(left&rewrite.CatalogLeft != 0, left&rewrite.PlaceLeft != 0)
	// Output: true false
}

func ExampleSetsSearchPath() {
	names, local, ok := rewrite.SetsSearchPath(dialect.PostgreSQL(), "SET LOCAL search_path = shop, public")
	fmt.Println(names, local, ok)
	// Output: [shop public] true true
}

func ExampleLeavesPlace() {
	fmt.Println(rewrite.LeavesPlace(dialect.MySQL(), "USE shop"))
	fmt.Println(rewrite.LeavesPlace(dialect.MySQL(), "UPDATE orders SET note = 'a'"))
	// Output:
	// false
	// true
}

func ExampleMovesPlace() {
	fmt.Println(rewrite.MovesPlace(dialect.MySQL(), "USE shop", false))
	// Output: true
}

// A text that may have changed a table makes keyfill ask for its columns again.
func ExampleLeavesTables() {
	d := dialect.MySQL()
	fmt.Println(rewrite.LeavesTables(d, "UPDATE orders SET note = 'a'"))
	fmt.Println(rewrite.LeavesTables(d, "ALTER TABLE orders ADD n INT"))
	// Output:
	// true
	// false
}

// PostgreSQL folds names to lower case.
func ExampleTemporaryOfAny() {
	fmt.Println(rewrite.TemporaryOfAny(dialect.PostgreSQL(), "CREATE TEMP TABLE Orders (id INT)"))
	// Output: [orders]
}

func ExampleTransactionOfAny() {
	fmt.Println(rewrite.TransactionOfAny(dialect.MySQL(), "START TRANSACTION"))
	// Output: begins
}

func ExampleSoleTable() {
	for _, query := range []string{
		"INSERT INTO orders (name) VALUES (?)",
		"INSERT INTO sales.orders (name) VALUES (?)",
	} {
		fmt.Println(rewrite.SoleTable(dialect.MySQL(), query))
	}
	// Output:
	// orders true
	//  false
}

func ExampleRenames() {
	fmt.Println(rewrite.Renames(dialect.PostgreSQL(), "ALTER TABLE orders_new RENAME TO orders"))
	fmt.Println(rewrite.Renames(dialect.PostgreSQL(), "INSERT INTO log (what) VALUES ('rename')"))
	// Output:
	// true
	// false
}

// Statements that differ only in their values have one shape.
func ExampleShape() {
	d := dialect.MySQL()
	fmt.Println(rewrite.Shape(d, "INSERT INTO orders (note) VALUES ('a secret')"))
	fmt.Println(rewrite.Shape(d, "insert into orders (note) values (?), (?)"))
	fmt.Println(rewrite.Shape(d, "INSERT INTO orders (total) VALUES (7)"))
	// Output:
	// b420e97faafc6e55
	// b420e97faafc6e55
	// 168c5b372f515b3d
}

// The words of a text, without its strings and comments.
func ExampleNextToken() {
	d, text := dialect.PostgreSQL(), "SELECT 'a word' FROM t -- no word"
	for at := 0; at < len(text); {
		kind, end := rewrite.NextToken(d, text, at)
		if kind == rewrite.TokenWord {
			fmt.Println(text[at:end])
		}
		at = end
	}
	// Output:
	// SELECT
	// FROM
	// t
}

// The first semicolon of a trigger does not end it.
func ExampleEndsInBody() {
	trigger := "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM u; END;"
	fmt.Println(rewrite.EndsInBody(dialect.SQLite(), trigger[:len(trigger)-len(" END;")]))
	fmt.Println(rewrite.EndsInBody(dialect.SQLite(), trigger))
	// Output:
	// true
	// false
}

// What a text asks the session for, statement by statement.
func ExampleSessionSteps() {
	d := dialect.PostgreSQL()
	for _, s := range rewrite.SessionSteps(d, "INSERT INTO parent (a) VALUES ('x'); SELECT currval('parent_id_seq')") {
		for _, r := range s.Reads {
			fmt.Println(r.Text, r.Of)
		}
	}
	// Output: currval() [parent_id_seq]
}

// A statement keeps the last number of the session if it draws none.
func ExampleSessionStep() {
	d := dialect.PostgreSQL()
	for _, s := range rewrite.SessionSteps(d, "SELECT 1; SELECT nextval('s')") {
		fmt.Println(s.Keeps)
	}
	// Output:
	// true
	// false
}

// An INSERT that reads no number ends what was known of the last one.
func ExampleEndsSession() {
	d := dialect.PostgreSQL()
	fmt.Println(rewrite.EndsSession(d, "INSERT INTO t (a) VALUES (1)"))
	fmt.Println(rewrite.EndsSession(d, "INSERT INTO t (a) VALUES (lastval())"))
	// Output:
	// true
	// false
}

// Words in strings and comments are no reads.
func ExampleMayReadSession() {
	d := dialect.PostgreSQL()
	fmt.Println(rewrite.MayReadSession(d, "SELECT lastval()"))
	fmt.Println(rewrite.MayReadSession(d, "SELECT 'lastval()'"))
	// Output:
	// true
	// false
}

// The sequence of a serial column.
func ExampleDrawnFrom() {
	fmt.Println(rewrite.DrawnFrom(dialect.PostgreSQL(), "nextval('app.orders_id_seq'::regclass)"))
	// Output: [app orders_id_seq]
}

// A default may draw a number where it calls a function of the application.
func ExampleDrawsNothing() {
	d := dialect.PostgreSQL()
	fmt.Println(rewrite.DrawsNothing(d, "now()"), rewrite.DrawsNothing(d, "f()"))
	// Output: true false
}

// Names that are not quoted compare in lower case.
func ExampleNameOf() {
	fmt.Println(rewrite.NameOf(dialect.PostgreSQL(), `App."Orders"`))
	// Output: [app Orders]
}
