package reserver_test

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
)

// TestWhole: near its limit a row is reserved from to the end, but not where that
// is said to be of no use.
func TestWhole(t *testing.T) {
	q := fakedb.Orders
	q.Bounds.Max = 44
	usual := fakedb.EngineAnswers(dialect.SQLite())
	f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
		switch {
		case strings.HasPrefix(query, "UPDATE"):
			return fakedb.Reply{} // 42 is the next value, and 3 are left
		case strings.Contains(query, "parameters FROM"):
			return fakedb.Reply{Rows: [][]driver.Value{{int64(42), "made", "", "orders", "id", ""}}}
		}
		return usual(query)
	}}
	st := store.Within(dialect.SQLite(), fakedb.Strengths[2].Make(f))
	for _, c := range []struct {
		row  *reserver.Reserver
		asks string // the last UPDATE is for this many
	}{
		{reserver.New(st, q), "1 = 3"},
		{reserver.New(st, q).AllOrNone(), "1 = 5"},
		{reserver.New(st, q).AllOrNone().At(st), "1 = 5"},
	} {
		f.Lines()
		_, err := c.row.Reserve(context.Background(), 5, 0)
		log := f.Lines()
		last := strings.LastIndex(log, "BETWEEN")
		if err == nil || last < 0 || !strings.Contains(log[last:], c.asks) {
			t.Errorf("%v; it sends\n%s\nwant the last to have %s", err, log, c.asks)
		}
	}
}
