package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// leavingOut are INSERTs, by the engine's dialect, that leave out a row whose u is
// there, or change that one; % is the key that they bring.
var leavingOut = map[string][]string{
	"sqlite": {
		"INSERT OR IGNORE INTO t (id, a, u) VALUES (%s, 2, ?)",
		"INSERT INTO t (id, a, u) VALUES (%s, 2, ?) ON CONFLICT DO NOTHING",
		"INSERT INTO t (id, a, u) VALUES (%s, 2, ?) ON CONFLICT (u) DO UPDATE SET a = 3",
	},
	"mariadb": {
		"INSERT IGNORE INTO t (id, a, u) VALUES (%s, 2, ?)",
		"INSERT INTO t (id, a, u) VALUES (%s, 2, ?) ON DUPLICATE KEY UPDATE a = 3",
	},
	"postgres": {
		"INSERT INTO t (id, a, u) VALUES (%s, 2, ?) ON CONFLICT DO NOTHING",
		"INSERT INTO t (id, a, u) VALUES (%s, 2, ?) ON CONFLICT (u) DO UPDATE SET a = 3",
	},
}

// bringing are the ways in which an INSERT brings a key.
var bringing = map[string]func(t *testing.T, db *sql.DB, s *harness.Scratch, form string, key, u int) error{
	"literal": func(_ *testing.T, db *sql.DB, s *harness.Scratch, form string, key, u int) error {
		_, err := db.Exec(s.Placeholders(fmt.Sprintf(form, fmt.Sprint(key))), u)
		return err
	},
	"argument": func(_ *testing.T, db *sql.DB, s *harness.Scratch, form string, key, u int) error {
		_, err := db.Exec(s.Placeholders(fmt.Sprintf(form, "?")), key, u)
		return err
	},
	"expression": func(_ *testing.T, db *sql.DB, s *harness.Scratch, form string, key, u int) error {
		_, err := db.Exec(s.Placeholders(fmt.Sprintf(form, fmt.Sprintf("%d + 1", key-1))), u)
		return err
	},
	"prepared": func(_ *testing.T, db *sql.DB, s *harness.Scratch, form string, key, u int) error {
		_, err := harness.PreparedExec(db, s.Placeholders(fmt.Sprintf(form, "?")), key, u)
		return err
	},
	"returning": func(_ *testing.T, db *sql.DB, s *harness.Scratch, form string, key, u int) error {
		return harness.Drain(db, s.Placeholders(fmt.Sprintf(form, "?")+" RETURNING id"), key, u)
	},
	"in a transaction": func(t *testing.T, db *sql.DB, s *harness.Scratch, form string, key, u int) error {
		return insideTx(t, db, true, func(tx *sql.Tx) error {
			_, err := tx.Exec(s.Placeholders(fmt.Sprintf(form, "?")), key, u)
			return err
		})
	},
}

func insideTx(t *testing.T, db *sql.DB, commits bool, f func(*sql.Tx) error) error {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil || !commits {
		return err
	}
	return tx.Commit()
}

// joinedFollower is a numbering without gaps that follows the keys that are brought.
func joinedFollower() policy.Source {
	return harness.Counted(func(s *policy.Source) { s.Block, s.Transaction, s.FollowExplicit = 0, policy.TransactionJoined, true })
}

// TestFollowLeftOut: a row that is left out raises no numbering without gaps, whatever
// key it brings, and one that is stored does, in the same transaction.
//
//deviation:keys-of-a-transaction | If an INSERT that brings its key may leave its row out, or the engine alone can read the key, the joined numbering is raised afterwards, by the greatest key in the column: a row that the engine left out does not raise the source. | all | `INSERT IGNORE INTO t (id, …) VALUES (100, …)`; `INSERT INTO t (id, …) SELECT …` | –
//deviation:keys-of-a-transaction | Until keyfill has raised joined numbers after an INSERT that brings keys, the source's row is locked. A key table of the application, a procedure and other forms have no such lock: there another draw may get a number that the INSERT brings. | all | `table:` with an INSERT … SELECT that brings keys | –
//deviation:keys-of-a-transaction | If no index begins with the key, the joined numbering is raised above all keys that can be read in the INSERT. | all | `INSERT INTO t (id, …) SELECT …` without an index on `id` | an index on the key
func TestFollowLeftOut(t *testing.T) {
	t.Parallel()
	for way, bring := range bringing {
		t.Run(way, func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				for i, form := range leavingOut[s.Dialect.Name] {
					if way == "returning" && s.Dialect.Name == "mariadb" && i == 1 {
						continue // RETURNING after ON DUPLICATE KEY UPDATE gives a row that was there
					}
					harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, u INT UNIQUE)")
					db, _ := s.Open(t, harness.InPlace(joinedFollower()))
					harness.Exec(t, db, "INSERT INTO t (a, u) VALUES (1, 1)")
					if err := bring(t, db, s, form, 1000, 1); err != nil {
						t.Fatalf("%s: left out: %v", form, err)
					}
					harness.Exec(t, db, harness.InsertT)
					if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); id != 2 {
						t.Errorf("%s: the key after a row that was left out is %d", form, id)
					}
					if err := bring(t, db, s, form, 1000, 2); err != nil {
						t.Fatalf("%s: stored: %v", form, err)
					}
					harness.Exec(t, db, harness.InsertT)
					if id := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); id != 1001 {
						t.Errorf("%s: the key after 1000 is %d", form, id)
					}
					db.Close()
					harness.Exec(t, s.Raw, "DROP TABLE t")
					harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
				}
			})
		})
	}
}

// TestFollowQueried: the keys that a query brings raise a numbering without gaps in the
// transaction of its rows, so that none of them comes again where no index is. A
// transaction that is rolled back takes both back.
//
//deviation:brought-keys | The rows of an INSERT with a brought key through Query are in memory when it returns. | all with RETURNING or OUTPUT | `INSERT INTO t (id, …) VALUES (100, …) RETURNING id` | –
func TestFollowQueried(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX t_id ON t (id)",
			"CREATE TABLE s (id BIGINT, a INT)", "INSERT INTO s VALUES (2, 1), (3, 1), (4, 1)")
		db, _ := s.Open(t, harness.InPlace(joinedFollower()))
		harness.Exec(t, db, harness.InsertT)
		const copies = "INSERT INTO t (id, a) SELECT id, a FROM s"
		if err := insideTx(t, db, false, func(tx *sql.Tx) error {
			_, err := tx.Exec(copies)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, harness.InsertT)
		if got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")); got != "[1 2]" {
			t.Errorf("behind a rollback %s", got)
		}
		harness.Exec(t, s.Raw, "DELETE FROM t WHERE id = 2")
		ctx, rec := keyfill.Record(t.Context())
		if _, err := db.ExecContext(ctx, copies); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, db, harness.InsertT)
		harness.Exec(t, db, harness.InsertT)
		if got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")); got != "[1 2 3 4 5 6]" {
			t.Errorf("stored %s", got)
		}
		if all := rec.All(); len(all) != 0 {
			t.Errorf("recorded %v", all)
		}
	})
}

// TestFollowRefused: an INSERT that brings its key to a numbering without gaps, in a
// transaction that was begun past keyfill, is refused and counted as refused, or goes
// out as it came where the policy says so; executed directly and prepared.
func TestFollowRefused(t *testing.T) {
	t.Parallel()
	const brings = "INSERT INTO t (id, a) VALUES (?, 1)"
	ways := map[string]func(*sql.Conn) error{
		"direct": func(c *sql.Conn) error {
			_, err := c.ExecContext(context.Background(), brings, 100)
			return err
		},
		"prepared": func(c *sql.Conn) error {
			stmt, err := c.PrepareContext(context.Background(), brings)
			if err != nil {
				return err
			}
			defer stmt.Close()
			_, err = stmt.Exec(100)
			return err
		},
	}
	for name, insert := range ways {
		for _, unsupported := range []policy.Unsupported{policy.Refuse, policy.Unfilled} {
			t.Run(fmt.Sprintf("%s/%s", name, unsupported), func(t *testing.T) {
				s := harness.SQLiteFile.Scratch(t)
				harness.CreateIDs(t, s, "t")
				src := joinedFollower()
				db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &src, Unsupported: unsupported}))
				harness.Exec(t, db, harness.InsertT)
				conn := harness.ConnOf(t, db)
				past := harness.PastKeyfill(t, conn)
				if _, err := past.ExecContext(t.Context(), "BEGIN", nil); err != nil {
					t.Fatal(err)
				}
				err := insert(conn)
				stats := m.Stats().Tables["t"]
				refused := stats.Refused[keyfill.Reason(rewrite.ErrTransaction)]
				var own *keyfill.Error
				switch unsupported {
				case policy.Refuse:
					if !errors.As(err, &own) || own.Table != "t" || refused != 1 {
						t.Errorf("%v, refused %v", err, stats.Refused)
					}
				default:
					if err != nil || refused != 1 || stats.Kept != 0 {
						t.Errorf("%v, refused %v, kept %d", err, stats.Refused, stats.Kept)
					}
				}
			})
		}
	}
}
