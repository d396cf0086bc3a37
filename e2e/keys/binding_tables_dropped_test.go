package keys_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// droppedKinds are sources, each with the table of states that goes.
var droppedKinds = []struct {
	name, table string
	source      policy.Source
}{
	{"sequence", "keyfill_sequences", policy.Source{Kind: policy.KindSequence, Block: 1, Start: 1}},
	{"joined", "keyfill_sequences", policy.Source{Kind: policy.KindSequence, Start: 1, Transaction: policy.TransactionJoined}},
	{"recycled", "keyfill_series", policy.Source{Kind: policy.KindRecycled, Block: 1, Series: 100}},
	{"recycled, counter", "keyfill_sequences", policy.Source{Kind: policy.KindRecycled, Block: 1, Series: 2}},
	{"snowflake", "keyfill_workers", policy.Source{Kind: policy.KindSnowflake}},
	{"leased", "keyfill_workers", policy.Source{Kind: policy.KindSnowflake, WorkerLease: time.Minute}},
}

// withStates is the policy of a source for t whose states are in a database that has a
// table of marks, and that database: on SQLite a file of its own for a snowflake's.
func withStates(t *testing.T, s *harness.Scratch, src policy.Source) (*policy.Config, *sql.DB) {
	t.Helper()
	cfg, raw := &policy.Config{}, s.Raw
	if src.Kind == policy.KindSnowflake {
		if src.WorkerLease == 0 {
			src.Worker = harness.NewWorker()
		}
		if s.Server == nil {
			file := "file:" + filepath.Join(t.TempDir(), "central.db")
			cfg.Stores = map[string]policy.Store{"central": {Driver: "sqlite", DSN: file}}
			src.Store, raw = "central", harness.Open(t, "sqlite", file)
		}
	}
	cfg.Tables = map[string]policy.Table{"t": {Column: "id", InPlace: &src}}
	return cfg, raw
}

// TestTablesDropped: without ensure_schema a table of states that is dropped while the
// process runs is an error at once, which says what to do.
func TestTablesDropped(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, k := range droppedKinds {
			t.Run(k.name, func(t *testing.T) {
				s := s.Engine.Scratch(t)
				harness.CreateIDs(t, s, "t")
				src := k.source
				src.Create = new(true)
				if src.Kind == policy.KindSnowflake {
					src.Create = nil
				}
				cfg, raw := withStates(t, s, src)
				for _, q := range store.DDL(s.Dialect) {
					harness.Exec(t, raw, q)
				}
				db, _ := s.Open(t, cfg)
				harness.Exec(t, db, harness.InsertT)
				harness.Exec(t, raw, "DROP TABLE "+k.table)
				// What was reserved before is used first.
				var err error
				for until := time.Now().Add(time.Minute); err == nil && time.Now().Before(until); {
					_, err = db.Exec(harness.InsertT)
				}
				if !errors.Is(err, store.ErrTables) || errors.Is(err, keysource.ErrStoreDown) {
					t.Errorf("%v, want %v", err, store.ErrTables)
				}
			})
		}
	})
}

// TestWorkersDropped: keyfill_workers that is dropped alone while processes run is made
// again with ensure_schema, and no key comes twice, also where two have one number.
func TestWorkersDropped(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		for name, lease := range map[string]time.Duration{"one number": 0, "leased": time.Minute} {
			t.Run(name, func(t *testing.T) {
				s := s.Engine.Scratch(t)
				harness.CreateIDs(t, s, "t")
				cfg, raw := withStates(t, s, policy.Source{Kind: policy.KindSnowflake, EnsureSchema: true, WorkerLease: lease})
				var all []*sql.DB
				for range 2 {
					db, _ := s.Open(t, cfg)
					harness.Exec(t, db, harness.InsertT)
					all = append(all, db)
				}
				marks := harness.Count(t, raw, "SELECT COUNT(*) FROM keyfill_workers")
				harness.Exec(t, raw, "DROP TABLE keyfill_workers")
				n := 2
				harness.Eventually(t, func() error {
					for _, db := range all {
						harness.InsertWhenRemade(t, db)
						n++
					}
					var now int
					if err := raw.QueryRow("SELECT COUNT(*) FROM keyfill_workers").Scan(&now); err != nil || now < marks {
						return errors.Join(err, errors.New("not all marks are there again"))
					}
					return nil
				})
				for range 5 {
					for _, db := range all {
						harness.Exec(t, db, harness.InsertT)
						n++
					}
				}
				if stored := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); stored != n {
					t.Errorf("%d rows, want %d", stored, n)
				}
			})
		}
	})
}
