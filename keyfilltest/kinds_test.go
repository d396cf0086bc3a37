package keyfilltest_test

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/policy"
)

// kinds are the sources with a state besides sequences and snowflakes, with the
// first two keys that tests see.
var kinds = []struct {
	source  policy.Source
	first   [2]any
	literal string // of the first one
}{
	{policy.Source{Kind: policy.KindNative}, [2]any{int64(1), int64(2)}, "1"},
	{policy.Source{Kind: policy.KindRecycled}, [2]any{int64(1), int64(2)}, "1"},
	{policy.Source{Kind: policy.KindPseudorandom}, [2]any{int64(16807), int64(33614)}, "16807"},
	{policy.Source{Kind: policy.KindComposite, Worker: new(7)},
		[2]any{"00720200101000000001", "00720200101000000002"}, "'00720200101000000001'"},
	{policy.Source{Kind: policy.KindComposite, Worker: new(7), Length: 24},
		[2]any{"007202001010000000010000", "007202001010000000020000"}, "'007202001010000000010000'"},
	{policy.Source{Kind: policy.KindCoprime, Length: 3, K: 63}, [2]any{"011", "022"}, "'011'"},
	{policy.Source{Kind: policy.KindSequence, Format: "INV/{n:05}"}, [2]any{"INV/00001", "INV/00002"}, "'INV/00001'"},
}

// TestKinds: keys that are made of numbers are made of the stand-in's numbers, and are
// the same in every run.
func TestKinds(t *testing.T) {
	for _, tt := range kinds {
		t.Run(fmt.Sprint(tt.source.Kind, tt.source.Length), func(t *testing.T) {
			cfg := configOf(tt.source)
			keys := keyfilltest.Keys(t, cfg, "things", 1500)
			if keys[0] != tt.first[0] || keys[1] != tt.first[1] {
				t.Errorf("the first keys are %v and %v, want %v", keys[0], keys[1], tt.first)
			}
			seen := map[driver.Value]bool{}
			for _, key := range keys {
				seen[key] = true
			}
			if len(seen) != len(keys) {
				t.Errorf("%d different keys of %d", len(seen), len(keys))
			}
			db, mock := keyfilltest.New(t, cfg)
			mock.ExpectExec(`INSERT INTO things (a, "id") VALUES ($1, $3), ($2, $4)`).
				WithArgs(1, 2, tt.first[0], tt.first[1]).WillReturnResult(sqlmock.NewResult(0, 2))
			if _, err := db.Exec(`INSERT INTO things (a) VALUES ($1), ($2)`, 1, 2); err != nil {
				t.Error(err)
			}
			keyfilltest.AssertSQL(t, cfg, `INSERT INTO things (a) VALUES (1)`, `INSERT INTO things (a, "id") VALUES (1, `+tt.literal+`)`)
			dummy := "0"
			if text, ok := tt.first[0].(string); ok {
				dummy = "'" + strings.Repeat("0", len(text)) + "'"
			}
			keyfilltest.AssertSQL(t, cfg, `EXPLAIN INSERT INTO things (a) VALUES (1)`, `EXPLAIN INSERT INTO things (a, "id") VALUES (1, `+dummy+`)`)
		})
	}
}

// TestPeriods: numbers begin again with each period of the test's clock, or of the date in the
// row, and within each parent.
func TestPeriods(t *testing.T) {
	joined := policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Format: "INV-{year}-{n:03}", Period: policy.Period{Every: "year"}}
	cfg := configOf(joined)
	clock := time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC)
	cfg.Now = func() time.Time { return clock }
	db, mock := keyfilltest.New(t, cfg)
	for _, want := range []string{"INV-2025-001", "INV-2025-002", "INV-2026-001"} {
		if want == "INV-2026-001" {
			clock = clock.Add(time.Second)
		}
		mock.ExpectExec(`INSERT INTO things (a, "id") VALUES ($1, $2)`).WithArgs(1, want).WillReturnResult(sqlmock.NewResult(0, 1))
		if _, err := db.Exec(`INSERT INTO things (a) VALUES ($1)`, 1); err != nil {
			t.Error(err)
		}
	}
	joined.Period.Column = "d"
	joined.Format, joined.Scope = "{column:branch}{yy}{n:03}", &policy.Scope{{Column: "branch", Type: policy.ScopeText}}
	db, mock = keyfilltest.New(t, configOf(joined))
	text := `INSERT INTO things (d, branch) VALUES ($1, $2), ($3, $4), ($5, $6)`
	mock.ExpectExec(`INSERT INTO things (d, branch, "id") VALUES ($1, $2, $7), ($3, $4, $8), ($5, $6, $9)`).
		WithArgs("2025-12-31", "N", "2026-01-01", "S", "2025-01-01", "N", "N25001", "S26001", "N25002").WillReturnResult(sqlmock.NewResult(0, 3))
	if _, err := db.Exec(text, "2025-12-31", "N", "2026-01-01", "S", "2025-01-01", "N"); err != nil {
		t.Error(err)
	}
	for _, date := range []any{nil, "31.12.2025", 20251231, time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC)} {
		if _, err := db.Exec(`INSERT INTO things (d, branch) VALUES ($1, $2)`, date, "N"); err == nil || strings.Contains(err.Error(), "2025") {
			t.Errorf("%v: %v", date, err)
		}
	}
}

// TestKindsScatter: the keys of a scatter depend on its key, and are spread.
func TestKindsScatter(t *testing.T) {
	one := keyfilltest.Keys(t, configOf(policy.Source{Kind: policy.KindScatter, Key: "a"}), "things", 2)
	same := keyfilltest.Keys(t, configOf(policy.Source{Kind: policy.KindScatter, Key: "a"}), "things", 2)
	other := keyfilltest.Keys(t, configOf(policy.Source{Kind: policy.KindScatter, Key: "b"}), "things", 2)
	if fmt.Sprint(one) != fmt.Sprint(same) || fmt.Sprint(one) == fmt.Sprint(other) {
		t.Errorf("%v, %v and with another key %v", one, same, other)
	}
	if gap := one[1].(int64) - one[0].(int64); gap == 1 {
		t.Error("the keys follow each other")
	}
}

func configOf(source policy.Source) keyfill.Options {
	return keyfill.Options{Policy: &policy.Config{Dialect: "postgres", Tables: map[string]policy.Table{"things": {Column: "id", InPlace: &source}}}}
}
