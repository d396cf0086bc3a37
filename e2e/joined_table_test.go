package e2e_test

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

	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestJoinedKeyTable: an existing key table that another program locks and
// changes by its own statements, in its own transactions, numbers its rows and
// ours without a hole.
func TestJoinedKeyTable(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
		exec(t, s.raw, "CREATE TABLE numbering (what VARCHAR(20) NOT NULL PRIMARY KEY, serial BIGINT NOT NULL)")
		exec(t, s.raw, "INSERT INTO numbering VALUES ('t', 0), ('u', 7)")
		exec(t, s.raw, "INSERT INTO t (id, a, c) VALUES (1, 0, 0)")
		exec(t, s.raw, "UPDATE numbering SET serial = 1 WHERE what = 't'")
		source := &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Table: &policy.KeyTable{
			Name: "numbering", Key: "what", Row: "t", Value: "serial", Stored: policy.StoredLast,
		}}
		db, _ := s.open(t, fillID("t", policy.Table{InPlace: source}))
		one := s.placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
		byHand := s.placeholders("INSERT INTO t (id, a) VALUES (?, ?)")
		var stored atomic.Int64
		stored.Store(1)
		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				for i := range 40 {
					var err error
					switch {
					case w%2 == 0:
						err = inTx(s.raw, func(tx *sql.Tx) error {
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
		ids := integersOf(t, s.raw, "SELECT id FROM t ORDER BY id")
		if !slices.Equal(ids, upTo(stored.Load())) {
			t.Errorf("%d rows, %d were answered: %v", len(ids), stored.Load(), ids)
		}
		if n := count(t, s.raw, "SELECT serial FROM numbering WHERE what = 't'"); n != len(ids) {
			t.Errorf("the last number is %d, want %d", n, len(ids))
		}
	})
}

// TestJoinedText: numbers are sent as text where the column is one.
func TestJoinedText(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id VARCHAR(20) NOT NULL PRIMARY KEY, a INT)")
		source := joinedSource()
		source.Start = 9
		db, _ := s.open(t, fillID("t", policy.Table{InPlace: source, Layout: "string"}))
		exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
		exec(t, db, s.placeholders("INSERT INTO t (a) VALUES (?)"), 3)
		if got := strings.Join(rowsOf(t, s.raw, "SELECT id FROM t ORDER BY a"), " "); got != "[{9 true}] [{10 true}] [{11 true}]" {
			t.Errorf("stored %s", got)
		}
	})
}

// TestJoinedShared: tables that share a numbering have its numbers together.
func TestJoinedShared(t *testing.T) {
	each(t, []engine{sqliteFile, sqliteMemory, mysqlDefault, pgxDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		exec(t, s.raw, "CREATE TABLE u (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		db, _ := s.open(t, &policy.Config{
			Sources: map[string]policy.Source{"numbers": *joinedSource()},
			Tables: map[string]policy.Table{
				"t": {Column: "id", Source: "numbers"}, "u": {Column: "id", Source: "numbers"},
			},
		})
		for i := range 10 {
			err := inTx(db, func(tx *sql.Tx) error {
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
			exec(t, db, "INSERT INTO u (a) VALUES (2)")
		}
		ids := integersOf(t, s.raw, "SELECT id FROM t UNION ALL SELECT id FROM u ORDER BY 1")
		if !slices.Equal(ids, upTo(20)) {
			t.Errorf("stored %v", ids)
		}
	})
}

// TestJoinedOwnConflicts: a table that leaves out rows by itself, and a statement
// that ends its transaction where it fails.
func TestJoinedOwnConflicts(t *testing.T) {
	s := sqliteFile.scratch(t)
	exec(t, s.raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, c INT UNIQUE ON CONFLICT IGNORE)")
	db, _ := s.open(t, joinedID("t"))
	_, err := db.Exec("INSERT INTO t (c) VALUES (1)")
	refusedFor(t, "ON CONFLICT IGNORE in the table", err, rewrite.ErrGap)

	s = sqliteFile.scratch(t)
	db, _ = s.joinedTable(t)
	db.SetMaxOpenConns(1)
	exec(t, db, "INSERT INTO t (c) VALUES (1)")
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
		err = inTx(db, func(tx *sql.Tx) error {
			_, err := tx.Exec("INSERT INTO t (c) VALUES (NULL)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.wantNumbers(t, upTo(4)...)
}

// TestJoinedReplace: the row that REPLACE takes away is gone as by DELETE; the
// numbers go on.
func TestJoinedReplace(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault}, func(t *testing.T, s *scratch) {
		db, _ := s.joinedTable(t)
		exec(t, db, "REPLACE INTO t (a, c) VALUES (1, 1)")
		exec(t, db, "REPLACE INTO t (a, c) VALUES (2, 1)")
		s.wantNumbers(t, 2)
		s.wantNext(t, 3)
	})
}

// TestJoinedWrapped: behind a wrapper it is not known which driver there is: all
// goes through prepared statements, and a savepoint is set on PostgreSQL too, from
// which an error of the server is not undone.
func TestJoinedWrapped(t *testing.T) {
	each(t, []engine{sqliteFile, mysqlDefault, mysqlInterp, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT, c INT UNIQUE)")
		cfg := joinedID("t")
		cfg.Dialect = s.dialect.Name
		db, _ := openConnector(t, openDriver(t, sqlmw.Driver(connectorDriver{s.connector}, sqlmw.NullInterceptor{})), cfg)
		db.SetMaxOpenConns(1)
		one := s.placeholders("INSERT INTO t (a, c) VALUES (?, ?)")
		exec(t, db, one, 1, 1)
		exec(t, db, "INSERT INTO t (a, c) VALUES (2, 2)")
		if _, err := db.Exec(one, 1, 1); err == nil {
			t.Error("a duplicate was stored")
		}
		err := inTx(db, func(tx *sql.Tx) error {
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
		err = inTx(db, func(tx *sql.Tx) error {
			if _, err := tx.Exec(one, 1, 1); err == nil {
				t.Error("a duplicate was stored")
			}
			_, err := tx.Exec(one, 6, 6)
			return err
		})
		if s.isPostgres() && (err == nil || !strings.Contains(err.Error(), "current transaction is aborted")) {
			t.Errorf("%v, want what PostgreSQL says without keyfill", err)
		} else if !s.isPostgres() && err != nil {
			t.Error(err)
		}
		exec(t, db, one, 7, 7)
		ids := integersOf(t, s.raw, "SELECT id FROM t ORDER BY id")
		if !slices.Equal(ids, upTo(int64(len(ids)))) {
			t.Errorf("stored %v", ids)
		}
		s.wantNext(t, len(ids)+1)
	})
}
