package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// TestSchemaBroken: a connection that breaks says nothing about tables that were there
// before, and the table to fill is not asked for.
func TestSchemaBroken(t *testing.T) {
	broken := false
	f := &fake{answer: func(query string) reply {
		switch {
		case strings.Contains(query, "orders"):
			t.Errorf("%s was asked", query)
		case strings.Contains(query, "keyfill_") && broken:
			return reply{err: errors.New("invalid connection")}
		}
		return reply{}
	}}
	st := pooled(t, dialect.MySQL(), f)
	if err := schema.Of(st).Ensure(context.Background()); err != nil {
		t.Fatal(err)
	}
	broken = true
	r := reserver.New(st, sequence.Sequence{Name: "orders.id", Columns: []store.Column{{Table: "orders", Name: "id", Unranked: true}}, EnsureSchema: true, Create: true, Start: 1})
	if _, err := r.Reserve(context.Background(), 1, 0); err == nil {
		t.Error("no error")
	}
}
