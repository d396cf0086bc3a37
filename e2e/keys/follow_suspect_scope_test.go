package keys_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
)

// TestPassedWithin: after others have stored lines of a parent ahead of its
// numbering, one INSERT fails by its key, and the ones after it do what on_behind
// says, outside of transactions and in them. Other parents go on.
func TestPassedWithin(t *testing.T) {
	t.Parallel()
	for _, remedy := range []keysource.Remedy{"", keysource.RemedyAdvance, keysource.RemedyWarn} {
		t.Run(fmt.Sprintf("%q", remedy), func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.CreateLines(t, s)
				cfg := harness.LinesOf(harness.ByOrder)
				cfg.Tables["order_lines"].Keys[0].InPlace.OnBehind = remedy
				db, m := s.Open(t, cfg)
				const insert = "INSERT INTO order_lines (order_id, item) VALUES (7, 'a')"
				harness.Exec(t, db, insert)
				passes := func(from, to int) {
					var b strings.Builder
					for no := from; no <= to; no++ {
						fmt.Fprintf(&b, ", (7, %d, 'x')", no)
					}
					harness.Exec(t, s.Raw, "INSERT INTO order_lines (order_id, no, item) VALUES "+b.String()[2:])
				}
				runs := func(run func() error) (stored, behind, duplicates int) {
					for range 5 {
						switch err := run(); {
						case err == nil:
							stored++
						case errors.Is(err, keysource.ErrStoreBehind):
							behind++
						default:
							duplicates++
						}
					}
					return stored, behind, duplicates
				}
				check := func(where string, stored, behind, duplicates int) {
					t.Helper()
					want := map[keysource.Remedy][3]int{
						"": {0, 4, 1}, keysource.RemedyAdvance: {4, 0, 1}, keysource.RemedyWarn: {0, 0, 5},
					}[remedy]
					if got := [3]int{stored, behind, duplicates}; got != want {
						t.Errorf("%s: stored, behind and duplicates are %v, want %v", where, got, want)
					}
				}
				passes(2, 40)
				stored, behind, duplicates := runs(func() error { _, err := db.Exec(insert); return err })
				check("outside", stored, behind, duplicates)
				harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (8, 'b'), (8, 'b')")
				if remedy == keysource.RemedyAdvance {
					passes(45, 80)
					stored, behind, duplicates = runs(func() error { return insertInTx(t, db, insert) })
					check("inside", stored, behind, duplicates)
				}
				if n := m.Stats().Tables["order_lines"].Suspects; (n > 0) != (remedy != keysource.RemedyWarn) {
					t.Errorf("%d suspects are counted", n)
				}
				// Once the numbering is set right, it goes on.
				harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 101 WHERE name = 'order_lines.no[7]'")
				harness.Exec(t, db, insert)
				if no := harness.Count(t, s.Raw, "SELECT MAX(no) FROM order_lines WHERE order_id = 7"); no != 101 {
					t.Errorf("the last line is %d, want 101", no)
				}
			})
		})
	}
}

// TestPassedWithinInside: lines ahead of the numbering that only the statement's own
// transaction sees are found there.
func TestPassedWithinInside(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.CreateLines(t, s)
		cfg := harness.LinesOf(harness.ByOrder)
		cfg.Tables["order_lines"].Keys[0].InPlace.OnBehind = keysource.RemedyAdvance
		db, _ := s.Open(t, cfg)
		const insert = "INSERT INTO order_lines (order_id, item) VALUES (7, 'a')"
		harness.Exec(t, db, insert)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		run := func(query string) error {
			_, err := tx.Exec(query)
			return err
		}
		if err := run("INSERT INTO order_lines (order_id, no, item) VALUES (7, 2, 'x'), (7, 3, 'x')"); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if err := run("SAVEPOINT s"); err != nil {
				t.Fatal(err)
			}
			if err := run(insert); (err != nil) != (i == 0) {
				t.Errorf("the INSERT of number %d: %v", i, err)
			}
			if err := run("ROLLBACK TO SAVEPOINT s"); err != nil {
				t.Fatal(err)
			}
		}
	})
}
