package keys_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// cleaner is how a library resets tables between tests and loads rows into them. inTx is
// done in one transaction, as far as the engine has transactions for it.
type cleaner struct {
	name         string
	inTx, behind []string
}

// fixture loads rows with keys of their own, as the files of fixtures have them.
const fixture = "INSERT INTO t (id, a) VALUES (1, 10), (2, 20), (7, 70)"

// cleanersOf are the statements of such libraries. The statements of go-testfixtures set
// counters to 10000 after their transaction.
func cleanersOf(e harness.Engine, native bool) []cleaner {
	if !e.IsPostgres() {
		reset := func(to int) string {
			if native {
				return fmt.Sprintf("ALTER SEQUENCE numbers RESTART WITH %d", to)
			}
			return fmt.Sprintf("ALTER TABLE t AUTO_INCREMENT = %d", to)
		}
		return []cleaner{
			{"go-testfixtures", []string{"SET FOREIGN_KEY_CHECKS = 0", "DELETE FROM t", fixture, "SET FOREIGN_KEY_CHECKS = 1"}, []string{reset(10000)}},
			{"delete", nil, []string{"DELETE FROM t", reset(1)}},
			{"truncate", nil, []string{"SET FOREIGN_KEY_CHECKS = 0", "TRUNCATE TABLE t", "SET FOREIGN_KEY_CHECKS = 1"}},
			{"truncate, reset and load", nil, []string{"TRUNCATE TABLE t", fixture, reset(8)}},
		}
	}
	return []cleaner{
		{"go-testfixtures", []string{"ALTER TABLE t DISABLE TRIGGER ALL", "DELETE FROM t", fixture, "ALTER TABLE t ENABLE TRIGGER ALL"},
			[]string{"SELECT SETVAL('t_id_seq', 10000)"}},
		{"delete", nil, []string{"DELETE FROM t", "ALTER SEQUENCE t_id_seq RESTART WITH 1"}},
		{"truncate", nil, []string{"TRUNCATE TABLE t RESTART IDENTITY CASCADE"}},
		{"truncate, in a transaction with an INSERT", []string{"TRUNCATE TABLE t RESTART IDENTITY CASCADE", "INSERT INTO t (a) VALUES (5)"}, nil},
		{"truncate, reset and load", []string{"TRUNCATE TABLE t RESTART IDENTITY", fixture, "SELECT setval('t_id_seq', (SELECT MAX(id) FROM t))"}, nil},
	}
}

// TestCleaned: whatever resets the tables between tests, through keyfill or beside it, no
// INSERT fails after it that the plain driver stores.
func TestCleaned(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"native": {Kind: policy.KindNative},
		"sequence": harness.Mapped(policy.KindSequence, func(s *policy.Source) {
			s.Exclusive = true
		}),
		"joined": harness.Mapped(policy.KindSequence, func(s *policy.Source) {
			s.Exclusive, s.Transaction = true, policy.TransactionJoined
		}),
	}
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				create := "CREATE TABLE t (id BIGSERIAL PRIMARY KEY, a INT)"
				switch {
				case s.IsPostgres():
				case name == "native":
					harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers")
					create = "CREATE TABLE t (id " + s.Drawing("numbers") + " NOT NULL PRIMARY KEY, a INT)"
				default:
					create = "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT)"
				}
				harness.Exec(t, s.Raw, create)
				source := source
				source.FollowExplicit = name == "sequence" && s.IsPostgres()
				db, _ := s.Open(t, harness.KeyKind{Source: source}.Config(s.Engine))
				ways := map[string]*sql.DB{"through keyfill": db, "beside it": s.Raw}
				for _, c := range cleanersOf(s.Engine, name == "native") {
					for way, at := range ways {
						for range 2 {
							clean(t, at, c)
							for i := range 4 {
								if _, err := db.Exec("INSERT INTO t (a) VALUES " + strings.Join(slices.Repeat([]string{"(1)"}, i+1), ", ")); err != nil {
									t.Fatalf("after %s, %s: %v", c.name, way, err)
								}
							}
						}
					}
				}
			})
		})
	}
}

// clean does what a cleaner does.
func clean(t *testing.T, db *sql.DB, c cleaner) {
	t.Helper()
	if c.inTx != nil {
		if err := harness.InTx(db, func(tx *sql.Tx) error {
			harness.Must(t, tx, c.inTx...)
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	conn, err := db.Conn(t.Context()) // which the settings are for
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	harness.Must(t, conn, c.behind...)
}
