package sequence_test

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
)

func TestBounds(t *testing.T) {
	skip := store.Range{First: 20, Last: 29}
	for _, tt := range []struct {
		name    string
		bounds  sequence.Bounds
		end     int64 // of the row
		keysEnd int64
		where   string
		first   int64 // of a row that begins at 5
		part    bool
		undone  bool
		remedy  string
	}{
		{"none", sequence.Bounds{Max: 100}, 0, 0, "", 5, false, false, ""},
		{"an end", sequence.Bounds{}, 50, 50, " WHERE id < 50", 5, false, false, ""},
		{"below", sequence.Bounds{Below: 40}, 0, 40, " WHERE id < 40", 5, true, true, store.BelowRemedy},
		{"an end above it", sequence.Bounds{Below: 40}, 50, 40, " WHERE id < 40", 5, true, true, store.BelowRemedy},
		{"an end below it", sequence.Bounds{Below: 40, Skip: skip}, 30, 30, " WHERE id < 30 AND id NOT BETWEEN 20 AND 29", 5, true, true, store.BelowRemedy},
		{"skip", sequence.Bounds{Skip: skip}, 0, 0, " WHERE id NOT BETWEEN 20 AND 29", 5, true, false, ""},
		{"start", sequence.Bounds{StartAt: 9}, 0, 0, "", 9, true, true, ""},
	} {
		b := tt.bounds
		if got := b.KeysEnd(tt.end); got != tt.keysEnd {
			t.Errorf("%s: KeysEnd is %d, want %d", tt.name, got, tt.keysEnd)
		}
		if got := b.Where("id", tt.keysEnd); got != tt.where {
			t.Errorf("%s: Where is %q, want %q", tt.name, got, tt.where)
		}
		if got := b.First(5); got != tt.first || b.First(70) != 70 {
			t.Errorf("%s: First is %d and %d, want %d and 70", tt.name, got, b.First(70), tt.first)
		}
		if b.ArePart() != tt.part || b.EndWithTransaction() != tt.undone || b.Remedy() != tt.remedy {
			t.Errorf("%s: a part %v, undone %v, remedy %q", tt.name, b.ArePart(), b.EndWithTransaction(), b.Remedy())
		}
	}
}

// TestAdvisedStart: the statement that makes a missing row looks at no keys that another
// program gives.
func TestAdvisedStart(t *testing.T) {
	f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
		if strings.Contains(query, "MAX(") {
			return fakedb.Reply{Rows: [][]driver.Value{{int64(41)}}}
		}
		return fakedb.Reply{}
	}}
	q := fakedb.Orders
	q.Create, q.Bounds.Skip = false, store.Range{First: 2000, Last: 2999}
	_, err := reserver.Open(context.Background(), fakedb.Pooled(t, dialect.MySQL(), f), q)
	var missing *store.Error
	if !errors.As(err, &missing) || missing.Err != store.ErrNoRow || !strings.Contains(missing.SQL, "WHERE `id` NOT BETWEEN 2000 AND 2999") {
		t.Errorf("%v", err)
	}
}
