package joined_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/series"
)

// TestSeriesOldSnapshot: a transaction of SQLite that has read before others wrote does
// not take the series that it sees for one that has gone back. It cannot write, and gets
// an error.
func TestSeriesOldSnapshot(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
	if err := schema.Of(harness.StoreOf(t, s)).Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := harness.Orders
	q.Made.Start = 1
	all := series.New(harness.StoreOf(t, s), series.Options{Sequence: q, Size: 100, Owner: "a"})
	held, err := all.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	harness.OnConn(t, s, func(ctx context.Context, _ *sql.Conn, raw driver.Conn) {
		for _, query := range []string{"BEGIN", "SELECT series_first FROM keyfill_series"} {
			if _, err := raw.(driver.ExecerContext).ExecContext(ctx, query, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, moved, err := all.Move(ctx, held, 20); err != nil || !moved {
			t.Fatal(moved, err)
		}
		inside := all.At(store.Within(s.Dialect, raw))
		if own, err := inside.Own(ctx); err == nil || !strings.Contains(err.Error(), "locked") {
			t.Errorf("Own: %+v, %v; want the engine's error", own, err)
		}
		if free, err := inside.TakeOver(ctx, 1); err == nil || !strings.Contains(err.Error(), "locked") {
			t.Errorf("TakeOver: %+v, %v; want the engine's error", free, err)
		}
		if _, err := raw.(driver.ExecerContext).ExecContext(ctx, "ROLLBACK", nil); err != nil {
			t.Fatal(err)
		}
	})
	if own, err := all.Own(t.Context()); err != nil || own.Next != 20 {
		t.Errorf("Own: %+v, %v; want 20", own, err)
	}
}
