package joined_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// joinedKeys are the definitions of the key's column. On MariaDB the engine numbers the
// rows of one with AUTO_INCREMENT.
func joinedKeys(t *testing.T, s *harness.Scratch) []string {
	t.Helper()
	if s.Dialect.Name != "mariadb" {
		return []string{"BIGINT NOT NULL"}
	}
	return testturn.Some(t, []string{"BIGINT NOT NULL", "BIGINT NOT NULL AUTO_INCREMENT"}, 2)
}

var joinedSource = &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, EnsureSchema: true, Exclusive: true}

// TestJoinedSelect: the rows of an INSERT … SELECT get the next numbers of their
// transaction, and no number is left out, whether rows are stored, none are, the statement
// fails or the transaction is rolled back.
//
//deviation:keys-of-a-transaction | keyfill counts the rows of a joined `INSERT … SELECT` in the INSERT's transaction. If the INSERT stores more or fewer rows, keyfill undoes the INSERT and sends it again; the third time the INSERT fails. | all | `INSERT INTO t (a) SELECT a FROM s` | –
//deviation:keys-of-a-transaction | `INSERT … SELECT` with a key of its transaction is refused if a conflict clause may leave rows out, on SQL Server and Oracle, and in a text with other statements, except on SQLite. | all | `INSERT INTO t (a) SELECT a FROM s ON CONFLICT DO NOTHING` | `transaction: autonomous`
func TestJoinedSelect(t *testing.T) {
	t.Parallel()
	on := []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}
	harness.Each(t, on, func(t *testing.T, s *harness.Scratch) {
		for _, key := range joinedKeys(t, s) {
			t.Run(key, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t")
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS memo")
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS keyfill_sequences")
				harness.Exec(t, s.Raw, "CREATE TABLE t (id "+key+" PRIMARY KEY, a INT UNIQUE, b VARCHAR(20))")
				harness.Exec(t, s.Raw, "CREATE TABLE memo (a INT)")
				harness.Exec(t, s.Raw, "INSERT INTO memo VALUES (1), (2), (3), (4), (5)")
				source := *joinedSource
				source.Scope = nil
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				ctx, n := context.Background(), int64(0)
				for i, form := range []string{"direct", "prepared", "transaction"} {
					for j, c := range []struct {
						query string
						args  []any
						rows  int64
						fails bool
					}{
						{"INSERT INTO t (a, b) SELECT a + %d, 'x' FROM memo", nil, 5, false},
						{"INSERT INTO t (a, b) SELECT a + %d, ? FROM memo WHERE a = ?", []any{"y", 3}, 1, false},
						{"INSERT INTO t (a, b) SELECT a + %d, ? FROM memo WHERE a > ?", []any{"y", 30}, 0, false},
						{"INSERT INTO t (a, b) SELECT a + %d, 'x' FROM memo WHERE a > 30", nil, 0, false},
						{"INSERT INTO t (a, b) SELECT a - a + %d, 'x' FROM memo", nil, 0, true},
						{"INSERT INTO t (a, b) VALUES (%d, 'x')", nil, 1, false},
					} {
						query := s.Placeholders(fmt.Sprintf(c.query, 1000*(i+1)+100*(j+1)))
						res, err := harness.SendOnce(ctx, db, form, query, c.args)
						if (err != nil) != c.fails {
							t.Fatalf("%s: %s: %v", form, query, err)
						}
						if err == nil {
							if got, _ := res.RowsAffected(); got != c.rows {
								t.Errorf("%s: %s: %d rows, want %d", form, query, got, c.rows)
							}
						}
						n += c.rows
						s.WantNumbers(t, harness.UpTo(n)...)
					}
				}
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec("INSERT INTO t (a) SELECT a + 9000 FROM memo"); err != nil {
					t.Fatal(err)
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, db, "INSERT INTO t (a) SELECT a + 9000 FROM memo")
				n += 5
				s.WantNumbers(t, harness.UpTo(n)...)
				returned := harness.IntegersOf(t, db, "INSERT INTO t (a) SELECT a + 9500 FROM memo RETURNING id")
				if n += 5; len(returned) != 5 {
					t.Errorf("returned %v", returned)
				}
				s.WantNumbers(t, harness.UpTo(n)...)
				for i, form := range []string{"direct", "prepared", "transaction"} {
					// Through Exec, whose result counts no rows with go-sql-driver/mysql.
					if _, err := harness.SendOnce(ctx, db, form, fmt.Sprintf("INSERT INTO t (a) SELECT a + %d FROM memo RETURNING id", 10000+100*i), nil); err != nil {
						t.Errorf("%s: RETURNING through Exec: %v", form, err)
					}
					n += 5
					s.WantNumbers(t, harness.UpTo(n)...)
				}
			})
		}
	})
}

// TestJoinedSelectWriters: several writers of INSERT … SELECT share a numbering, while
// another one changes the rows that they read. No number comes twice, and none is left out.
func TestJoinedSelectWriters(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, key := range joinedKeys(t, s) {
			t.Run(key, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS t")
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS memo")
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS keyfill_sequences")
				harness.Exec(t, s.Raw, "CREATE TABLE t (id "+key+" PRIMARY KEY, a INT)")
				harness.Exec(t, s.Raw, "CREATE TABLE memo (id INT PRIMARY KEY, a INT)")
				harness.Exec(t, s.Raw, "INSERT INTO memo VALUES (1, 1), (2, 2), (3, 3)")
				source := *joinedSource
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				var wg sync.WaitGroup
				for w := range 4 {
					wg.Go(func() {
						for i := range 15 {
							if w == 3 {
								_, _ = s.Raw.Exec(fmt.Sprintf("INSERT INTO memo VALUES (%d, 1)", 100+i))
								continue
							}
							// It may meet too many changes, or a deadlock: then nothing is stored.
							_, _ = db.Exec("INSERT INTO t (a) SELECT a FROM memo")
						}
					})
				}
				wg.Wait()
				ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
				if len(ids) == 0 {
					t.Fatal("nothing was stored")
				}
				s.WantNumbers(t, harness.UpTo(int64(len(ids)))...)
			})
		}
	})
}

// TestJoinedSelectSnapshot: an INSERT … SELECT of MariaDB stores rows, too, that are newer
// than its transaction's snapshot, in which they are counted, and returns them.
func TestJoinedSelectSnapshot(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp}, func(t *testing.T, s *harness.Scratch) {
		for _, key := range joinedKeys(t, s) {
			t.Run(key, func(t *testing.T) {
				harness.Must(t, s.Raw, "DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS memo", "DROP TABLE IF EXISTS more", "DROP TABLE IF EXISTS keyfill_sequences",
					"CREATE TABLE t (id "+key+" PRIMARY KEY, a INT)", "CREATE TABLE memo (a INT)", "CREATE TABLE more (a INT)", "INSERT INTO memo VALUES (1), (2), (3)", "INSERT INTO more VALUES (1), (2), (3)")
				source := *joinedSource
				db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (0)")
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				if _, err := tx.Exec("SELECT * FROM memo"); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, s.Raw, "INSERT INTO memo VALUES (4), (5), (6), (7)")
				if _, err := tx.Exec("INSERT INTO t (a) SELECT a FROM memo"); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, s.Raw, "INSERT INTO more VALUES (4), (5), (6)")
				rows, err := tx.Query("INSERT INTO t (a) SELECT a FROM more ORDER BY a RETURNING id, a")
				if err != nil {
					t.Fatal(err)
				}
				var returned []string
				for rows.Next() {
					var id, a string
					if err := rows.Scan(&id, &a); err != nil {
						t.Fatal(err)
					}
					returned = append(returned, id+" "+a)
				}
				if want := []string{"9 1", "10 2", "11 3", "12 4", "13 5", "14 6"}; rows.Err() != nil || !slices.Equal(returned, want) {
					t.Errorf("returned are %q, %v, want %q", returned, rows.Err(), want)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (9)")
				s.WantNumbers(t, harness.UpTo(15)...)
			})
		}
	})
}

// TestJoinedSelectFails: the error of an INSERT … SELECT leaves a transaction of PostgreSQL
// as it does without keyfill, so that a COMMIT stores nothing of it.
func TestJoinedSelectFails(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE)")
		harness.Exec(t, s.Raw, "CREATE TABLE memo (a INT)")
		harness.Exec(t, s.Raw, "INSERT INTO memo VALUES (1), (1)")
		source := *joinedSource
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		for _, query := range []string{
			"INSERT INTO t (a) SELECT a FROM memo",             // fails when it stores a value twice
			"INSERT INTO t (a) SELECT min(b::jsonb) FROM memo", // when its rows are counted
			"INSERT INTO t (a) SELECT a FROM memo WHERE lower(a) = ''",
		} {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("INSERT INTO t (a) VALUES (7)"); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(query); err == nil {
				t.Fatalf("%s: no error", query)
			}
			if _, err := tx.Exec("SELECT 1"); err == nil {
				t.Errorf("%s: the transaction goes on behind an error", query)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestJoinedSelectRefused: rows that may be left out would be a gap.
func TestJoinedSelectRefused(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE)")
		harness.Exec(t, s.Raw, "CREATE TABLE memo (a INT)")
		source := *joinedSource
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		conflict := map[string]string{"mariadb": "INSERT IGNORE INTO t (a) SELECT a FROM memo", "postgres": "INSERT INTO t (a) SELECT a FROM memo ON CONFLICT DO NOTHING"}[s.Dialect.Name]
		if _, err := db.Exec(conflict); !errors.Is(err, rewrite.ErrGap) {
			t.Errorf("%s: %v", conflict, err)
		}
	})
}
