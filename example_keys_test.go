package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// A program learns the keys that were filled under a context.
func ExampleRecord() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx, recorder := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ($1)", "a"); err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range recorder.Keys("orders") {
		fmt.Println(key.Column, key.Row, key.Key, key.Outcome)
	}
	// Output:
	// INSERT INTO orders (note, "id") VALUES ($1, $2)
	//    a
	//    019b76da-a800-7000-8000-000000000001
	// id 0 019b76da-a800-7000-8000-000000000001 stored
}

func ExampleMount_KeyColumn() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	mount, err := keyfill.From(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mount.KeyColumn("orders"))
	mount.SetMode(policy.ModeDryRun)
	fmt.Println(mount.KeyColumn("orders"))
	fmt.Println(mount.KeyColumn("another"))
	// Output:
	// id true
	// id false
	//  false
}

func ExampleRecorder_All() {
	db, err := keyfill.OpenDB(printer{}, options(integers))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx, recorder := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES (?), (?)", "a", "b"); err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range recorder.All() {
		fmt.Println(key.Table, key.Row, key.Key)
	}
	// Output:
	// INSERT INTO orders (note, "id") VALUES (?, ?), (?, ?)
	//    a
	//    1
	//    b
	//    2
	// orders 0 1
	// orders 1 2
}

// Last gives a UUID as any type of 16 bytes, or as text.
func ExampleLast() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx, recorder := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('a')"); err != nil {
		fmt.Println(err)
		return
	}
	id, ok := keyfill.Last[uuid.UUID](recorder, "orders")
	fmt.Println(id, ok)
	_, ok = keyfill.Last[int64](recorder, "orders")
	fmt.Println("an integer:", ok)
	// Output:
	// INSERT INTO orders (note, "id") VALUES ('a', '019b76da-a800-7000-8000-000000000001')
	// 019b76da-a800-7000-8000-000000000001 true
	// an integer: false
}

// Parents and children are stored in one batch when their keys are there first.
func ExampleMount_Keys() {
	c, err := keyfill.WrapConnector(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	keys, err := c.Mount().Keys(context.Background(), "orders", 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range keys {
		fmt.Println(key)
	}
	// Output:
	// 019b76da-a800-7000-8000-000000000001
	// 019b76da-a800-7001-8000-000000000002
}

func ExampleMount_Reserve() {
	c, err := keyfill.WrapConnector(printer{}, options(integers))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for range 2 {
		first, err := c.Mount().Reserve(context.Background(), "orders", 10)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(first, "to", first+9)
	}
	// Output:
	// 1 to 10
	// 11 to 20
}

// A mode lets a program decide and report without filling, or do neither.
func ExampleMount_SetMode() {
	c, err := keyfill.WrapConnector(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(c)
	defer db.Close()
	c.Mount().SetMode(policy.ModeOff)
	if _, err := db.Exec("INSERT INTO orders (note) VALUES ($1)", "a"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// INSERT INTO orders (note) VALUES ($1)
	//    a
}

func ExampleMount_Stats() {
	c, err := keyfill.WrapConnector(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(c)
	defer db.Close()
	for _, query := range []string{
		"INSERT INTO orders (note) VALUES ('a')",
		"INSERT INTO orders SELECT 'b', 'c'", // refused: it names no columns
		"INSERT INTO notes (note) VALUES ('d')",
	} {
		if _, err := db.Exec(query); err != nil {
			fmt.Println("refused")
		}
	}
	stats := c.Mount().Stats()
	fmt.Println("passed", stats.Passed)
	orders := stats.Tables["orders"]
	fmt.Println("filled", orders.Filled, "refused", orders.Refused)
	// Output:
	// INSERT INTO orders (note, "id") VALUES ('a', '019b76da-a800-7000-8000-000000000001')
	// refused
	// INSERT INTO notes (note) VALUES ('d')
	// passed 1
	// filled 1 refused map[no_column_list:1]
}

// Each tenant has a numbering of its own.
func ExampleWithValue() {
	db, err := keyfill.OpenDB(printer{}, options(`
version: 1
dialect: sqlite
tables:
  orders: {column: number, source: {kind: sequence, name: "orders of {value:tenant}"}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for _, tenant := range []string{"a", "b", "a"} {
		ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
		if _, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('x')"); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// INSERT INTO orders (note, "number") VALUES ('x', 1)
	// INSERT INTO orders (note, "number") VALUES ('x', 1)
	// INSERT INTO orders (note, "number") VALUES ('x', 2)
}

// A program asks what keyfill does with its INSERTs, and why.
func ExampleWithTrace() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx := keyfill.WithTrace(context.Background(), func(e keyfill.Event) {
		fmt.Printf("-> %q %s %d %q %q %q\n", e.Entry, e.Action, e.Keys, e.Kind, e.Way, e.Reason)
	})
	for _, query := range []string{
		"INSERT INTO orders (note) VALUES ('a')",
		"INSERT INTO orders VALUES ('a')",
		"INSERT INTO ordres (note) VALUES ('a')",
	} {
		if _, err := db.ExecContext(ctx, query); err != nil {
			fmt.Println("an error")
		}
	}
	// Output:
	// INSERT INTO orders (note, "id") VALUES ('a', '019b76da-a800-7000-8000-000000000001')
	// -> "orders" fill 1 "uuidv7" "direct" ""
	// -> "orders" refuse 0 "" "" "no_column_list"
	// an error
	// INSERT INTO ordres (note) VALUES ('a')
	// -> "" pass 0 "" "as it came" ""
}

// returning stands for a driver whose INSERTs give rows.
type returning struct{ printer }

func (returning) Connect(context.Context) (driver.Conn, error) { return returning{}, nil }
func (returning) Columns() []string                            { return []string{"id"} }
func (returning) Next([]driver.Value) error                    { return io.EOF }

func (returning) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	fmt.Println(query)
	return returning{}, nil
}

// A span that ends before the rows of RETURNING are read gets what is known by then.
func ExampleWithTraceOfRows() {
	db, err := keyfill.OpenDB(returning{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx := keyfill.WithTraceOfRows(context.Background(), func(e keyfill.Event) {
		fmt.Println("->", e.Entry, e.Keys, e.Outcome)
	})
	rows, err := db.QueryContext(ctx, "INSERT INTO orders (note) VALUES ('a') RETURNING id")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Close()
	fmt.Println("now the rows are read:", rows.Next(), rows.Err())
	// Output:
	// INSERT INTO orders (note, "id") VALUES ('a', '019b76da-a800-7000-8000-000000000001') RETURNING id
	// -> orders 1 unknown
	// now the rows are read: false <nil>
}
