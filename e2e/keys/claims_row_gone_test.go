package keys_test

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// goneKinds are sources with a name whose state is a row of keyfill_sequences.
var goneKinds = map[string]func(*policy.Source){
	"sequence":        func(*policy.Source) {},
	"with a start":    func(s *policy.Source) { s.Start = 1 },
	"blocks of ten":   func(s *policy.Source) { s.Block = 10 },
	"joined":          func(s *policy.Source) { s.Transaction, s.Block = policy.TransactionJoined, 0 },
	"exclusive":       func(s *policy.Source) { s.Exclusive = true },
	"recycled series": func(s *policy.Source) { s.Kind, s.Block, s.Series = policy.KindRecycled, 1, 10 },
}

// TestNamedRowGone: the row of a state with a name that is deleted is not made again, while the
// rows are there that bind it to its columns: processes that run may have numbers of it. The
// error says what to run when they have ended.
func TestNamedRowGone(t *testing.T) {
	t.Parallel()
	for name, change := range goneKinds {
		t.Run(name, func(t *testing.T) {
			harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
				for _, table := range []string{"t", "u"} {
					harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL, a INT)")
					harness.Exec(t, s.Raw, "CREATE INDEX "+table+"_id ON "+table+" (id)")
				}
				open := func(table string) *sql.DB {
					cfg := harness.InPlace(harness.Counted(func(s *policy.Source) { s.Name = "numbers"; change(s) }))
					cfg.Tables = map[string]policy.Table{table: cfg.Tables["t"]}
					db, _ := s.Open(t, cfg)
					return db
				}
				insert := func(db *sql.DB, table string) error {
					_, err := db.Exec("INSERT INTO " + table + " (a) VALUES (1)")
					return err
				}
				running := map[string]*sql.DB{"t": open("t"), "u": open("u")}
				for range 8 {
					for table, db := range running {
						if err := insert(db, table); err != nil {
							t.Fatal(err)
						}
					}
				}
				harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences WHERE name = 'numbers'")
				late := open("t")
				err := insert(late, "t")
				var gone *store.Error
				if !errors.Is(err, store.ErrRowGone) || !errors.As(err, &gone) || gone.SQL == "" {
					t.Errorf("a process that begins then: %v, want %v and a statement", err, store.ErrRowGone)
				}
				for range 40 {
					for table, db := range running {
						if err := insert(db, table); err != nil && !errors.Is(err, store.ErrRowGone) {
							t.Fatalf("a process that runs: %v", err)
						}
					}
					_ = insert(late, "t")
				}
				for _, db := range []*sql.DB{running["t"], running["u"], late} {
					db.Close()
				}
				if gone != nil {
					harness.Exec(t, s.Raw, gone.SQL)
					for _, table := range []string{"t", "u"} {
						if err := insert(open(table), table); err != nil {
							t.Errorf("when the row is there again: %v", err)
						}
					}
				}
				if twice := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM (SELECT id FROM (SELECT id FROM t UNION ALL SELECT id FROM u) k GROUP BY id HAVING COUNT(*) > 1) m"); twice > 0 {
					t.Errorf("%d keys are there twice", twice)
				}
			})
		})
	}
}

// TestAllGone: where the rows that bind the state are deleted with it, or the tables are
// dropped, it is made again, and a program goes on at once.
func TestAllGone(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}), func(t *testing.T, s *harness.Scratch) {
		harness.CreateIDs(t, s, "t")
		cfg := harness.InPlace(harness.Counted(func(s *policy.Source) { s.Name = "numbers" }))
		running, _ := s.Open(t, cfg)
		for _, lose := range []string{"DELETE FROM keyfill_sequences", "DROP TABLE keyfill_sequences"} {
			fresh, _ := s.Open(t, cfg)
			harness.Exec(t, fresh, harness.InsertT)
			fresh.Close()
			harness.Exec(t, running, harness.InsertT)
			harness.Exec(t, s.Raw, lose)
			harness.Exec(t, s.Raw, "DELETE FROM t")
			for range 40 {
				harness.InsertWhenRemade(t, running)
			}
		}
	})
}
