package schema_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// TestSchemaBroken: a connection that breaks says nothing about tables that were there
// before, and the table to fill is not asked for.
func TestSchemaBroken(t *testing.T) {
	broken := false
	f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
		switch {
		case strings.Contains(query, "orders"):
			t.Errorf("%s was asked", query)
		case strings.Contains(query, "keyfill_") && broken:
			return fakedb.Reply{Err: errors.New("invalid connection")}
		}
		return fakedb.Reply{}
	}}
	st := fakedb.Pooled(t, dialect.MySQL(), f)
	if err := schema.Of(st).Ensure(context.Background()); err != nil {
		t.Fatal(err)
	}
	broken = true
	r := reserver.New(st, sequence.Sequence{Name: "orders.id", Columns: []store.Column{{Table: "orders", Name: "id", Unranked: true}}, EnsureSchema: true, Create: true, Made: sequence.MadeRow{Start: 1}})
	if _, err := r.Reserve(context.Background(), 1, 0); err == nil {
		t.Error("no error")
	}
}

// TestSchemaUnknown: a refusal to create a table says nothing where it is not known whether
// the table is there by now.
func TestSchemaUnknown(t *testing.T) {
	created := false
	f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
		switch {
		case !strings.Contains(query, "keyfill_"):
			return fakedb.Reply{}
		case strings.Contains(query, "CREATE"):
			created = true
			return fakedb.Reply{Err: fakedb.ErrRefused}
		case created:
			return fakedb.Reply{Err: context.DeadlineExceeded}
		}
		return fakedb.Reply{Err: fakedb.ErrRefused}
	}}
	err := schema.Of(fakedb.Pooled(t, dialect.MySQL(), f)).Ensure(context.Background())
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, keysource.ErrStoreState) {
		t.Errorf("%v, want that the time is up", err)
	}
}

// TestSchemaCut: keyfill_series may stay missing where creating it is refused, not
// where the connection broke.
func TestSchemaCut(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool // an error
	}{
		{"refused", fakedb.ErrRefused, false},
		{"cut", errors.New("invalid connection"), true},
		{"out of time", context.DeadlineExceeded, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
				switch {
				case !strings.Contains(query, "keyfill_series"):
					return fakedb.Reply{}
				case strings.Contains(query, "CREATE"):
					return fakedb.Reply{Err: c.err}
				}
				return fakedb.Reply{Err: fakedb.ErrRefused}
			}}
			if err := schema.Of(fakedb.Pooled(t, dialect.MySQL(), f)).Ensure(context.Background()); (err != nil) != c.want {
				t.Errorf("%v", err)
			}
		})
	}
}
