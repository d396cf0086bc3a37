package e2e_test

import (
	"database/sql"
	"slices"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// askVersion is how a server is asked whether it is MySQL or MariaDB.
const askVersion = "SELECT VERSION()"

func asked(s *spy) int {
	n := 0
	for _, q := range s.all() {
		if q == askVersion {
			n++
		}
	}
	return n
}

// TestVersionIsAskedOnce: with no dialect in the policy the server says whether
// it is MariaDB, once; then RETURNING is understood.
func TestVersionIsAskedOnce(t *testing.T) {
	each(t, mysqlEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE people (id UUID NOT NULL PRIMARY KEY, name TEXT)")
		spy := new(spy)
		db, _ := openConnector(t, asDriver{wrapSqlmw(t, s.connector, spy), s.connector.Driver()}, fillID("people", policy.Table{}))
		exec(t, db, "DELETE FROM people")
		if err := drain(db, "SELECT * FROM people"); err != nil {
			t.Fatal(err)
		}
		var id string
		if err := db.QueryRow("INSERT INTO people (name) VALUES (?) RETURNING id", "a").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if !isKey(id) || text(t, s.raw, "SELECT id FROM people") != id {
			t.Errorf("RETURNING gave %q", id)
		}
		exec(t, db, "INSERT INTO people (name) VALUES ('b')")
		if _, err := preparedExec(db, "INSERT INTO people SET name = ?", "c"); err != nil {
			t.Fatal(err)
		}
		// On other connections too.
		db.SetMaxIdleConns(0)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := db.Exec("INSERT INTO people (name) VALUES (?)", "d"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := asked(spy); n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
		if n := count(t, s.raw, "SELECT COUNT(DISTINCT id) FROM people"); n != 11 {
			t.Errorf("%d keys are stored, want 11", n)
		}
	})
}

// TestVersionIsNotAsked: with a dialect, in mode off, and of other engines,
// nobody is asked.
func TestVersionIsNotAsked(t *testing.T) {
	for _, e := range loadEngines {
		for _, mode := range []policy.Mode{policy.ModeFill, policy.ModeOff} {
			t.Run(e.name+"/"+mode.String(), func(t *testing.T) {
				s := e.scratch(t)
				exec(t, s.raw, "CREATE TABLE people (id CHAR(36), name TEXT)")
				spy := new(spy)
				cfg := fillID("people", policy.Table{})
				if cfg.Mode = mode; mode == policy.ModeFill {
					cfg.Dialect = s.dialect.Name
				}
				db, _ := openConnector(t, asDriver{wrapSqlmw(t, s.connector, spy), s.connector.Driver()}, cfg)
				exec(t, db, s.placeholders("INSERT INTO people (name) VALUES (?)"), "a")
				if n := asked(spy); n != 0 {
					t.Errorf("asked %d times", n)
				}
			})
		}
	}
}

// TestVersionInsideTransaction: the question leaves a transaction as it is, and
// what MariaDB says of the statement before.
func TestVersionInsideTransaction(t *testing.T) {
	each(t, mysqlEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE people (id UUID NOT NULL PRIMARY KEY, name TEXT)")
		for i, end := range []func(tx *sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
			db, _ := s.open(t, fillID("people", policy.Table{}))
			db.SetMaxOpenConns(1)
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("UPDATE people SET name = 'b'"); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b"} {
				if _, err := tx.Exec("INSERT INTO people (name) VALUES (?)", name); err != nil {
					t.Fatal(err)
				}
			}
			var affected int
			if err := tx.QueryRow("SELECT ROW_COUNT()").Scan(&affected); err != nil || affected != 1 {
				t.Errorf("ROW_COUNT() is %d, error %v", affected, err)
			}
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
			if n := count(t, s.raw, "SELECT COUNT(*) FROM people"); n != 2*i {
				t.Errorf("%d rows are stored, want %d", n, 2*i)
			}
		}
	})
}

// TestDialectsOfEngines: each driver's dialect is known without being told.
func TestDialectsOfEngines(t *testing.T) {
	each(t, engines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name TEXT)")
		db, m := s.open(t, fillID("people", policy.Table{}))
		rows, err := db.Query(s.placeholders("INSERT INTO people (name) VALUES (?), (?) RETURNING id, name"), "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil || !slices.Equal(columns, []string{"id", "name"}) {
			t.Errorf("columns %v, error %v", columns, err)
		}
		rows.Close()
		if n := m.Stats().Tables["people"].Keys; n != 2 {
			t.Errorf("%d keys are counted, want 2", n)
		}
	})
}
