package series_test

import (
	"context"
	"database/sql/driver"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
)

// TestSeriesStatements compares what is sent to each engine about series with
// testdata/series_<dialect>.txtar.
func TestSeriesStatements(t *testing.T) {
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			a := new(fakedb.SeriesAnswers)
			f := &fakedb.DB{Answer: a.Answer}
			db := store.Pool(d, fakedb.Connector(f, func(f *fakedb.DB) driver.Conn { return fakedb.FullOf(f) }))
			defer db.Close()
			fakedb.Compare(t, filepath.Join("testdata", "series_"+goldens.Of(d)+".txtar"), seriesSession(t, f, a, store.New(d, db)))
		})
	}
}

func seriesSession(t *testing.T, f *fakedb.DB, a *fakedb.SeriesAnswers, st *store.Store) []txtar.File {
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
		got = append(got, txtar.File{Name: name, Data: []byte(f.Lines() + "\n")})
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
	a.Misses = 1
	s, ok2, err := rows.Move(ctx, made, 1_000_050)
	step("Move of a row that stands elsewhere", s, moved, err)
	if !ok || ok2 {
		t.Errorf("moved: %t and %t", ok, ok2)
	}
	a.Spent, a.Free = int64(1), int64(1_000_001)
	s, err = rows.TakeOver(ctx, 10)
	step("TakeOver", s, moved, err)
	a.Spent, a.Misses = nil, 1
	s, err = rows.TakeOver(ctx, 10)
	step("TakeOver after another owner was faster", s, moved, err)
	step("GiveUp", nil, nil, rows.GiveUp(ctx, moved, 1_000_077))
	a.Misses = 1
	step("GiveUp of a row that stands elsewhere", nil, nil, rows.GiveUp(ctx, moved, moved.Next))
	step("GiveUp of one that is used up", nil, nil, rows.GiveUp(ctx, moved, moved.Last+1))
	key, err := rows.MaxKey(ctx, 1_000_001, 2_000_000)
	step("MaxKey", key, int64(41), err)
	step("Advance", nil, nil, rows.Advance(ctx, 5_000_002))
	return got
}
