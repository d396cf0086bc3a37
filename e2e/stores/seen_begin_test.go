package stores_test

import (
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSeenFromTheFirst: a source that is exhausted when its process starts, and one whose store
// does not answer then, are seen in its statistics: alerts rest on them.
func TestSeenFromTheFirst(t *testing.T) {
	t.Parallel()
	const last = 1<<31 - 1
	for name, source := range map[string]policy.Source{
		"sequence": {Kind: policy.KindSequence, EnsureSchema: true, Start: last - 1, Block: 1},
		"blocks":   {Kind: policy.KindSequence, EnsureSchema: true, Start: last - 1, Block: 100},
		"joined":   {Kind: policy.KindSequence, EnsureSchema: true, Start: last - 1, Transaction: policy.TransactionJoined},
	} {
		t.Run("exhausted/"+name, func(t *testing.T) {
			t.Parallel()
			s := harness.SQLiteFile.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			cfg := harness.FillID("t", policy.Table{InPlace: &source, MaxBits: 31})
			first, _ := s.Open(t, cfg)
			harness.Exec(t, first, harness.InsertT)
			harness.Exec(t, first, harness.InsertT)
			first.Close()
			db, m := s.Open(t, cfg)
			harness.MustFail(t, db, harness.InsertT)
			if st := m.Sources()[0]; st.States != 1 || st.Max != last || st.Remaining != 0 || st.FetchErrors == 0 || st.LastError == "" {
				t.Errorf("an exhausted source is %+v", st)
			}
		})
	}
	for name, source := range map[string]policy.Source{
		"sequence":  {Kind: policy.KindSequence, Store: "central", Start: 1, Create: new(true), EnsureSchema: true},
		"behind":    {Kind: policy.KindSequence, Store: "central", EnsureSchema: true},
		"recycled":  {Kind: policy.KindRecycled, Store: "central", Start: 1, Create: new(true), EnsureSchema: true, Series: 1000},
		"snowflake": {Kind: policy.KindSnowflake, Store: "central", Worker: harness.NewWorker(), EnsureSchema: true},
		"leased":    {Kind: policy.KindSnowflake, Store: "central", WorkerLease: time.Minute, EnsureSchema: true},
	} {
		t.Run("down/"+name, func(t *testing.T) {
			t.Parallel()
			for _, at := range []policy.Store{
				{Driver: "mysql", DSN: "u:p@tcp(" + freeAddress(t) + ")/d"},
				{Driver: "redis", Endpoints: []string{freeAddress(t)}},
			} {
				s := harness.SQLiteFile.Scratch(t)
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				source := source
				source.EnsureSchema = at.DSN != ""
				cfg := harness.InPlace(source)
				cfg.Stores = map[string]policy.Store{"central": at}
				cfg.StoreWait = time.Second
				db, m := s.OpenWith(t, keyfill.Options{Policy: cfg})
				harness.MustFail(t, db, harness.InsertT)
				if st := m.Sources()[0]; st.States != 1 || st.FetchErrors == 0 || st.LastError == "" {
					t.Errorf("a source whose %s has not answered yet is %+v", at.Driver, st)
				}
			}
		})
	}
}
