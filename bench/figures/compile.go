package figures

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // registers the types of values that the parser needs

	"github.com/keyfill/keyfill/bench/nulldriver"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/stats"
)

// compiled are INSERTs of one row.
var compiled = []struct{ name, text string }{
	{"4 placeholders", ordersText},
	{"4 literals", "INSERT INTO orders (customer, name, street, amount) VALUES (1, 'a name', 'a street and a town', 123.45)"},
	{"20 placeholders", rowsOf("orders", numberedColumns(20), strings.TrimSuffix(strings.Repeat("?, ", 20), ", "), 1)},
	{"a text of 2,000 bytes", "INSERT INTO orders (customer, note) VALUES (1, '" + strings.Repeat("lorem ipsum ", 167) + "')"},
}

func numberedColumns(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("column%d", i))
	}
	return strings.Join(names, ", ")
}

// tidb is the name of the rival (the program compared with) in figures about MySQL: a
// parser of its whole grammar.
const tidb = "TiDB's parser"

// ordersLookup finds the key of orders and nothing else.
func ordersLookup(d *dialect.Dialect) plans.Lookup {
	target := &plans.Target{
		Table: "orders",
		Keys: []plans.Key{{
			Column: d.Fold("id", false),
			Fill:   plans.FillMissing | plans.FillNull | plans.FillDefault,
		}},
	}
	return func(_, table string) *plans.Target {
		if table == "orders" {
			return target
		}
		return nil
	}
}

// compiling returns two functions: one compiles a text n times, the other parses it n times
// with TiDB's parser.
func compiling(text string) (compiled, parse func(n int) error) {
	d, p := dialect.MySQL(), parser.New()
	lookup := ordersLookup(d)
	compiled = func(n int) error {
		for range n {
			if plan := compile.Query(d, lookup, text); plan.Action != plans.Fill {
				return fmt.Errorf("figures: a statement is not filled: %v", plan.Action)
			}
		}
		return nil
	}
	parse = func(n int) error {
		for range n {
			if _, _, err := p.ParseSQL(text); err != nil {
				return err
			}
		}
		return nil
	}
	return compiled, parse
}

// readText is an INSERT of 200 bytes.
const readText = "INSERT INTO orders (customer, product, quantity, price, currency, note, created) " +
	"VALUES (1042, 77, 3, 19.90, 'EUR', 'leave it at the door and ring the bell twice please', '2026-11-29 10:00:00', now())"

// reading returns a function that handles a new text n times: it is compiled, and sent
// within a transaction, on a connection that need not ask anything about its session.
func reading(d *dialect.Dialect) (func(n int) error, error) {
	raw, err := new(nulldriver.Driver).Connect(context.Background())
	if err != nil {
		return nil, err
	}
	lookup := ordersLookup(d)
	conn := session.New(raw, session.NewServer(drivers.Facts{}, []*dialect.Dialect{d}))
	conn.Tx = session.Inside
	conn.Place.Asked, conn.Settings.Asked = true, true
	conn.Columns.Keep("orders", []string{"id", "customer"})
	return func(n int) error {
		for range n {
			if words.Concerns(d, readText) != words.ConcernsInsert {
				return errors.New("figures: a statement does not concern an INSERT alone")
			}
			if plan := compile.Query(d, lookup, readText); plan.Action != plans.Fill {
				return fmt.Errorf("figures: a statement is not filled: %v", plan.Action)
			}
			if _, err := conn.ExecContext(context.Background(), readText, nil); err != nil {
				return err
			}
		}
		if !conn.Place.Asked || !conn.Settings.Asked || conn.Altered.On || conn.Columns.Of("orders") == nil {
			return errors.New("figures: the session does not know any more what it knew")
		}
		return nil
	}, nil
}

// readFigures returns the times in which texts are read and compiled.
func readFigures(r Run) (all []Figure, err error) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.PostgreSQL()} {
		read, err := reading(d)
		if err != nil {
			return nil, err
		}
		samples, err := turns(r.Rounds, r.times(5_000), []Variant{{Name: ours, Run: read}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Title, err)
		}
		all = append(all, Figure{
			What: fmt.Sprintf("read and compiled for %s, an INSERT of %d bytes", d.Title, len(readText)), Unit: Nanoseconds,
			Value: stats.Of(samples[ours].CPU), Bar: atMost(2500 + 7*float64(len(readText))),
		})
	}
	return all, nil
}

// Compile measures how long a text takes that keyfill has not seen before.
func Compile(r Run) ([]Figure, error) {
	var all []Figure
	err := singly(func() error {
		for _, c := range compiled {
			compiled, parse := compiling(c.text)
			samples, err := turns(r.Rounds, r.times(5_000), []Variant{
				{Name: tidb, Run: parse},
				{Name: ours, Run: compiled},
				{Name: tidb + again, Run: parse},
			})
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			all = append(all, compileFigures(c.name, len(c.text), samples)...)
		}
		read, err := readFigures(r)
		all = append(all, read...)
		return err
	})
	return all, err
}

// compileFigures returns how many times faster than by the parser a text is compiled, and
// its time.
func compileFigures(name string, bytes int, samples map[string]*Samples) []Figure {
	faster := Figure{What: "compiled, one row of " + name + ", times as fast", Against: tidb, Unit: Times,
		Value: stats.Of(stats.Ratios(samples[tidb].CPU, samples[ours].CPU)), Bar: Bar{Least: 8}}
	control := stats.Of(stats.Ratios(samples[tidb+again].CPU, samples[tidb].CPU))
	faster.Control = &control
	return []Figure{faster, {
		What: fmt.Sprintf("compiled, one row of %s, %d bytes", name, bytes), Unit: Nanoseconds,
		Value: stats.Of(samples[ours].CPU), Bar: atMost(1500 + 7*float64(bytes)),
	}}
}
