package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// skippingInserts are INSERTs that leave out rows which are there already, by dialect; %
// is for their rows.
var skippingInserts = map[string][]string{
	"sqlite":  {"INSERT OR IGNORE INTO t (a) VALUES %", "INSERT INTO t (a) VALUES % ON CONFLICT DO NOTHING", "INSERT INTO t (a) VALUES % ON CONFLICT (id) DO NOTHING"},
	"mariadb": {"INSERT IGNORE INTO t (a) VALUES %"},
}

var takenEngines = []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MattnFile, harness.MySQLDefault, harness.MySQLInterp}

// openTaken opens a database in which keyfill has numbered the row 1 of t, and a program
// without keyfill the rows 2 and 3.
func openTaken(t *testing.T, s *harness.Scratch, also ...string) *sql.DB {
	t.Helper()
	column := "INTEGER PRIMARY KEY"
	if s.Server != nil {
		column = "BIGINT PRIMARY KEY AUTO_INCREMENT"
	}
	harness.Must(t, s.Raw, "DROP TABLE IF EXISTS t", "CREATE TABLE t (id "+column+", a INT, u INT UNIQUE)")
	harness.Must(t, s.Raw, also...)
	src := harness.Counted(func(p *policy.Source) { p.Exclusive = s.Server != nil })
	db, _ := s.Open(t, harness.InPlace(src))
	harness.Exec(t, db, harness.InsertT)
	harness.Must(t, s.Raw, "INSERT INTO t (a, u) VALUES (2, 2)", "INSERT INTO t (a) VALUES (3)")
	return db
}

// TestNumberTaken: a row that would be left out because another program has numbered
// another row so gets another number.
//
//deviation:brought-keys | To find a left-out row, keyfill asks for its number, on MySQL and MariaDB by `SHOW WARNINGS`, and reads the rows of RETURNING before the caller does. | all, in tables that the engine numbers too | `INSERT OR IGNORE INTO t (a) … RETURNING id` | –
//deviation:brought-keys | If some rows of an INSERT bring their keys, and on SQLite with RETURNING through Exec, keyfill checks the drawn numbers by a query before the INSERT, and draws once more if one is in use. | all, in tables that the engine numbers too | `INSERT OR IGNORE INTO t (id, a) VALUES (7, 1), (NULL, 2)` | –
func TestNumberTaken(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, db *sql.DB, s *harness.Scratch, query string) error{
		"exec": func(_ *testing.T, db *sql.DB, _ *harness.Scratch, query string) error {
			_, err := db.Exec(strings.Replace(query, "%", "(4)", 1))
			return err
		},
		"argument": func(_ *testing.T, db *sql.DB, _ *harness.Scratch, query string) error {
			_, err := db.Exec(strings.Replace(query, "%", "(?)", 1), 4)
			return err
		},
		"prepared": func(_ *testing.T, db *sql.DB, _ *harness.Scratch, query string) error {
			_, err := harness.PreparedExec(db, strings.Replace(query, "%", "(?)", 1), 4)
			return err
		},
		"query": func(_ *testing.T, db *sql.DB, _ *harness.Scratch, query string) error {
			return harness.Drain(db, strings.Replace(query, "%", "(4)", 1)+" RETURNING id")
		},
		"in a transaction": func(t *testing.T, db *sql.DB, _ *harness.Scratch, query string) error {
			return insideTx(t, db, true, func(tx *sql.Tx) error {
				_, err := tx.Exec(strings.Replace(query, "%", "(?)", 1), 4)
				return err
			})
		},
	}
	for way, insert := range ways {
		t.Run(way, func(t *testing.T) {
			harness.Each(t, takenEngines, func(t *testing.T, s *harness.Scratch) {
				for _, form := range skippingInserts[s.Dialect.Name] {
					db := openTaken(t, s)
					if err := insert(t, db, s, form); err != nil {
						t.Errorf("%s: %v", form, err)
					}
					if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE id > 3 AND a = 4"); n != 1 {
						t.Errorf("%s: %d rows are stored", form, n)
					}
				}
			})
		})
	}
}

// TestNumberTakenReturning: an INSERT with RETURNING that is sent through Exec, whose answer
// does not count its rows, is stored once, and another number is found for it if it needs one.
func TestNumberTakenReturning(t *testing.T) {
	t.Parallel()
	ways := map[string]func(db *sql.DB, query string) error{
		"exec":     func(db *sql.DB, query string) error { _, err := db.Exec(query); return err },
		"prepared": func(db *sql.DB, query string) error { _, err := harness.PreparedExec(db, query); return err },
	}
	for way, exec := range ways {
		t.Run(way, func(t *testing.T) {
			harness.Each(t, takenEngines, func(t *testing.T, s *harness.Scratch) {
				for _, form := range skippingInserts[s.Dialect.Name] {
					form += " RETURNING id"
					db := openTaken(t, s)
					for i, rows := range []string{"(4)", "(5)", "(6), (7)"} {
						if err := exec(db, strings.Replace(form, "%", rows, 1)); err != nil {
							t.Errorf("%s: %v", form, err)
						}
						if n, want := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE id > 3 AND a > 3"), []int{1, 2, 4}[i]; n != want {
							t.Errorf("%s, %s: %d rows are stored, want %d", form, rows, n, want)
						}
					}
				}
			})
		})
	}
}

// TestNumberTakenTold: the recorder and the result have the number that was stored.
func TestNumberTakenTold(t *testing.T) {
	t.Parallel()
	harness.Each(t, takenEngines, func(t *testing.T, s *harness.Scratch) {
		db := openTaken(t, s)
		ctx, rec := keyfill.Record(t.Context())
		res, err := db.ExecContext(ctx, strings.Replace(skippingInserts[s.Dialect.Name][0], "%", "(4)", 1))
		if err != nil {
			t.Fatal(err)
		}
		stored := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t")
		if id, err := res.LastInsertId(); id != stored || err != nil {
			t.Errorf("LastInsertId is %d, %v, want %d", id, err, stored)
		}
		if all := rec.All(); len(all) != 1 || all[0].Key != stored || all[0].Outcome != keyfill.Stored {
			t.Errorf("recorded %+v, want %d", all, stored)
		}
		// What another unique index leaves out stays out.
		harness.Exec(t, db, strings.Replace(strings.Replace(skippingInserts[s.Dialect.Name][0], "%", "(4, 2)", 1), "(a)", "(a, u)", 1))
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 4 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestNumbersTaken: where a row was left out because of its number, an INSERT of several
// rows, and one into a table with triggers, is an error.
//
//deviation:brought-keys | If an INSERT of one row stores nothing because another row has its number, keyfill sends the INSERT once more with another number. In that case an INSERT of several rows, or into a table with triggers, is an error. | all, in tables that the engine numbers too | `INSERT IGNORE INTO t (a) …` beside a program without keyfill | –
func TestNumbersTaken(t *testing.T) {
	t.Parallel()
	harness.Each(t, takenEngines, func(t *testing.T, s *harness.Scratch) {
		for _, form := range skippingInserts[s.Dialect.Name] {
			several := strings.Replace(form, "%", "(4), (5), (6)", 1)
			db := openTaken(t, s)
			if _, err := db.Exec(several); err == nil || !strings.Contains(err.Error(), "#number-taken") {
				t.Errorf("%s: %v", several, err)
			}
			db = openTaken(t, s)
			if err := harness.Drain(db, several+" RETURNING id"); err == nil || !strings.Contains(err.Error(), "#number-taken") {
				t.Errorf("%s RETURNING id: %v", several, err)
			}
		}
		trigger := "CREATE TRIGGER marks AFTER INSERT ON t BEGIN INSERT INTO marks VALUES (new.a); END"
		if s.Server != nil {
			trigger = "CREATE TRIGGER marks AFTER INSERT ON t FOR EACH ROW INSERT INTO marks VALUES (new.a)"
		}
		db := openTaken(t, s, "CREATE TABLE marks (a INT)", trigger)
		one := strings.Replace(skippingInserts[s.Dialect.Name][0], "%", "(4)", 1)
		if _, err := db.Exec(one); err == nil || !strings.Contains(err.Error(), "#number-taken") {
			t.Errorf("with a trigger: %v", err)
		}
	})
}

// TestNumberTakenLocksNothing: a transaction whose INSERT has left out a row for another
// reason than its number keeps no other INSERT waiting.
func TestNumberTakenLocksNothing(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		db := openTaken(t, s)
		harness.Exec(t, db, "INSERT IGNORE INTO t (a, u) VALUES (4, 4)") // asks the catalog
		err := insideTx(t, db, true, func(tx *sql.Tx) error {
			if _, err := tx.Exec("INSERT IGNORE INTO t (a, u) VALUES (5, 2)"); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for _, query := range []string{"INSERT INTO t (a, u) VALUES (6, 6)", "INSERT IGNORE INTO t (a, u) VALUES (7, 6)"} {
				if _, err := db.ExecContext(ctx, query); err != nil {
					return fmt.Errorf("another connection, %s: %w", query, err)
				}
			}
			_, err := tx.Exec("INSERT INTO t (a, u) VALUES (8, 8)")
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestNumberTakenSnapshot: what a transaction does not see may have its number all the same.
func TestNumberTakenSnapshot(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		for _, change := range []string{"DO 0", "SET max_error_count = 0"} {
			harness.Must(t, s.Raw, "DROP TABLE IF EXISTS t", "CREATE TABLE t (id BIGINT(10) ZEROFILL PRIMARY KEY AUTO_INCREMENT, a INT, u INT UNIQUE)")
			db, _ := s.Open(t, harness.InPlace(harness.Counted(func(p *policy.Source) { p.Exclusive = true })))
			harness.Exec(t, db, harness.InsertT)
			err := insideTx(t, db, true, func(tx *sql.Tx) error {
				harness.Must(t, tx, change, "SELECT COUNT(*) FROM t")
				harness.Must(t, s.Raw, "INSERT INTO t (a) VALUES (2), (3)")
				_, err := tx.Exec("INSERT IGNORE INTO t (a, u) VALUES (4, 4)")
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", change, err)
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a = 4"); n != 1 {
				t.Errorf("%s: %d rows are stored", change, n)
			}
		}
	})
}

// TestNumberTakenBeside: a row beside one that brings its key is not lost to its number.
func TestNumberTakenBeside(t *testing.T) {
	t.Parallel()
	harness.Each(t, takenEngines, func(t *testing.T, s *harness.Scratch) {
		for _, form := range skippingInserts[s.Dialect.Name] {
			form = strings.Replace(form, "(a)", "(id, a)", 1)
			for _, rows := range []string{"(NULL, 4), (7777, 5)", "(1, 0), (NULL, 4), (7777, 5), (NULL, 6)"} {
				db := openTaken(t, s)
				query := strings.Replace(form, "%", rows, 1)
				_, err := db.Exec(query)
				if s.Server != nil && err != nil && strings.Contains(err.Error(), "#number-taken") {
					continue // nothing is lost without a word
				}
				if err != nil {
					t.Errorf("%s: %v", query, err)
				}
				want := strings.Count(rows, "NULL") + 1
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a > 3"); n != want {
					t.Errorf("%s: %d rows are stored, want %d", query, n, want)
				}
				// What is there already stays out.
				query = strings.Replace(form, "%", "(NULL, 7), (7777, 8)", 1)
				if _, err := db.Exec(query); err != nil {
					t.Errorf("%s: %v", query, err)
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE a > 3"); n != want+1 {
					t.Errorf("%s: %d rows are stored, want %d", query, n, want+1)
				}
			}
		}
	})
}

// TestNumberTakenRights: a user that may not read the table inserts into it as before,
// and keeps the transaction.
func TestNumberTakenRights(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		role := "r" + harness.DatabaseOf(t, s)
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, a INT UNIQUE)",
			"CREATE ROLE "+role, "GRANT INSERT ON t TO "+role)
		t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY "+role, "DROP ROLE "+role) })
		db, _ := s.Open(t, harness.InPlace(harness.Counted(func(p *policy.Source) { p.Exclusive = true })))
		harness.Exec(t, db, harness.InsertT)
		err := insideTx(t, db, true, func(tx *sql.Tx) error {
			for _, query := range []string{"SET LOCAL ROLE " + role, harness.InsertT + " ON CONFLICT DO NOTHING", "INSERT INTO t (a) VALUES (2)"} {
				if _, err := tx.Exec(query); err != nil {
					return fmt.Errorf("%s: %w", query, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 2 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestNumberTakenBehind: where no other number can be had, because on_behind is error, the
// INSERT is that error, and its row is not left out without a word.
func TestNumberTakenBehind(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile, harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		for _, returning := range []string{"", " RETURNING id"} {
			openTaken(t, s).Close()
			harness.Must(t, s.Raw, "DELETE FROM t", "DELETE FROM keyfill_sequences")
			src := harness.Counted(func(p *policy.Source) { p.Exclusive, p.OnBehind = s.Server != nil, "error" })
			db, _ := s.Open(t, harness.InPlace(src))
			harness.Exec(t, db, harness.InsertT)
			next := harness.CountInt(t, s.Raw, "SELECT MAX(id) + 1 FROM t")
			harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO t (id, a) VALUES (%d, 2), (%d, 3)", next, next+50))
			ctx, rec := keyfill.Record(t.Context())
			insert := strings.Replace(skippingInserts[s.Dialect.Name][0], "%", "(4)", 1)
			var err error
			if returning != "" {
				err = harness.DrainContext(ctx, db, insert+returning)
			} else {
				_, err = db.ExecContext(ctx, insert)
			}
			if !errors.Is(err, keysource.ErrStoreBehind) {
				t.Errorf("%q: %v", returning, err)
			}
			for _, k := range rec.All() {
				if k.Outcome == keyfill.Stored {
					t.Errorf("recorded %+v", k)
				}
			}
			db.Close()
		}
	})
}
