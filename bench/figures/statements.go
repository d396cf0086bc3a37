package figures

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/bench/nulldriver"
)

// The texts of the null driver's figures: a SELECT and an UPDATE of 70 bytes, and
// INSERTs with four arguments.
const (
	selectText    = "SELECT id, customer, city, sum FROM orders WHERE customer = 1 AND id = 7"
	updateText    = "UPDATE orders SET customer = ?, city = ?, sum = ? WHERE (id = 1007)"
	elsewhereText = "INSERT INTO elsewhere (customer, name, street, amount) VALUES (?, ?, ?, ?)"
	ordersText    = "INSERT INTO orders (customer, name, street, amount) VALUES (?, ?, ?, ?)"
	customersText = "INSERT INTO customers (customer, name, street, amount) VALUES (?, ?, ?, ?)"
	invoicesText  = "INSERT INTO invoices (customer, name, street, amount) VALUES (?, ?, ?, ?)"
	givenText     = "INSERT INTO orders (id, customer, name, street, amount) VALUES (?, ?, ?, ?, ?)"
)

var (
	updateArgs = []any{1, "a street", 12345}
	insertArgs = []any{1, "a name", "a street and a town", 12345}
)

// Statements measures statements on a driver that does nothing.
func Statements(r Run) ([]Figure, error) {
	var all []Figure
	err := singly(func() error {
		for _, part := range []func(Run) ([]Figure, error){passed, unseen, filled, skipped, preparedOnce, hundred} {
			figures, err := part(r)
			if err != nil {
				return err
			}
			all = append(all, figures...)
		}
		return nil
	})
	return all, err
}

// on calls f with the database handles on a driver (see layers), and closes them.
func on(d *nulldriver.Driver, f func(layers) ([]Figure, error)) (figures []Figure, err error) {
	l, err := openLayers(d, "mysql", 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	return f(l)
}

// passed measures statements that keyfill has seen before and passes to the driver.
func passed(r Run) ([]Figure, error) {
	return on(&nulldriver.Driver{}, func(l layers) ([]Figure, error) {
		var all []Figure
		for _, s := range []struct {
			what string
			run  func(*sql.DB) func(int) error
			most float64
		}{
			{"passed SELECT, seen before", func(db *sql.DB) func(int) error { return execute(db, selectText) }, 1.15},
			{"passed UPDATE, seen before", func(db *sql.DB) func(int) error { return execute(db, updateText, updateArgs...) }, 1.15},
			{"passed INSERT into another table, seen before", func(db *sql.DB) func(int) error { return execute(db, elsewhereText, insertArgs...) }, 1.35},
			{"passed Query of 10 rows of 5", func(db *sql.DB) func(int) error { return query(db, selectText) }, 1.06},
		} {
			samples, err := turns(r.Rounds, r.times(20_000), []Variant{
				{Name: raw, Run: s.run(l[raw])}, {Name: ours, Run: s.run(l[ours])},
				{Name: null, Run: s.run(l[null])}, {Name: raw + again, Run: s.run(l[raw])},
			})
			if err != nil {
				return nil, err
			}
			all = append(all,
				ratio(s.what, samples, ours, raw, raw+again, atMost(s.most)),
				ratio(s.what, samples, ours, null, "", Bar{}),
				moreAllocations(s.what, samples, ours, raw, atMost(0)))
		}
		return all, nil
	})
}

// unseen measures statements that keyfill passes to the driver, each with a text of its
// own.
func unseen(r Run) ([]Figure, error) {
	return on(&nulldriver.Driver{}, func(l layers) ([]Figure, error) {
		var all []Figure
		for _, s := range []struct {
			what, head string
			args       []any
			most       float64
		}{
			{"passed UPDATE, unseen", "UPDATE orders SET customer = ?, city = ?, sum = ? WHERE (id = ", updateArgs, 1.4},
			{"passed INSERT into another table, unseen", elsewhereText + ", (1, 2, 3, ", insertArgs, 2.2},
		} {
			texts := &freshTexts{head: s.head}
			variant := func(name string, db *sql.DB) Variant {
				return Variant{Name: name, Setup: texts.make, Run: func(int) error { return texts.execute(db, s.args) }}
			}
			samples, err := turns(r.Rounds, r.times(20_000), []Variant{
				variant(raw, l[raw]), variant(ours, l[ours]), variant(raw+again, l[raw]),
			})
			if err != nil {
				return nil, err
			}
			all = append(all, ratio(s.what, samples, ours, raw, raw+again, atMost(s.most)))
		}
		return all, nil
	})
}

// freshTexts are texts that were not sent before: a head and a number.
type freshTexts struct {
	head  string
	used  int
	texts []string
}

func (f *freshTexts) make(n int) error {
	f.texts = f.texts[:0]
	for range n {
		f.used++
		f.texts = append(f.texts, f.head+strconv.Itoa(f.used)+")")
	}
	return nil
}

func (f *freshTexts) execute(db *sql.DB, args []any) error {
	ctx := context.Background()
	for _, text := range f.texts {
		if _, err := db.ExecContext(ctx, text, args...); err != nil {
			return err
		}
	}
	return nil
}

// byHand returns a function that inserts rows whose keys google/uuid makes.
func byHand(db *sql.DB) func(int) error {
	ctx := context.Background()
	return func(n int) error {
		for range n {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			if _, err := db.ExecContext(ctx, givenText, id.String(), insertArgs[0], insertArgs[1], insertArgs[2], insertArgs[3]); err != nil {
				return err
			}
		}
		return nil
	}
}

// filled measures INSERTs of a row whose key keyfill makes.
func filled(r Run) ([]Figure, error) {
	return on(&nulldriver.Driver{}, func(l layers) ([]Figure, error) {
		samples, err := turns(r.Rounds, r.times(20_000), []Variant{
			{Name: null, Run: execute(l[null], ordersText, insertArgs...)},
			{Name: "block", Run: execute(l[ours], invoicesText, insertArgs...)},
			{Name: hand, Run: byHand(l[raw])},
			{Name: "v7", Run: execute(l[ours], ordersText, insertArgs...)},
			{Name: "prefixed", Run: execute(l[ours], customersText, insertArgs...)},
			{Name: "v7" + again, Run: execute(l[ours], ordersText, insertArgs...)},
			{Name: null + again, Run: execute(l[null], ordersText, insertArgs...)},
			{Name: hand + again, Run: byHand(l[raw])},
		})
		if err != nil {
			return nil, err
		}
		return []Figure{
			ratio("filled, block", samples, "block", null, null+again, atMost(1.5)),
			moreAllocations("filled, block", samples, "block", null, atMost(3)),
			ratio("filled, v7 as text", samples, "v7", hand, hand+again, atMost(1.4)),
			ratio("filled, v7 as text", samples, "v7", null, null+again, Bar{}),
			moreAllocations("filled, v7 as text", samples, "v7", null, Bar{}),
			ratio("filled, v7 with a prefix", samples, "prefixed", "v7", "v7"+again, atMost(1.15)),
		}, nil
	})
}

// skipped measures INSERTs through a driver that makes database/sql prepare every text.
func skipped(r Run) ([]Figure, error) {
	return on(&nulldriver.Driver{Skips: true}, func(l layers) ([]Figure, error) {
		samples, err := turns(r.Rounds, r.times(20_000), []Variant{
			{Name: null, Run: execute(l[null], ordersText, insertArgs...)},
			{Name: "v7", Run: execute(l[ours], ordersText, insertArgs...)},
			{Name: "block", Run: execute(l[ours], invoicesText, insertArgs...)},
			{Name: null + again, Run: execute(l[null], ordersText, insertArgs...)},
		})
		if err != nil {
			return nil, err
		}
		return []Figure{
			ratio("driver that answers ErrSkip, v7 as text", samples, "v7", null, null+again, atMost(1.5)),
			ratio("driver that answers ErrSkip, block with LAST_INSERT_ID", samples, "block", null, null+again, atMost(1.5)),
		}, nil
	})
}

// preparedOnce measures INSERTs through statements that the application has prepared.
func preparedOnce(r Run) ([]Figure, error) {
	return on(&nulldriver.Driver{}, func(l layers) (figures []Figure, err error) {
		statements := map[string]*sql.Stmt{}
		for name, s := range map[string]struct{ layer, text string }{
			null: {null, ordersText}, "block": {ours, invoicesText}, "v7": {ours, ordersText},
		} {
			stmt, err := l[s.layer].Prepare(s.text)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, stmt.Close()) }()
			statements[name] = stmt
		}
		samples, err := turns(r.Rounds, r.times(20_000), []Variant{
			{Name: null, Run: prepared(statements[null], insertArgs...)},
			{Name: "block", Run: prepared(statements["block"], insertArgs...)},
			{Name: "v7", Run: prepared(statements["v7"], insertArgs...)},
			{Name: null + again, Run: prepared(statements[null], insertArgs...)},
		})
		if err != nil {
			return nil, err
		}
		return []Figure{
			ratio("prepared, block", samples, "block", null, null+again, atMost(1.2)),
			ratio("prepared, v7 as text", samples, "v7", null, null+again, atMost(1.5)),
		}, nil
	})
}

// hundred measures INSERTs of 100 rows.
func hundred(r Run) ([]Figure, error) {
	const rows = 100
	return on(&nulldriver.Driver{}, func(l layers) ([]Figure, error) {
		var args []any
		for range rows {
			args = append(args, insertArgs...)
		}
		given := rowsOf("orders", "id, customer, name, street, amount", "?, ?, ?, ?, ?", rows)
		left := rowsOf("orders", "customer, name, street, amount", "?, ?, ?, ?", rows)
		byHand := func(n int) error {
			for range n {
				with := make([]any, 0, rows*5)
				for i := range rows {
					id, err := uuid.NewV7()
					if err != nil {
						return err
					}
					with = append(append(with, id.String()), args[4*i:4*i+4]...)
				}
				if _, err := l[raw].ExecContext(context.Background(), given, with...); err != nil {
					return err
				}
			}
			return nil
		}
		samples, err := turns(r.Rounds, r.times(500), []Variant{
			{Name: hand, Run: byHand}, {Name: "v7", Run: execute(l[ours], left, args...)}, {Name: hand + again, Run: byHand},
		})
		if err != nil {
			return nil, err
		}
		return []Figure{ratio("100 rows, v7 as text", samples, "v7", hand, hand+again, atMost(0.85))}, nil
	})
}
