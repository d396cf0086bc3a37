package joined_test

import (
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// goneForms are the forms of numberings whose tables are dropped.
var goneForms = []string{"autonomous", "blocks", "recycled", "joined", "scope"}

// openGone opens t as one more process, with a numbering of a form.
func openGone(t *testing.T, s *harness.Scratch, form string) *sql.DB {
	t.Helper()
	src := *harness.JoinedSource()
	switch form {
	case "autonomous":
		src = harness.Counted(func(s *policy.Source) { s.Block = 1 })
	case "blocks":
		src = harness.Counted(func(s *policy.Source) { s.Block = 3 })
	case "recycled":
		src = harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Block, s.Series = 1, 100 })
	case "scope":
		src.Scope = &policy.Scope{harness.ByOrder}
	}
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &src}))
	return db
}

// stateTables are keyfill's own.
var stateTables = []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"}

func dropStates(t *testing.T, s *harness.Scratch) {
	t.Helper()
	for _, table := range stateTables {
		harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
	}
}

// eachGone runs f for the forms of numberings.
func eachGone(t *testing.T, f func(t *testing.T, s *harness.Scratch, form string)) {
	t.Parallel()
	for _, form := range goneForms {
		t.Run(form, func(t *testing.T) {
			harness.Each(t, harness.ByTurns(t, backEngines), func(t *testing.T, s *harness.Scratch) { f(t, s, form) })
		})
	}
}

// insertGone inserts a row, alone or in a transaction.
func insertGone(db *sql.DB, inTx bool) error {
	if !inTx {
		_, err := db.Exec(insertBack)
		return err
	}
	return harness.InTx(db, func(tx *sql.Tx) error {
		_, err := tx.Exec(insertBack)
		return err
	})
}

// TestStatesGone: tables of states that are dropped under a process, once or again, are made
// again by it. The INSERT that meets it may fail, and the next one goes on, on its connection
// and on others, alone or in a transaction.
func TestStatesGone(t *testing.T) {
	eachGone(t, func(t *testing.T, s *harness.Scratch, form string) {
		if form == "recycled" && s.Server != nil {
			return // it asks a server that has refused again after a second
		}
		makeBack(t, s)
		db := openGone(t, s, form)
		if s.Memory {
			db.SetMaxOpenConns(1)
		}
		stored := 0
		for round := range 3 {
			for _, inTx := range []bool{true, false} {
				var conns []*sql.Conn
				for range 2 { // connections that have drawn
					if s.Memory {
						break
					}
					conn := harness.ConnOf(t, db)
					if _, err := conn.ExecContext(t.Context(), insertBack); err != nil {
						t.Fatal(err)
					}
					stored++
					conns = append(conns, conn)
				}
				for _, conn := range conns {
					conn.Close()
				}
				dropStates(t, s)
				failed := 0
				var first error
				for range 10 {
					switch err := insertGone(db, inTx); {
					case err == nil:
						stored++
					case failed == 0:
						first = err
						fallthrough
					default:
						failed++
					}
				}
				if failed > 1 {
					t.Errorf("round %d, in a transaction %v: %d of 10 failed, the first one: %v", round, inTx, failed, first)
				}
			}
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM t"); n != stored {
			t.Errorf("%d numbers, want %d", n, stored)
		}
	})
}
