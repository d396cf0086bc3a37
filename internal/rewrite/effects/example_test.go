package effects_test

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

func ExampleTransactionOf() {
	d := dialect.PostgreSQL()
	fmt.Println(effects.TransactionOf(d, "BEGIN"))
	fmt.Println(effects.TransactionOf(d, "COMMIT"))
	fmt.Println(effects.TransactionOf(d, "SELECT 1"))
	fmt.Println(effects.TransactionOf(dialect.MySQL(), "CALL p()"))
	// Output:
	// begins
	// ends
	// unchanged
	// unknown
}

func ExampleMakesNames() {
	fmt.Println(effects.MakesNames(dialect.PostgreSQL(), "ALTER TABLE orders RENAME TO old"))
	fmt.Println(effects.MakesNames(dialect.PostgreSQL(), "UPDATE orders SET note = 'alter'"))
	// Output:
	// true
	// false
}

func ExampleSetsSearchPath() {
	names, local, ok := effects.SetsSearchPath(dialect.PostgreSQL(), "SET LOCAL search_path = shop, public")
	fmt.Println(names, local, ok)
	// Output: [shop public] true true
}

func ExampleLeavesPlace() {
	fmt.Println(effects.LeavesPlace(dialect.MySQL(), "USE shop"))
	fmt.Println(effects.LeavesPlace(dialect.MySQL(), "UPDATE orders SET note = 'a'"))
	// Output:
	// false
	// true
}

func ExampleMovesPlace() {
	fmt.Println(effects.MovesPlace(dialect.MySQL(), "USE shop", false))
	// Output: true
}

// A text that may have changed a table makes keyfill ask for its columns again.
func ExampleLeavesTables() {
	d := dialect.MySQL()
	fmt.Println(effects.LeavesTables(d, "UPDATE orders SET note = 'a'"))
	fmt.Println(effects.LeavesTables(d, "ALTER TABLE orders ADD n INT"))
	// Output:
	// true
	// false
}

func ExampleTransactionOfAny() {
	fmt.Println(effects.TransactionOfAny(dialect.MySQL(), "START TRANSACTION"))
	// Output: begins
}

func ExampleRenames() {
	fmt.Println(effects.Renames(dialect.PostgreSQL(), "ALTER TABLE orders_new RENAME TO orders"))
	fmt.Println(effects.Renames(dialect.PostgreSQL(), "INSERT INTO log (what) VALUES ('rename')"))
	// Output:
	// true
	// false
}

// Statements that differ only in their values have one shape.
func ExampleShape() {
	d := dialect.MySQL()
	fmt.Println(effects.Shape(d, "INSERT INTO orders (note) VALUES ('a secret')"))
	fmt.Println(effects.Shape(d, "insert into orders (note) values (?), (?)"))
	fmt.Println(effects.Shape(d, "INSERT INTO orders (total) VALUES (7)"))
	// Output:
	// b420e97faafc6e55
	// b420e97faafc6e55
	// 168c5b372f515b3d
}

// The first semicolon of a trigger does not end it.
func ExampleEndsInBody() {
	trigger := "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM u; END;"
	fmt.Println(effects.EndsInBody(dialect.SQLite(), trigger[:len(trigger)-len(" END;")]))
	fmt.Println(effects.EndsInBody(dialect.SQLite(), trigger))
	// Output:
	// true
	// false
}

// What a text asks the session for, statement by statement.
func ExampleSessionSteps() {
	d := dialect.PostgreSQL()
	for _, s := range effects.SessionSteps(d, "INSERT INTO parent (a) VALUES ('x'); SELECT currval('parent_id_seq')") {
		for _, r := range s.Reads {
			fmt.Println(r.Text, r.Of)
		}
	}
	// Output: currval() [parent_id_seq]
}

// A statement keeps the last number of the session if it draws none.
func ExampleSessionStep() {
	d := dialect.PostgreSQL()
	for _, s := range effects.SessionSteps(d, "SELECT 1; SELECT nextval('s')") {
		fmt.Println(s.Keeps)
	}
	// Output:
	// true
	// false
}

// An INSERT that reads no number ends what was known of the last one.
func ExampleEndsSession() {
	d := dialect.PostgreSQL()
	fmt.Println(effects.EndsSession(d, "INSERT INTO t (a) VALUES (1)"))
	fmt.Println(effects.EndsSession(d, "INSERT INTO t (a) VALUES (lastval())"))
	// Output:
	// true
	// false
}

// Words in strings and comments are no reads.
func ExampleMayReadSession() {
	d := dialect.PostgreSQL()
	fmt.Println(effects.MayReadSession(d, "SELECT lastval()"))
	fmt.Println(effects.MayReadSession(d, "SELECT 'lastval()'"))
	// Output:
	// true
	// false
}

// A default may draw a number where it calls a function of the application.
func ExampleDrawsNothing() {
	d := dialect.PostgreSQL()
	fmt.Println(effects.DrawsNothing(d, "now()"), effects.DrawsNothing(d, "f()"))
	// Output: true false
}

// Names that are not quoted compare in lower case.
func ExampleNameOf() {
	fmt.Println(effects.NameOf(dialect.PostgreSQL(), `App."Orders"`))
	// Output: [app Orders]
}
