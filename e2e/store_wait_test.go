package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreWaitLocked: what has to look at a table that is locked waits for as long as
// store_wait says, and no longer: where the INSERT's own transaction has the lock, the
// server sees no deadlock. The error names the time that was waited for.
func TestStoreWaitLocked(t *testing.T) {
	for _, c := range []struct {
		name, locked string
		own          bool // the INSERT's transaction locks it
		source       *policy.Source
	}{
		{"joined", "keyfill_sequences", false, joinedSource()},
		{"snowflake", "t", true, &policy.Source{Kind: policy.KindSnowflake, Store: policy.StoreNone, Worker: new(913)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, []engine{pgxDefault}, func(t *testing.T, s *scratch) {
				must(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				must(t, s.raw, store.DDL(s.dialect)...)
				cfg := fillID("t", policy.Table{InPlace: c.source})
				cfg.StoreWait = 1250 * time.Millisecond
				db, _ := s.open(t, cfg)
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				locks := tx
				if !c.own {
					if locks, err = s.raw.Begin(); err != nil {
						t.Fatal(err)
					}
					defer locks.Rollback()
				}
				if _, err := locks.Exec("LOCK TABLE " + c.locked + " IN ACCESS EXCLUSIVE MODE"); err != nil {
					t.Fatal(err)
				}
				_, err = tx.Exec("INSERT INTO t (a) VALUES ($1)", 1)
				if err == nil || !strings.Contains(err.Error(), "1.25s") {
					t.Errorf("%v, want an error that names store_wait", err)
				}
			})
		})
	}
}
