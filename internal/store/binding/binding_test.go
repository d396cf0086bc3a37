package binding_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
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
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				if strings.Contains(query, "MIN(name)") || strings.Contains(query, "SELECT name FROM") {
					return fakedb.Reply{Rows: [][]driver.Value{{c.other}}}
				}
				if strings.Contains(query, "current_database()") {
					return fakedb.Reply{Rows: [][]driver.Value{{"shop"}}}
				}
				return fakedb.Reply{Rows: [][]driver.Value{{int64(1), "", "", "orders", "id", ""}}}
			}}
			st := fakedb.Pooled(t, dialect.PostgreSQL(), f)
			for _, use := range []struct {
				kind string
				open func() error
			}{
				{"sequence", func() error {
					_, err := reserver.New(st, fakedb.Orders).Reserve(context.Background(), 1, 0)
					return err
				}},
				{"sequence", func() error {
					q := fakedb.Orders
					q.Shared = true
					return reserver.New(st, q).Bind(context.Background(), fakedb.Orders.Columns[0])
				}},
				{"snowflake", func() error {
					w := worker.Worker{Name: fakedb.Orders.Name, Columns: fakedb.Orders.Columns}
					_, err := worker.New(st, w).Mark(context.Background(), 1)
					return err
				}},
				{"snowflake", func() error {
					return worker.New(st, worker.Worker{Name: fakedb.Orders.Name}).Bind(context.Background(), fakedb.Orders.Columns[0])
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
		f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
			if strings.Contains(query, "MIN(name)") {
				return fakedb.Reply{Rows: [][]driver.Value{{nil}}}
			}
			return fakedb.Reply{Rows: [][]driver.Value{row}}
		}}
		err := worker.New(fakedb.Pooled(t, dialect.PostgreSQL(), f), worker.Worker{Name: "flakes"}).Bind(context.Background(), fakedb.Orders.Columns[0])
		if !errors.Is(err, store.ErrBound) {
			t.Errorf("%v: %v, want %v", row, err, store.ErrBound)
		}
	}
}
