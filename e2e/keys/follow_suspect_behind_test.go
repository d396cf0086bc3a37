package keys_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// passed are numberings that other writers pass.
var passed = map[string]policy.Source{
	"block 1": harness.Counted(func(s *policy.Source) { s.Block = 1 }),
	"blocks":  harness.Counted(func(s *policy.Source) { s.Block = 3 }),
	"joined":  harness.Counted(func(s *policy.Source) { s.Block, s.Transaction = 0, policy.TransactionJoined }),
}

// eachPassed runs a test for each of them and each remedy, in a table in which the
// process has stored a row.
func eachPassed(t *testing.T, f func(t *testing.T, s *harness.Scratch, db *sql.DB, src policy.Source)) {
	for name, src := range passed {
		for _, remedy := range []keysource.Remedy{keysource.RemedyError, keysource.RemedyAdvance} {
			src.OnBehind = remedy
			t.Run(fmt.Sprintf("%s, %s", name, remedy), func(t *testing.T) {
				harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
					harness.CreateIDs(t, s, "t")
					db, _ := s.Open(t, harness.InPlace(src))
					harness.Exec(t, db, harness.InsertT)
					f(t, s, db, src)
				})
			})
		}
	}
}

// explicitRows returns an INSERT of the ids from one to another one.
func explicitRows(from, to int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO t (id, a) VALUES (%d, 0)", from)
	for id := from + 1; id <= to; id++ {
		fmt.Fprintf(&b, ", (%d, 0)", id)
	}
	return b.String()
}

// TestPassed: after others have stored ids ahead of the numbering, one INSERT fails
// by its key, and the ones after it do what on_behind says, outside of transactions
// and in them.
func TestPassed(t *testing.T) {
	t.Parallel()
	eachPassed(t, func(t *testing.T, s *harness.Scratch, db *sql.DB, src policy.Source) {
		for round, to := range []int{300, 600} {
			harness.Exec(t, s.Raw, explicitRows(300*round+2+40*round, to))
			duplicates, behind := 0, 0
			for range 20 {
				var err error
				if round == 0 {
					_, err = db.Exec(harness.InsertT)
				} else {
					err = insertInTx(t, db, harness.InsertT)
				}
				switch {
				case errors.Is(err, keysource.ErrStoreBehind):
					behind++
				case err != nil:
					duplicates++
				}
			}
			wantBehind := 0
			if src.OnBehind == keysource.RemedyError {
				wantBehind = 20 - duplicates
			}
			if duplicates > 1+3/max(int(src.Block), 1) || behind < wantBehind-3 || wantBehind == 0 && behind > 0 {
				t.Errorf("round %d: %d duplicates, %d times behind", round, duplicates, behind)
			}
			if src.OnBehind == keysource.RemedyError {
				return
			}
		}
	})
}

// insertInTx executes a query in a transaction, which it commits, or rolls back
// after an error.
func insertInTx(t *testing.T, db *sql.DB, query string) error {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(query); err != nil {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		return err
	}
	return tx.Commit()
}

// TestPassedInside: ids ahead of the numbering that only the statement's own
// transaction sees, and that no INSERT has brought, are found there.
func TestPassedInside(t *testing.T) {
	t.Parallel()
	eachPassed(t, func(t *testing.T, s *harness.Scratch, db *sql.DB, src policy.Source) {
		harness.Exec(t, s.Raw, explicitRows(-300, -2))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		run := func(query string) error {
			_, err := tx.Exec(query)
			return err
		}
		if err := run("UPDATE t SET id = -id WHERE id < 0"); err != nil {
			t.Fatal(err)
		}
		stored, behind, duplicates := 0, 0, 0
		for range 10 {
			if err := run("SAVEPOINT s"); err != nil {
				t.Fatal(err)
			}
			switch err := run(harness.InsertT); {
			case err == nil:
				stored++
			case errors.Is(err, keysource.ErrStoreBehind):
				behind++
			default:
				duplicates++
			}
			if err := run("ROLLBACK TO SAVEPOINT s"); err != nil {
				t.Fatal(err)
			}
		}
		if duplicates > 1 || src.OnBehind == keysource.RemedyAdvance && stored < 9 || src.OnBehind == keysource.RemedyError && behind < 9 {
			t.Errorf("%d stored, %d duplicates, %d times behind", stored, duplicates, behind)
		}
	})
}
