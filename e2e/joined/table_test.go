package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ngrok/sqlmw"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestJoinedKeyTable: an existing key table that another program locks and
// changes by its own statements, in its own transactions, numbers its rows and
// ours without a hole.
func TestJoinedKeyTable(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
		harness.Exec(t, s.Raw, "CREATE TABLE numbering (what VARCHAR(20) NOT NULL PRIMARY KEY, serial BIGINT NOT NULL)")
		harness.Exec(t, s.Raw, "INSERT INTO numbering VALUES ('t', 0), ('u', 7)")
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a, c) VALUES (1, 0, 0)")
		harness.Exec(t, s.Raw, "UPDATE numbering SET serial = 1 WHERE what = 't'")
		source := &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Table: &policy.KeyTable{
			Name: "numbering", Key: "what", Row: "t", Value: "serial", Stored: policy.StoredLast,
		}}
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: source}))
		one := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
		byHand := s.Placeholders("INSERT INTO t (id, a) VALUES (?, ?)")
		var stored atomic.Int64
		stored.Store(1)
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for i := range 40 {
					var err error
					switch {
					case w%2 == 0:
						err = harness.InTx(s.Raw, func(tx *sql.Tx) error {
							if _, err := tx.Exec("UPDATE numbering SET serial = serial + 1 WHERE what = 't'"); err != nil {
								return err
							}
							var id int64
							if err := tx.QueryRow("SELECT serial FROM numbering WHERE what = 't'").Scan(&id); err != nil {
								return err
							}
							if _, err := tx.Exec(byHand, id, w); err != nil || i%3 > 0 {
								return err
							}
							return errEnough
						})
					case i%3 > 0:
						_, err = db.Exec(one, w, nil)
					default:
						if _, err := db.Exec(one, w, 0); err == nil {
							t.Error("a duplicate was stored")
						}
						err = errEnough
					}
					if err == nil {
						stored.Add(1)
					} else if !errors.Is(err, errEnough) {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
		if !slices.Equal(ids, harness.UpTo(stored.Load())) {
			t.Errorf("%d rows, %d were answered: %v", len(ids), stored.Load(), ids)
		}
		if n := harness.Count(t, s.Raw, "SELECT serial FROM numbering WHERE what = 't'"); n != len(ids) {
			t.Errorf("the last number is %d, want %d", n, len(ids))
		}
	})
}

// TestJoinedText: numbers are sent as text where the column is one.
func TestJoinedText(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id VARCHAR(20) NOT NULL PRIMARY KEY, a INT)")
		source := harness.JoinedSource()
		source.Start = 9
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: source, Layout: "string"}))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (a) VALUES (?)"), 3)
		if got := strings.Join(harness.RowsOf(t, s.Raw, "SELECT id FROM t ORDER BY a"), " "); got != "[{9 true}] [{10 true}] [{11 true}]" {
			t.Errorf("stored %s", got)
		}
	})
}

// TestJoinedShared: tables that share a numbering have its numbers together.
func TestJoinedShared(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE u (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.Open(t, &policy.Config{
			Sources: map[string]policy.Source{"numbers": *harness.JoinedSource()},
			Tables: map[string]policy.Table{
				"t": {Column: "id", Source: "numbers"}, "u": {Column: "id", Source: "numbers"},
			},
		})
		for i := range 10 {
			err := harness.InTx(db, func(tx *sql.Tx) error {
				if _, err := tx.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
					return err
				}
				if _, err := tx.Exec("INSERT INTO u (a) VALUES (1)"); err != nil {
					return err
				}
				if i%2 == 0 {
					return errEnough
				}
				return nil
			})
			if err != nil && err != errEnough {
				t.Fatal(err)
			}
			harness.Exec(t, db, "INSERT INTO u (a) VALUES (2)")
		}
		ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t UNION ALL SELECT id FROM u ORDER BY 1")
		if !slices.Equal(ids, harness.UpTo(20)) {
			t.Errorf("stored %v", ids)
		}
	})
}

// TestJoinedOwnConflicts: a table that leaves out rows silently, and a statement that
// ends its transaction if it fails.
//
//deviation:keys-of-a-transaction | With `transaction: joined`, IGNORE, DO NOTHING, upsert clauses, MERGE and INSERT WHEN are refused, and so is a table whose own constraints leave rows out: the number of such a row would be missing. | all | `INSERT IGNORE INTO t …` | look for the row first; `transaction: autonomous`
func TestJoinedOwnConflicts(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, c INT UNIQUE ON CONFLICT IGNORE)")
	db, _ := s.Open(t, harness.JoinedID("t"))
	_, err := db.Exec("INSERT INTO t (c) VALUES (1)")
	harness.RefusedFor(t, "ON CONFLICT IGNORE in the table", err, rewrite.ErrGap)

	s = harness.SQLiteFile.Scratch(t)
	db, _ = joinedTable(t, s)
	db.SetMaxOpenConns(1)
	harness.Exec(t, db, "INSERT INTO t (c) VALUES (1)")
	for range 3 {
		if _, err := db.Exec("INSERT OR ROLLBACK INTO t (c) VALUES (1)"); err == nil {
			t.Error("a duplicate was stored")
		}
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT OR ROLLBACK INTO t (c) VALUES (1)"); err == nil {
			t.Error("a duplicate was stored")
		}
		_ = tx.Rollback()
		err = harness.InTx(db, func(tx *sql.Tx) error {
			_, err := tx.Exec("INSERT INTO t (c) VALUES (NULL)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.WantNumbers(t, harness.UpTo(4)...)
}

// TestJoinedReplace: the row that REPLACE takes away is gone as by DELETE; the
// numbers go on.
//
//deviation:keys-of-a-transaction | With `transaction: joined` there is a hole where a trigger leaves a row out, REPLACE or DELETE removes one, or the table has no transactions (MyISAM). | all | `RETURN NULL` in a BEFORE trigger | –
func TestJoinedReplace(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		db, _ := joinedTable(t, s)
		harness.Exec(t, db, "REPLACE INTO t (a, c) VALUES (1, 1)")
		harness.Exec(t, db, "REPLACE INTO t (a, c) VALUES (2, 1)")
		s.WantNumbers(t, 2)
		wantNext(t, s, 3)
	})
}

// TestJoinedWrapped: under a wrapper it is not known which driver there is: all goes
// through prepared statements, and a savepoint is set on PostgreSQL too, from which an
// error of the server is not undone.
//
//deviation:keys-of-a-transaction | keyfill prepares, executes and closes its own statement with arguments, if the driver does not execute such a statement directly. | MySQL, MariaDB with interpolateParams; drivers under other wrappers | – | –
func TestJoinedWrapped(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
		cfg := harness.JoinedID("t")
		cfg.Dialect = s.Dialect.Name
		db, _ := harness.OpenConnector(t, harness.OpenDriver(t, sqlmw.Driver(harness.ConnectorDriver{Connector: s.Connector}, sqlmw.NullInterceptor{})), cfg)
		db.SetMaxOpenConns(1)
		one := s.Placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
		harness.Exec(t, db, one, 1, 1)
		harness.Exec(t, db, "INSERT INTO t (a, c) VALUES (2, 2)")
		if _, err := db.Exec(one, 1, 1); err == nil {
			t.Error("a duplicate was stored")
		}
		err := harness.InTx(db, func(tx *sql.Tx) error {
			for c := 3; c < 6; c++ {
				if _, err := tx.Exec(one, 1, c); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(one, 1, []string{"no number"}); err == nil {
				t.Error("a list was stored as a number")
			}
			return nil
		})
		if err != nil {
			t.Log(err)
		}
		err = harness.InTx(db, func(tx *sql.Tx) error {
			if _, err := tx.Exec(one, 1, 1); err == nil {
				t.Error("a duplicate was stored")
			}
			_, err := tx.Exec(one, 6, 6)
			return err
		})
		if s.IsPostgres() && (err == nil || !strings.Contains(err.Error(), "current transaction is aborted")) {
			t.Errorf("%v, want what PostgreSQL says without keyfill", err)
		} else if !s.IsPostgres() && err != nil {
			t.Error(err)
		}
		harness.Exec(t, db, one, 7, 7)
		ids := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")
		if !slices.Equal(ids, harness.UpTo(int64(len(ids)))) {
			t.Errorf("stored %v", ids)
		}
		wantNext(t, s, len(ids)+1)
	})
}
