package statements_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// sourcesPolicy has a source of each way to draw numbers, and one of UUIDs.
func sourcesPolicy(s *harness.Scratch) *policy.Config {
	cfg := &policy.Config{
		Sources: map[string]policy.Source{
			"lots": {Kind: policy.KindSequence, EnsureSchema: true, Name: "lots/{value:tenant}", Block: 10},
		},
		Tables: map[string]policy.Table{
			"blocks": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 10}},
			"inside": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}},
			"series": {Column: "id", InPlace: &policy.Source{Kind: policy.KindRecycled, EnsureSchema: true, Block: 10, Lease: time.Hour}},
			"flakes": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSnowflake, Worker: harness.NewWorker(), Store: policy.StoreNone}},
			"behind": {Column: "id", InPlace: &policy.Source{Kind: policy.KindMaxPlusOne, EnsureSchema: true}},
			"lots_*": {Column: "id", Source: "lots"},
			"uuids":  {Column: "id", Layout: "string"},
		},
	}
	if s.Dialect.Name != "sqlite" {
		cfg.Tables["leased"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSnowflake, WorkerLease: time.Hour, EnsureSchema: true}}
	}
	return cfg
}

// TestSources: each source reports its state, under a name that no table and no tenant
// changes.
func TestSources(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		cfg := sourcesPolicy(s)
		db, m := s.Open(t, cfg)
		for _, one := range m.Sources() {
			if one.States != 0 || one.Fetches != 0 || one.Worker != -1 || one.LastError != "" || len(one.Tables) == 0 {
				t.Errorf("before the first key: %+v", one)
			}
		}
		for name := range cfg.Tables {
			id := "BIGINT"
			if name == "uuids" {
				id = "CHAR(36)"
			}
			for _, table := range []string{strings.ReplaceAll(name, "*", "1"), strings.ReplaceAll(name, "*", "2")} {
				harness.Exec(t, s.Raw, "CREATE TABLE IF NOT EXISTS "+table+" (id "+id+" NOT NULL PRIMARY KEY, a INT)")
				for range 2 {
					ctx := keyfill.WithValue(t.Context(), "tenant", "secret "+table)
					if _, err := db.ExecContext(ctx, s.Placeholders("INSERT INTO "+table+" (a) VALUES (?)"), 1); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		found := map[string]keyfill.SourceStats{}
		all := m.Sources()
		for _, one := range all {
			found[one.Source] = one
		}
		if len(found) != len(cfg.Tables) || len(all) != len(found) {
			t.Errorf("%d sources, and %d names, want %d", len(all), len(found), len(cfg.Tables))
		}
		text, err := json.Marshal(all)
		if err != nil || strings.Contains(string(text), "secret") {
			t.Errorf("as JSON: %v, %s", err, text)
		}
		var back []keyfill.SourceStats
		if err := json.Unmarshal(text, &back); err != nil || fmt.Sprint(len(back)) != fmt.Sprint(len(all)) {
			t.Errorf("read back: %d sources, %v", len(back), err)
		}

		const most = 1<<63 - 2
		if got := found["blocks.id"]; got.Kind != policy.KindSequence || got.States != 1 || got.Next != 5 || got.Block != 10 || got.Left < 6 ||
			got.Max != most || got.Remaining != most-4 || got.Fetches == 0 || got.FetchErrors != 0 || got.LastKeyAt.IsZero() || got.LastFetchAt.IsZero() ||
			got.FetchTime < got.SlowestFetch || got.SlowestFetch < got.LastFetch {
			t.Errorf("of the blocks: %+v", got)
		}
		if got := found["inside.id"]; got.States != 1 || got.Next != 5 || got.Remaining != most-4 || got.Fetches != 4 || got.Left != 0 || got.LastKeyAt.IsZero() {
			t.Errorf("of the keys of a transaction: %+v", got)
		}
		if got := found["series.id"]; got.States != 1 || got.Next != 5 || !got.LeaseHeld || got.Lease != time.Hour || time.Until(got.LeaseUntil) > got.Lease || got.Fetches == 0 {
			t.Errorf("of the series: %+v", got)
		}
		if got := found["flakes.id"]; got.Worker != int64(*cfg.Tables["flakes"].InPlace.Worker) || got.LastKeyAt.IsZero() || got.Exhausted.Year() < 2080 || got.Lease != 0 || got.LeaseHeld || got.Fetches != 0 {
			t.Errorf("of the snowflakes: %+v", got)
		}
		if got := found["behind.id"]; got.Kind != policy.KindMaxPlusOne || got.Fetches != 4 || got.LastKeyAt.IsZero() {
			t.Errorf("of the greatest key plus one: %+v", got)
		}
		if got := found["lots/{value:tenant}"]; got.States != 2 || got.Next != 0 || got.Left < 2*8 || fmt.Sprint(got.Tables) != "[lots_*]" || got.Remaining < most-20 {
			t.Errorf("of the states of tenants: %+v", got)
		}
		if got := found["uuids.id"]; got.Kind != policy.KindUUIDv7 || got.States != 0 || got.Fetches != 0 {
			t.Errorf("of the UUIDs: %+v", got)
		}
		if got, there := found["leased.id"]; there && (got.Worker < 0 || !got.LeaseHeld || got.LeaseUntil.IsZero() || got.Fetches < 2 || got.Lease != time.Hour) {
			t.Errorf("of the leased worker: %+v", got)
		}
		for name, one := range found {
			last := uint64(0)
			for _, b := range one.FetchTimes {
				if b.Count < last {
					t.Errorf("%s: the buckets %v are not cumulative", name, one.FetchTimes)
				}
				last = b.Count
			}
			if last > one.Fetches || one.Fetches > 0 && one.FetchTimes == nil {
				t.Errorf("%s: %d fetches are in the buckets %v", name, one.Fetches, one.FetchTimes)
			}
		}
		if got := m.Stats().Tables["lots_1"].Entry; got != "lots_*" {
			t.Errorf("the entry of lots_1 is %q", got)
		}
	})
}

// TestNoKey: an INSERT that gets no key is counted by cause, and its source shows why.
func TestNoKey(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE few (id INT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE apart (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, m := s.Open(t, &policy.Config{
			Stores: map[string]policy.Store{"nobody": {Driver: "mysql", DSN: "somebody:secret@tcp(127.0.0.1:1)/nothing"}},
			Tables: map[string]policy.Table{
				"few":   {Column: "id", MaxBits: 31, InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 1<<31 - 2}},
				"apart": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, Store: "nobody", EnsureSchema: true}},
			},
		})
		for i := range 4 {
			if _, err := db.Exec("INSERT INTO few (a) VALUES (1)"); (err == nil) != (i < 2) {
				t.Fatalf("INSERT %d: %v", i, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error)
		go func() {
			_, err := db.ExecContext(ctx, s.Placeholders("INSERT INTO apart (a) VALUES (?)"), 1)
			ended <- err
		}()
		harness.Eventually(t, func() error {
			for _, one := range m.Sources() {
				if one.FetchErrors > 0 {
					return nil
				}
			}
			return errors.New("no fetch has failed")
		})
		cancel()
		if err := <-ended; err == nil {
			t.Fatal("a key came from nowhere")
		}
		tables := m.Stats().Tables
		if got := tables["few"]; got.Filled != 2 || got.Stored != 2 || got.Failed != 0 || got.FailedBy[keyfill.CauseExhausted] != 2 {
			t.Errorf("of the numbers that have ended: %+v", got)
		}
		if got := tables["apart"]; got.Filled != 0 || got.Failed != 0 || got.FailedBy[keyfill.CauseStore] != 1 {
			t.Errorf("of the store that is not there: %+v", got)
		}
		for _, one := range m.Sources() {
			switch one.Source {
			case "few.id":
				if one.Remaining != 0 || one.Max != 1<<31-1 || one.LastError != "" {
					t.Errorf("of the numbers that have ended: %+v", one)
				}
			case "apart.id":
				if one.Store != "nobody" || one.FetchErrors == 0 || one.LastErrorAt.IsZero() || one.LastError == "" || strings.Contains(one.LastError, "secret") || strings.Contains(one.LastError, "somebody") {
					t.Errorf("of the store that is not there: %+v", one)
				}
			}
		}
	})
}
