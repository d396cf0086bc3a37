package stores_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

const typo = `version: 1
tables:
  t: {column: id, source: uuidv7}
  ordres: {column: id, source: uuidv4}
  "log_*": {column: id, source: ulid}
  "t_*": {column: id, source: uuidv7}
  made: {column: id, source: identity}
  still: {column: id, mode: off}
`

// TestOpenedAndTypo: the first connection says which policy is at work, once, and the
// thousandth INSERT which entries no INSERT has matched.
func TestOpenedAndTypo(t *testing.T) {
	t.Parallel()
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		for _, table := range []string{"t", "t_1", "oders"} {
			harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (id VARCHAR(36) DEFAULT 'x', a INT)", table))
		}
		path := filepath.Join(t.TempDir(), "keyfill.yaml")
		if err := os.WriteFile(path, []byte(typo), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := policy.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		log := new(lines)
		db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
		if all := log.texts(); all != "" {
			t.Errorf("before the first connection there is %s", all)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		sum := sha256.Sum256([]byte(typo))
		for i := range 1200 {
			query := []string{"INSERT INTO t (a) VALUES (1)", "INSERT INTO t_1 (a) VALUES (1)", "INSERT INTO oders (a) VALUES (1)"}[i%3]
			if i == 900 && len(log.of("no INSERT has matched an entry of the policy")) > 0 {
				t.Errorf("an entry is suspected after %d INSERTs", i)
			}
			if _, err := tx.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		opened := log.of("opened")
		if len(opened) != 1 {
			t.Fatalf("%d lines say that the database is opened, want 1", len(opened))
		}
		opened[0].has(t, slog.LevelInfo, "policy hash dialect tables sources mode", map[string]string{
			"policy": path, "hash": hex.EncodeToString(sum[:])[:16], "tables": "6", "mode": "fill",
			"sources": "identity ulid uuidv4 uuidv7", "dialect": map[bool]string{true: "mariadb", false: s.Dialect.Name}[s.Dialect.Name == "mysql"],
		})
		entries := map[string]string{}
		for _, one := range log.of("no INSERT has matched an entry of the policy") {
			one.has(t, slog.LevelWarn, "entry line inserts", nil)
			entries[one.attrs["entry"]] = one.attrs["line"]
		}
		if len(entries) != 2 || entries["ordres"] != "4" || entries["log_*"] != "5" {
			t.Errorf("no INSERT has matched %v, want ordres of line 4 and log_* of line 5: %s", entries, log.texts())
		}
	})
}

// TestNearEnd: a source that has used four fifths of its numbers says so once, of each way
// to draw numbers.
func TestNearEnd(t *testing.T) {
	t.Parallel()
	const last = 1<<31 - 1
	for name, source := range map[string]policy.Source{
		"blocks": {Kind: policy.KindSequence, Block: 10},
		"joined": {Kind: policy.KindSequence, Transaction: policy.TransactionJoined},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
				source := source
				source.EnsureSchema, source.Create, source.OnBehind = true, new(true), keysource.RemedyAdvance
				cfg := harness.FillID("t", policy.Table{InPlace: &source, MaxBits: 31})
				log := new(lines)
				db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
				insert := "INSERT INTO t (a) VALUES (1)"
				harness.Exec(t, db, insert)
				harness.Exec(t, db, insert)
				if got := log.of("most keys of a source are used"); len(got) != 0 {
					t.Errorf("at the first keys there is %s", got)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE next_value > 1"); n == 0 {
					t.Fatal("no state is raised")
				}
				harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d", last/5*4+100))
				db, _ = s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
				for range 3 {
					harness.Exec(t, db, insert)
				}
				got := log.of("most keys of a source are used")
				if len(got) != 1 {
					t.Fatalf("%d lines say that the source comes to its end, want 1: %s", len(got), log.texts())
				}
				got[0].has(t, slog.LevelWarn, "table column keys remedy count", map[string]string{"table": "t", "column": "id", "keys": fmt.Sprint(last)})
			})
		})
	}
}
