package stores_test

import (
	"database/sql"
	"log/slog"
	"strconv"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// TestOneNumberTwice: of two processes that were given one worker's number, both get a
// warning, and one that is started again with its number does not. They are two databases
// here, which know nothing of each other where a store keeps their marks.
func TestOneNumberTwice(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(t *testing.T) policy.Store{
		"MariaDB": func(t *testing.T) policy.Store {
			return policy.Store{Driver: "mysql", DSN: harness.MySQLDefault.DSN(t)}
		},
		"Redis": func(t *testing.T) policy.Store {
			return policy.Store{Driver: "redis", Endpoints: []string{testdb.StartRedis(t).Addr()}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.SQLiteFile.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			central := at(t)
			open := func(worker int) (*sql.DB, *lines) {
				cfg := harness.InPlace(policy.Source{Kind: policy.KindSnowflake, Store: "central", Worker: &worker, EnsureSchema: central.DSN != ""})
				cfg.Stores = map[string]policy.Store{"central": central}
				log := new(lines)
				db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
				return db, log
			}
			const text = "another process has the number of this worker"
			number := *harness.NewWorker()
			db, before := open(number)
			harness.Exec(t, db, harness.InsertT)
			db.Close()
			one, first := open(number)
			two, second := open(number)
			apart, third := open(number + 1)
			insert := func() {
				for _, db := range []*sql.DB{one, two, apart} {
					harness.Exec(t, db, harness.InsertT)
				}
			}
			for _, log := range []*lines{first, second} {
				log.await(t, text, insert).has(t, slog.LevelWarn, "source worker count", map[string]string{"source": "t.id", "worker": strconv.Itoa(number)})
			}
			if len(before.of(text))+len(third.of(text)) > 0 {
				t.Errorf("a process with a number of its own is told of another one: %s%s", before.texts(), third.texts())
			}
		})
	}
}
