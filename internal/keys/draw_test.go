package keys_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// drawError is the error that the application gets for a key that could not be made.
type drawError struct {
	table, column string
	err           error
}

func (e *drawError) Error() string { return e.table + "." + e.column + ": " + e.err.Error() }
func (e *drawError) Unwrap() error { return e.err }

// tablesOf returns the tables of a policy on MySQL, without a database.
func tablesOf(t *testing.T, text string) *relation.Tables {
	t.Helper()
	cfg, err := policy.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	newError := func(table, column string, _ int, err error) error { return &drawError{table, column, err} }
	db, err := relation.NewTables(table.Options{Policy: cfg, NewError: newError}, drivers.Facts{}, []*dialect.Dialect{dialect.MySQL()})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// counting gives the integers from next on, and notes what it was asked for.
type counting struct {
	next   int64
	spares bool
	failed error
	asked  []int // how many keys each time
}

func (c *counting) take(n int64) (int64, error) {
	c.asked = append(c.asked, int(n))
	first := c.next
	c.next += n
	return first, c.failed
}

func (c *counting) Give(_ context.Context, room []driver.Value, _ *table.Table, _, n int) ([]driver.Value, error) {
	first, err := c.take(int64(n))
	return boxing.AppendIntegers(room, first, n, ""), err
}

func (c *counting) Reserve(_ context.Context, _ *table.Table, _ int, n int64) (int64, error) {
	return c.take(n)
}

func (c *counting) GiveWithin(_ context.Context, _ *table.Table, _, n int, _ keys.Parents) ([]driver.Value, error) {
	first, err := c.take(int64(n))
	return boxing.Integers(first, n, ""), err
}

func (c *counting) Spares() bool { return c.spares }

const numbered = `
version: 1
tables:
  orders: {keys: [{column: id, source: {kind: sequence}, last_insert_id: result}]}
  follows: {keys: [{column: id, source: {kind: sequence, follow_explicit: true}}]}
`

// TestDraw: how many keys are asked for, and which of them a statement gets.
func TestDraw(t *testing.T) {
	db := tablesOf(t, numbered)
	for _, tt := range []struct {
		name, query string
		args        []any
		from        counting
		asked       []int
		want        []driver.Value
	}{
		{name: "one row", query: "INSERT INTO orders (a) VALUES (?)", args: []any{"x"}, from: counting{next: 7}, asked: []int{1}, want: []driver.Value{int64(7)}},
		{name: "rows", query: "INSERT INTO orders (a) VALUES (?), (?), (?)", args: []any{1, 2, 3}, from: counting{next: 7}, asked: []int{3},
			want: []driver.Value{int64(7), int64(8), int64(9)}},
		{name: "only the rows without a key", query: "INSERT INTO orders (id, a) VALUES (NULL, ?), (5, ?)", args: []any{1, 2}, from: counting{next: 7}, asked: []int{1},
			want: []driver.Value{int64(7)}},
		{name: "spare keys are the statement's and no row's", query: "INSERT IGNORE INTO orders (a) VALUES (?), (?)", args: []any{1, 2},
			from: counting{next: 7, spares: true}, asked: []int{3}, want: []driver.Value{int64(7), int64(8)}},
		{name: "no spare keys for an explanation", query: "INSERT IGNORE INTO orders (a) VALUES (?), (?)", args: []any{1, 2},
			from: counting{next: 7}, asked: []int{2}, want: []driver.Value{int64(7), int64(8)}},
		{name: "a key that the statement brings is not given to another row", query: "INSERT INTO follows (id, a) VALUES (NULL, ?), (7, ?)", args: []any{1, 2},
			from: counting{next: 7}, asked: []int{1, 1}, want: []driver.Value{int64(8)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, h, args := planned(t, db, tt.query, tt.args)
			drawn, err := keys.Draw(context.Background(), p, args, h, nil, nil, &tt.from, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(drawn) != 1 || !slices.Equal(drawn[0], tt.want) {
				t.Errorf("drew %v, want %v", drawn, tt.want)
			}
			if !slices.Equal(tt.from.asked, tt.asked) {
				t.Errorf("asked for %v keys, want %v", tt.from.asked, tt.asked)
			}
		})
	}
}

// planned returns the plan of a query and what its arguments leave open.
func planned(t *testing.T, db *relation.Tables, query string, values []any) (*plans.Plan, bind.Holes, []driver.NamedValue) {
	t.Helper()
	var args []driver.NamedValue
	for i, v := range values {
		args = append(args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	p := db.AnyEngine().Plan(query)
	if p.Action != plans.Fill {
		t.Fatalf("the plan of %s is %v, want to fill it", query, p.Action)
	}
	h, err := bind.FindHoles(p, args)
	if err != nil {
		t.Fatal(err)
	}
	return p, h, args
}

// TestDrawnAlready: keys that an execution has are not drawn again: a second number for
// one row would be a gap, and another row's number a duplicate.
func TestDrawnAlready(t *testing.T) {
	p, h, args := planned(t, tablesOf(t, numbered), "INSERT INTO orders (a) VALUES (?)", []any{1})
	has := [][]driver.Value{{int64(3)}}
	from := counting{next: 7}
	drawn, err := keys.Draw(context.Background(), p, args, h, nil, has, &from, nil)
	if err != nil || len(drawn) != 1 || !slices.Equal(drawn[0], has[0]) || from.asked != nil {
		t.Errorf("drew %v, %v and asked for %v keys, want %v and none", drawn, err, from.asked, has)
	}
}

// TestDrawQueried: an INSERT … SELECT takes one block of as many numbers as its query
// has rows, and none before these are counted.
func TestDrawQueried(t *testing.T) {
	p := tablesOf(t, numbered).AnyEngine().Plan("INSERT INTO orders (a) SELECT a FROM others")
	if p.Action != plans.Fill {
		t.Fatalf("the plan is %v, want to fill it", p.Action)
	}
	h, err := bind.FindHoles(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rows  map[int]int64
		asked []int
		want  []driver.Value
	}{
		{nil, nil, nil},
		{map[int]int64{0: 0}, nil, []driver.Value{int64(0), int64(0)}},
		{map[int]int64{0: 5}, []int{5}, []driver.Value{int64(5), int64(6)}},
	} {
		from := counting{next: 7}
		drawn, err := keys.Draw(context.Background(), p, nil, h, tt.rows, nil, &from, nil)
		if err != nil || len(drawn) != 1 || !slices.Equal(drawn[0], tt.want) || !slices.Equal(from.asked, tt.asked) {
			t.Errorf("%v rows: drew %v, %v and asked for %v keys, want %v and %v", tt.rows, drawn, err, from.asked, tt.want, tt.asked)
		}
	}
}

// TestDrawFails: the error of a key names its table and column.
func TestDrawFails(t *testing.T) {
	p, h, args := planned(t, tablesOf(t, numbered), "INSERT INTO orders (a) VALUES (?)", []any{1})
	_, err := keys.Draw(context.Background(), p, args, h, nil, nil, &counting{failed: keysource.ErrStoreDown}, nil)
	var e *drawError
	if !errors.As(err, &e) || e.table != "orders" || e.column != "id" || !errors.Is(err, keysource.ErrStoreDown) {
		t.Errorf("%v, want ErrStoreDown of orders.id", err)
	}
}
