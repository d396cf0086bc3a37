package store_test

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
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// TestServerIsProbed: the server's identity is what it, and the rights of the
// user, allow; what a broken connection says is no answer.
func TestServerIsProbed(t *testing.T) {
	const first, second = "pg_control_system", "pg_walfile_name"
	for _, c := range []struct {
		name  string
		fails func(query string, n int) bool
		want  string // in the UPDATE
		err   bool
	}{
		{"all", func(string, int) bool { return false }, first, false},
		{"no system identifier", func(q string, _ int) bool { return strings.Contains(q, first) }, "incarnation, CASE", false},
		{"none", func(q string, _ int) bool { return strings.Contains(q, second) }, "incarnation, ''", false},
		{"once", func(_ string, n int) bool { return n == 0 }, first, false},
		{"down", func(_ string, n int) bool { return true }, "", true},
		{"down for the two first", func(_ string, n int) bool { return n < 2 }, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakedb.DB{}
			usual := fakedb.EngineAnswers(dialect.PostgreSQL())
			n := 0
			f.Answer = func(query string) fakedb.Reply {
				if strings.HasPrefix(query, "UPDATE") {
					return usual(query)
				}
				n++
				if c.fails(query, n-1) {
					return fakedb.Reply{Err: fakedb.ErrRefused}
				}
				return fakedb.Reply{Rows: [][]driver.Value{{""}}}
			}
			st := fakedb.Pooled(t, dialect.PostgreSQL(), f)
			_, err := sequence.Reserve(context.Background(), st, fakedb.Orders, 1, 0)
			if (err != nil) != c.err {
				t.Fatalf("Reserve: %v", err)
			}
			if c.err {
				return
			}
			if log := f.Lines(); !strings.Contains(log[strings.Index(log, "UPDATE"):], c.want) {
				t.Errorf("it sends\n%s\nwant %s in the UPDATE", log, c.want)
			}
			if _, err := sequence.Reserve(context.Background(), st, fakedb.Orders, 1, 0); err != nil {
				t.Fatal(err)
			}
			if log := f.Lines(); strings.Contains(log, "SELECT '") {
				t.Errorf("it asks again:\n%s", log)
			}
		})
	}
}

// TestMoved: a row that was found unfit and has moved since is asked again, not
// for ever.
func TestMoved(t *testing.T) {
	usual := fakedb.EngineAnswers(dialect.SQLite())
	for _, c := range []struct {
		misses int
		ok     bool
	}{{1, true}, {2, true}, {3, false}, {1000, false}} {
		misses := 0
		f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
			switch {
			case strings.HasPrefix(query, "UPDATE") && misses < c.misses:
				misses++
				return fakedb.Reply{}
			case strings.Contains(query, "parameters FROM"):
				return fakedb.Reply{Rows: [][]driver.Value{{int64(42), "made", "", "orders", "id", ""}}}
			}
			return usual(query)
		}}
		got, err := sequence.Reserve(context.Background(), store.On(dialect.SQLite(), fakedb.Strengths[2].Make(f)), fakedb.Orders, 10, 40)
		var e *store.Error
		if (err == nil) != c.ok || c.ok && got.First != 42 || errors.As(err, &e) {
			t.Errorf("after %d misses: %+v, %v", c.misses, got, err)
		}
	}
}

// TestCreateLost: if two processes make a row at the same time, the error of one is
// ignored when the row is there.
func TestCreateLost(t *testing.T) {
	usual := fakedb.EngineAnswers(dialect.Oracle())
	for _, there := range []bool{true, false} {
		reads := 0
		f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
			switch {
			case strings.HasPrefix(query, "MERGE"):
				return fakedb.Reply{Err: fakedb.ErrRefused}
			case strings.Contains(query, "parameters FROM"):
				if reads++; reads == 1 || !there {
					return fakedb.Reply{}
				}
				return fakedb.Reply{Rows: [][]driver.Value{{"7", "made", "", "orders", "id", nil}}}
			}
			return usual(query)
		}}
		q := fakedb.Orders
		q.OnBehind = keysource.RemedyWarn
		row, err := reserver.Open(context.Background(), fakedb.Pooled(t, dialect.Oracle(), f), q)
		if there && (err != nil || row.Next != 7) || !there && !errors.Is(err, fakedb.ErrRefused) {
			t.Errorf("there %v: %+v, %v", there, row, err)
		}
		if log := f.Lines(); !strings.Contains(log, "SET next_value = GREATEST(next_value, :1), updated_at = SYSTIMESTAMP\nWHERE name = :2\n  1 = 42") {
			t.Errorf("there %v: the row of the other is not raised:\n%s", there, log)
		}
	}
}

// TestErrors: texts say what to do and hold no key.
func TestErrors(t *testing.T) {
	column := store.Column{Schema: "sales", Table: "orders", Name: "id"}
	for _, c := range []struct {
		err  *store.Error
		want string
		is   error
	}{
		{&store.Error{Name: "o", Columns: []store.Column{column}, Err: store.ErrNoRow, SQL: "INSERT …"},
			`sequence "o" for sales.orders.id: the source has no row in keyfill_sequences: run INSERT …`, keysource.ErrStoreState},
		{&store.Error{Name: "o\n\x1b[2J", Columns: fakedb.Orders.Columns, Err: store.ErrNoRow, SQL: "INSERT 'o\n\x1b[2J'"},
			`sequence "o\n\x1b[2J" for orders.id: the source has no row in keyfill_sequences: run "INSERT 'o\n\x1b[2J'"`, keysource.ErrStoreState},
		{&store.Error{Name: "o", Columns: []store.Column{column, {Table: "t", Name: "c"}}, Err: store.ErrBehind, Next: 77},
			`sequence "o" for sales.orders.id, t.c: the source's next value is not above the greatest key in the column: other programs fill the column too, or the row is from an older copy`, keysource.ErrStoreBehind},
		{&store.Error{Name: "o", Err: keysource.ErrExhausted, Detail: "the limit is 10", Next: 77},
			`sequence "o": keysource: the source is exhausted: the limit is 10`, keysource.ErrExhausted},
		{&store.Error{Name: "o", Err: store.ErrBack, Next: 77},
			`sequence "o": the source's next value is below numbers that are reserved already: the store was restored, or a failover lost commits`, keysource.ErrStoreBack},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if !errors.Is(c.err, c.is) || !errors.Is(c.err, c.err.Err) {
			t.Errorf("%v is neither %v nor %v", c.err, c.is, c.err.Err)
		}
	}
	if errors.Is(&store.Error{Err: keysource.ErrExhausted}, keysource.ErrStoreState) {
		t.Error("exhausted is a state that can be mended")
	}
}
