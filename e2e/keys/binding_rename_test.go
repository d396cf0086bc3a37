package keys_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestRenamed: a table that takes another one's name brings keys of which the numbering
// of that name knows nothing. Where the rename goes by, the two are compared before the
// next key, so that none comes twice where the table has no unique index.
//
//deviation:insert-select | A renamed table keeps the keys of its old name. After RENAME, `sp_rename` or EXCHANGE PARTITION this process gives up what it has reserved, and compares each numbering with its table before the next key. | all | `x_new` becomes `x`, each with a state of its own | one `name:` for the states of both
//deviation:insert-select | keyfill does not see what another process, a routine or a string renames, nor ATTACH and SWITCH of partitions: a key that is there already is a duplicate-key error, after which the numbering is compared. Without a unique index it is stored twice. So for a parent of `scope:`. | all | `EXEC p`, which renames `x_new` | one `name:` for the states of both
//deviation:insert-select | An INSERT into a table or column that its own transaction has renamed waits for that transaction and fails after `store_wait`. | SQL Server | `BEGIN TRAN; EXEC sp_rename …; INSERT …` | commit first
func TestRenamed(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, db *sql.DB) error{
		"pool": func(_ *testing.T, db *sql.DB) error {
			_, err := db.Exec("ALTER TABLE u RENAME TO t")
			return err
		},
		"prepared": func(_ *testing.T, db *sql.DB) error {
			_, err := harness.PreparedExec(db, "ALTER TABLE u RENAME TO t")
			return err
		},
		"transaction": func(t *testing.T, db *sql.DB) error {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("ALTER TABLE u RENAME TO t"); err != nil {
				return err
			}
			return tx.Commit()
		},
		"text": func(t *testing.T, db *sql.DB) error {
			for _, text := range []string{"BEGIN", "ALTER TABLE u RENAME TO t", "COMMIT"} {
				if _, err := db.Exec(text); err != nil {
					return err
				}
			}
			return nil
		},
	}
	for name, rename := range ways {
		for _, remedy := range []keysource.Remedy{keysource.RemedyAdvance, keysource.RemedyError} {
			t.Run(fmt.Sprintf("%s/%s", name, remedy), func(t *testing.T) {
				harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
					for _, src := range []policy.Source{
						harness.Counted(func(s *policy.Source) { s.OnBehind = remedy }),
						harness.Counted(func(s *policy.Source) { s.OnBehind, s.Block, s.Transaction = remedy, 0, policy.TransactionJoined }),
					} {
						for _, table := range []string{"t", "u"} {
							harness.Must(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL, a INT)", "CREATE INDEX "+table+"_id ON "+table+" (id)")
						}
						db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
							"t": {Column: "id", InPlace: &src}, "u": {Column: "id", InPlace: &src},
						}})
						db.SetMaxOpenConns(1)
						harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (1)")
						for range 15 {
							harness.Exec(t, db, "INSERT INTO u (a) VALUES (2), (2)")
						}
						harness.Exec(t, db, "DROP TABLE t")
						if err := rename(t, db); err != nil {
							t.Fatal(err)
						}
						for range 3 {
							_, err := db.Exec("INSERT INTO t (a) VALUES (3)")
							if remedy == keysource.RemedyAdvance && err != nil || err != nil && !errors.Is(err, keysource.ErrStoreBehind) {
								t.Error(err)
							}
						}
						if n, distinct := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"), harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM t"); n != distinct {
							t.Errorf("%d rows and %d keys: %v", n, distinct, harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id"))
						}
						db.Close()
						harness.Must(t, s.Raw, "DROP TABLE t", "DELETE FROM keyfill_sequences")
					}
				})
			})
		}
	}
}
