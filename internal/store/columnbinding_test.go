package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// TestBindingErrors: the error of a column that is taken names the state that has
// it, the row to be removed and the database that has the row, and no key.
func TestBindingErrors(t *testing.T) {
	for _, c := range []struct {
		name, other, want string
	}{
		{"a sequence's own row", "old", `the column is served by another state too: delete the row of keyfill_sequences that says so, or say exclusive: true if that one no longer fills it: the database "shop" has "old"`},
		{"a shared one's", "numbers for orders.id", `: the database "shop" has "numbers", whose row for this column is "numbers for orders.id"`},
		{"a snowflake's", "flakes (workers) for orders.id", `: the database "shop" has "flakes (workers)", whose row for this column is "flakes (workers) for orders.id"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{answer: func(query string) reply {
				if strings.Contains(query, "MIN(name)") || strings.Contains(query, "SELECT name FROM") {
					return reply{rows: [][]driver.Value{{c.other}}}
				}
				if strings.Contains(query, "current_database()") {
					return reply{rows: [][]driver.Value{{"shop"}}}
				}
				return reply{rows: [][]driver.Value{{int64(1), "", "", "orders", "id", ""}}}
			}}
			st := pooled(t, dialect.PostgreSQL(), f)
			for _, use := range []struct {
				kind string
				open func() error
			}{
				{"sequence", func() error { _, err := reserver.New(st, orders).Reserve(context.Background(), 1, 0); return err }},
				{"sequence", func() error {
					q := orders
					q.Shared = true
					return reserver.New(st, q).Bind(context.Background(), orders.Columns[0])
				}},
				{"snowflake", func() error {
					w := worker.Worker{Name: orders.Name, Columns: orders.Columns}
					_, err := worker.New(st, w).Mark(context.Background(), 1)
					return err
				}},
				{"snowflake", func() error {
					return worker.New(st, worker.Worker{Name: orders.Name}).Bind(context.Background(), orders.Columns[0])
				}},
			} {
				err := use.open()
				if !errors.Is(err, store.ErrTaken) || !errors.Is(err, keysource.ErrStoreState) {
					t.Fatalf("%v, want %v", err, store.ErrTaken)
				}
				if text := err.Error(); !strings.HasPrefix(text, use.kind+` "orders.id" for orders.id: `) || !strings.HasSuffix(text, c.want) {
					t.Errorf("%q, want it to end in %q", text, c.want)
				}
			}
		})
	}
}

// TestBindingOfAnother: a row that has the name of a binding and is none is an
// error.
func TestBindingOfAnother(t *testing.T) {
	for _, row := range [][]driver.Value{
		{int64(1), "", "", "parts", "id", "binding"},
		{int64(1), "", "", "orders", "no", "binding"},
		{int64(1), "", "", "orders", "id", ""},
	} {
		f := &fake{answer: func(query string) reply {
			if strings.Contains(query, "MIN(name)") {
				return reply{rows: [][]driver.Value{{nil}}}
			}
			return reply{rows: [][]driver.Value{row}}
		}}
		err := worker.New(pooled(t, dialect.PostgreSQL(), f), worker.Worker{Name: "flakes"}).Bind(context.Background(), orders.Columns[0])
		if !errors.Is(err, store.ErrBound) {
			t.Errorf("%v: %v, want %v", row, err, store.ErrBound)
		}
	}
}

// TestWhole: near its limit a row is reserved from to the end, but not where that
// is said to be of no use.
func TestWhole(t *testing.T) {
	q := orders
	q.Max = 44
	usual := engineAnswers(dialect.SQLite())
	f := &fake{answer: func(query string) reply {
		switch {
		case strings.HasPrefix(query, "UPDATE"):
			return reply{} // 42 is the next value, and 3 are left
		case strings.Contains(query, "parameters FROM"):
			return reply{rows: [][]driver.Value{{int64(42), "made", "", "orders", "id", ""}}}
		}
		return usual(query)
	}}
	st := store.Within(dialect.SQLite(), strengths[2].make(f))
	for _, c := range []struct {
		row  *reserver.Reserver
		asks string // the last UPDATE is for this many
	}{
		{reserver.New(st, q), "1 = 3"},
		{reserver.New(st, q).Whole(), "1 = 5"},
		{reserver.New(st, q).Whole().At(st), "1 = 5"},
	} {
		f.lines()
		_, err := c.row.Reserve(context.Background(), 5, 0)
		log := f.lines()
		last := strings.LastIndex(log, "BETWEEN")
		if err == nil || last < 0 || !strings.Contains(log[last:], c.asks) {
			t.Errorf("%v; it sends\n%s\nwant the last to have %s", err, log, c.asks)
		}
	}
}

// TestGreeting: a connection on which autocommit cannot be turned on is not used.
func TestGreeting(t *testing.T) {
	closed := 0
	f := &fake{answer: func(query string) reply {
		if strings.HasPrefix(query, "SET") {
			return reply{err: errRefused}
		}
		return engineAnswers(dialect.MySQL())(query)
	}}
	db := store.Pool(dialect.MySQL(), connector{f, func(f *fake) driver.Conn { return closing{bareConn{f}, &closed} }})
	defer db.Close()
	if _, err := sequence.Reserve(context.Background(), store.New(dialect.MySQL(), db), orders, 1, 0); !errors.Is(err, errRefused) {
		t.Errorf("%v, want %v", err, errRefused)
	}
	if log := f.lines(); closed == 0 || closed != strings.Count(log, "connect") || strings.Contains(log, "UPDATE") {
		t.Errorf("%d connections are closed, want all; it sends\n%s", closed, log)
	}
}

// closing counts how often it is closed.
type closing struct {
	bareConn
	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }
