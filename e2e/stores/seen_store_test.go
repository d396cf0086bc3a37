package stores_test

import (
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreDown: a store that is stopped is logged once as a warning and once as an error,
// however many attempts and INSERTs there are, and its return once; and INSERTs that had to wait.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		central harness.Engine
		kind    *testdb.Engine
		app     harness.Engine
		source  policy.Source
	}{
		{"sequence", harness.PgxDefault, testdb.PostgreSQL(), harness.MySQLDefault, policy.Source{Kind: policy.KindSequence, Block: 5}},
		{"recycled", harness.MySQLDefault, testdb.MariaDB(), harness.PgxDefault, policy.Source{Kind: policy.KindRecycled, Block: 5, Series: 1000}},
		{"snowflake", harness.MySQLDefault, testdb.MariaDB(), harness.SQLiteFile, policy.Source{Kind: policy.KindSnowflake, Worker: new(3)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			central := c.central
			central.Server = testdb.Start(t, c.kind)
			s := c.app.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			c.source.Store, c.source.EnsureSchema = "central", true
			if c.source.Kind != policy.KindSnowflake {
				c.source.Create, c.source.OnBehind = new(true), keysource.RemedyAdvance
			}
			cfg := harness.InPlace(c.source)
			cfg.Stores = map[string]policy.Store{"central": {Driver: central.Driver, DSN: central.DSN(t)}}
			cfg.StoreWait = 300 * time.Millisecond
			log := new(lines)
			db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
			// With so short a store_wait the store may seem down on a busy machine.
			var downs, backs int
			for first := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				_, err := db.Exec(harness.InsertT)
				if downs, backs = len(log.of("store down")), len(log.of("store back")); err == nil && (downs == 0 || log.endsIn("store back")) {
					break
				}
				if time.Since(first) > harness.Limit {
					t.Fatalf("the store seems down: %v", err)
				}
			}

			central.Server.Stop(t)
			// It is a warning while INSERTs have keys in hand, or wait, and an error once one
			// has failed. On a busy machine one may fail before the store is called down.
			down := log.awaitAfter(t, "store down", downs, func() { _, _ = db.Exec(harness.InsertT) })
			if down.level == slog.LevelWarn {
				down.has(t, slog.LevelWarn, "store source error", map[string]string{"store": "central", "source": "t.id"})
				downs++
				down = log.awaitAfter(t, "store down", downs, func() { _, _ = db.Exec(harness.InsertT) })
			}
			down.has(t, slog.LevelError, "store source error", map[string]string{"store": "central", "source": "t.id"})
			waited := log.await(t, "an INSERT waited for its block", func() { _, _ = db.Exec(harness.InsertT) })
			waited.has(t, slog.LevelWarn, "table column source waited waits", map[string]string{"table": "t", "column": "id", "source": "t.id", "waits": "1"})
			if d, err := time.ParseDuration(waited.attrs["waited"]); err != nil || d < 100*time.Millisecond {
				t.Errorf("the INSERT waited %s, want 100ms or longer", waited.attrs["waited"])
			}
			failedOnce(t, db)
			if n := len(log.of("store down")) - downs; n != 1 {
				t.Errorf("%d lines say that the store is down after INSERTs failed, want 1", n)
			}
			if n := len(log.of("store back")); n != backs {
				t.Errorf("the store is called back while it is down: %s", log.texts())
			}

			central.Server.Restart(t)
			back := log.awaitAfter(t, "store back", backs, func() { _, _ = db.Exec(harness.InsertT) })
			back.has(t, slog.LevelInfo, "store down failures", map[string]string{"store": "central"})
			if d, err := time.ParseDuration(back.attrs["down"]); err != nil || d <= 0 {
				t.Errorf("the store was down for %s", back.attrs["down"])
			}
			if n := len(log.of("store down")) - downs; n != 1 {
				t.Errorf("%d lines say that the store is down after INSERTs failed, want 1: %s", n, log.texts())
			}
		})
	}
}

// failedOnce inserts until an INSERT fails, and so has waited for store_wait.
func failedOnce(t *testing.T, db *sql.DB) {
	t.Helper()
	for began := time.Now(); time.Since(began) < harness.Limit; {
		if _, err := db.Exec(harness.InsertT); err != nil {
			return
		}
	}
	t.Fatal("no INSERT fails without a store")
}
