package apps_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/check/hotstate"
)

const hotPolicy = `  singly: {column: id, source: {kind: sequence, ensure_schema: true, block: 1}}
  blocks: {column: id, source: {kind: sequence, ensure_schema: true, block: 10000}}
  follows: {column: id, source: {kind: sequence, ensure_schema: true}}
  joined: {column: id, source: {kind: sequence, ensure_schema: true, transaction: joined}}
  flakes: {column: id, source: {kind: snowflake, ensure_schema: true, worker: 1}}
  one: {column: id, source: shared}
  other: {column: id, source: shared}
sources:
  shared: {kind: sequence, ensure_schema: true, block: 1}
`

// TestHotState: at a rate that is near the limit of a row, the states are found of which
// each row of a table takes a reservation, and of which two tables do together.
func TestHotState(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			limit := float64(hotstate.LimitOf(s.Dialect, ""))
			for _, name := range []string{"singly", "blocks", "follows", "joined", "flakes", "one", "other"} {
				executeAll(t, s, "CREATE TABLE "+name+" (id BIGINT NOT NULL PRIMARY KEY)")
			}
			found := func(rate float64) string {
				all, _ := lookWith(t, s, hotPolicy, check.Options{Connector: s.Connector, Rate: func(string) float64 { return rate }})
				var tables []string
				for _, f := range ruled(all, "hot-state") {
					tables = append(tables, f.Table)
					if f.Severity != check.Warning || f.Class != check.Later || f.Line == 0 {
						t.Errorf("%+v", f)
					}
				}
				return strings.Join(tables, " ")
			}
			for rate, want := range map[float64]string{0: "", 10: "", 0.3 * limit: "other", 0.8 * limit: "singly joined one"} {
				if got := found(rate); got != want {
					t.Errorf("at %.0f rows a second: %q, want %q", rate, got, want)
				}
			}

			var clock atomic.Int64
			clock.Store(time.Now().UnixNano())
			db, err := keyfill.OpenDB(s.Connector, keyfill.Options{Policy: parsed(t, hotPolicy), Now: func() time.Time { return time.Unix(0, clock.Load()) }})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			m, err := keyfill.From(db)
			if err != nil {
				t.Fatal(err)
			}
			statistics := func() (tables []string) {
				all, err := m.Check(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range all {
					if f.Rule == "hot-state" {
						tables = append(tables, f.Table)
					}
				}
				return tables
			}
			if got := statistics(); len(got) > 0 {
				t.Errorf("before the first key: %q", got)
			}
			for range 3 {
				for _, table := range []string{"singly", "blocks"} {
					if _, err := m.Reserve(t.Context(), table, 100_000); err != nil {
						t.Fatal(err)
					}
				}
				clock.Add(int64(10 * time.Second))
			}
			if got := statistics(); strings.Join(got, " ") != "singly" {
				t.Errorf("at the rate of the statistics: %q, want singly", got)
			}
		})
	}
}
