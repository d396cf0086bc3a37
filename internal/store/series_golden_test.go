package store_test

import (
	"context"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
)

// seriesAnswers is a fake with one series, of owner "me", that begins at
// 1,000,001; those with the answers to find are found by a MIN.
type seriesAnswers struct {
	own, spent, free any
	misses           int // UPDATEs that find no row
	made             bool
	counted          bool
}

func (a *seriesAnswers) answer(query string) reply {
	has := func(part string) bool { return strings.Contains(query, part) }
	row := func(values ...driver.Value) reply { return reply{rows: [][]driver.Value{values}} }
	switch {
	case has("WHERE 1 = 0"), has("SET autocommit"), query == "BEGIN", query == "COMMIT":
		return reply{}
	case has("MAX(series_first)"):
		return row(a.free)
	case has("MAX("):
		return row([]byte("41"))
	case has("MIN(name)"):
		return row(nil)
	case has("MIN(series_first)") && has("owner ="):
		return row(a.own)
	case has("MIN(series_first)") && has("> series_last"):
		return row(a.spent)
	case has("MIN(series_first)"):
		return row(a.free)
	case has("FROM keyfill_series") && has("series_last") && strings.HasPrefix(query, "SELECT"):
		if !a.made {
			return reply{}
		}
		return row(int64(2_000_000), int64(1_000_101), "me", int64(1))
	case has("parameters FROM keyfill_sequences"):
		if !a.counted {
			return reply{}
		}
		return row(int64(1_000_001), "made", "server", "sales.orders", "id", "series=1000000")
	case has("INTO keyfill_sequences"):
		a.counted = true
		return reply{affected: 1}
	case has("UPDATE keyfill_sequences") && has("BETWEEN"):
		return reply{rows: [][]driver.Value{{int64(2_000_001), "made", "server"}}, affected: 1, id: 2_000_001,
			out: []any{int64(2_000_001), "made", "server"}}
	case has("next_value, incarnation"):
		return row(int64(1_000_001), "made", "server")
	case has("INTO keyfill_series"):
		a.made = true
		return reply{affected: 1}
	case has("keyfill_series"):
		if a.misses > 0 {
			a.misses--
			return reply{affected: 0}
		}
		return reply{affected: 1}
	case strings.HasPrefix(query, "UPDATE keyfill_sequences"):
		return reply{affected: 1}
	}
	return row("server")
}

// TestSeriesStatements compares what is sent to each engine about series with
// testdata/series_<dialect>.txtar.
func TestSeriesStatements(t *testing.T) {
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			a := new(seriesAnswers)
			f := &fake{answer: a.answer}
			db := store.Pool(d, connector{f, func(f *fake) driver.Conn { return fullConn{bareConn{f}} }})
			defer db.Close()
			compare(t, filepath.Join("testdata", "series_"+d.Name+".txtar"), seriesSession(t, f, a, store.New(d, db)))
		})
	}
}

func seriesSession(t *testing.T, f *fake, a *seriesAnswers, st *store.Store) []txtar.File {
	t.Helper()
	ctx := context.Background()
	rows := series.New(st, series.Options{
		Sequence: sequence.Sequence{
			Name: "sales.orders.id", Columns: []store.Column{{Schema: "sales", Table: "orders", Name: "id"}}, Create: true,
		},
		Owner: "me",
	})
	var got []txtar.File
	step := func(name string, got1, want any, err error) {
		t.Helper()
		if err != nil || got1 != want {
			t.Fatalf("%s: %+v, %v; want %+v", name, got1, err, want)
		}
		got = append(got, txtar.File{Name: name, Data: []byte(f.lines() + "\n")})
	}
	none := keysource.Series{}
	s, err := rows.Own(ctx)
	step("Own, the first call", s, none, err)
	s, err = rows.TakeOver(ctx, 10)
	step("TakeOver of none", s, none, err)
	made := keysource.Series{First: 1_000_001, Last: 2_000_000, Next: 1_000_001, Epoch: 1, Own: true}
	s, err = rows.Open(ctx, 5)
	step("Open", s, made, err)
	moved := made
	moved.Next = 1_000_101
	s, ok, err := rows.Move(ctx, made, moved.Next)
	step("Move", s, moved, err)
	a.misses = 1
	s, ok2, err := rows.Move(ctx, made, 1_000_050)
	step("Move of a row that stands elsewhere", s, moved, err)
	if !ok || ok2 {
		t.Errorf("moved: %t and %t", ok, ok2)
	}
	a.spent, a.free = int64(1), int64(1_000_001)
	s, err = rows.TakeOver(ctx, 10)
	step("TakeOver", s, moved, err)
	a.spent, a.misses = nil, 1
	s, err = rows.TakeOver(ctx, 10)
	step("TakeOver after another owner was faster", s, moved, err)
	step("GiveUp", nil, nil, rows.GiveUp(ctx, moved, 1_000_077))
	a.misses = 1
	step("GiveUp of a row that stands elsewhere", nil, nil, rows.GiveUp(ctx, moved, moved.Next))
	step("GiveUp of one that is used up", nil, nil, rows.GiveUp(ctx, moved, moved.Last+1))
	key, err := rows.MaxKey(ctx, 1_000_001, 2_000_000)
	step("MaxKey", key, int64(41), err)
	step("Advance", nil, nil, rows.Advance(ctx, 5_000_002))
	return got
}
