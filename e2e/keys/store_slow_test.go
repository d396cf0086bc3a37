package keys_test

import (
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreSlow: an answer of the store that takes long is waited for if store_wait is
// long, and the numbers have no gap. Numbers that a server reserves for an attempt that
// was given up are never handed out.
func TestStoreSlow(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Block: 1}})
		cfg.StoreWait = 24 * time.Hour
		db, _ := s.Open(t, cfg)
		harness.Must(t, db, "INSERT INTO t (a) VALUES (1)")
		tx, err := s.Raw.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("UPDATE keyfill_sequences SET next_value = next_value"); err != nil {
			t.Fatal(err)
		}
		stored := make(chan error, 1)
		go func() {
			_, err := db.Exec("INSERT INTO t (a) VALUES (2)")
			stored <- err
		}()
		time.Sleep(2 * time.Second) // longer than an attempt has with the default of store_wait
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, harness.UpTo(2)) {
			t.Errorf("keys %v, want no gap", got)
		}
	})
}
