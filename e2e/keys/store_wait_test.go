package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreWaitLocked: what has to look at a table that is locked waits for as long as
// store_wait says, and no longer: where the INSERT's own transaction has the lock, the
// server sees no deadlock. The error names the time that was waited for.
func TestStoreWaitLocked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, locked string
		own          bool // the INSERT's transaction locks it
		source       *policy.Source
	}{
		{"joined", "keyfill_sequences", false, harness.JoinedSource()},
		{"snowflake", "t", true, &policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone}},
	} {
		t.Run(c.name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				harness.Must(t, s.Raw, store.DDL(s.Dialect)...)
				source := *c.source
				if source.Kind == policy.KindSnowflake { // each engine has a number of its own
					source.Worker = harness.NewWorker()
				}
				var err error
				wait := 1250 * time.Millisecond
				// Where the time was up before the INSERT came to the lock, the next one has more.
				for ; wait < 2*time.Minute; wait *= 4 {
					cfg := harness.FillID("t", policy.Table{InPlace: &source})
					cfg.StoreWait = wait
					if err = insertLocked(t, s, cfg, c.locked, c.own); err == nil || !strings.Contains(err.Error(), "the catalog cannot be read") {
						break
					}
				}
				if err == nil || !strings.Contains(err.Error(), wait.String()) {
					t.Errorf("%v, want an error that names store_wait", err)
				}
			})
		})
	}
}

// insertLocked inserts while a table is locked, by the INSERT's own transaction or by
// another one, and returns the error of the INSERT.
func insertLocked(t *testing.T, s *harness.Scratch, cfg *policy.Config, locked string, own bool) error {
	t.Helper()
	db, _ := s.Open(t, cfg)
	defer db.Close() // so that the next one may have its worker's number
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	locks := tx
	if !own {
		if locks, err = s.Raw.Begin(); err != nil {
			t.Fatal(err)
		}
		defer locks.Rollback()
	}
	if _, err := locks.Exec("LOCK TABLE " + locked + " IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec("INSERT INTO t (a) VALUES ($1)", 1)
	return err
}
