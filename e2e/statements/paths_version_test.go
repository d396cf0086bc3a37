package statements_test

import (
	"database/sql"
	"slices"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// askVersion is how a server is asked whether it is MySQL or MariaDB.
const askVersion = "SELECT VERSION()"

func asked(s *harness.Spy) int {
	n := 0
	for _, q := range s.All() {
		if q == askVersion {
			n++
		}
	}
	return n
}

// TestVersionIsAskedOnce: with no dialect in the policy the server says whether
// it is MariaDB, once; then RETURNING is understood.
//
//deviation:wrapper | `SELECT VERSION()` is sent once, on the first connection before it is used. | MySQL, MariaDB | the first connection of a process | `dialect:` in the policy
func TestVersionIsAskedOnce(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id UUID NOT NULL PRIMARY KEY, name TEXT)")
		spy := new(harness.Spy)
		db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: harness.WrapSqlmw(t, s.Connector, spy), As: s.Connector.Driver()}, harness.FillID("people", policy.Table{}))
		harness.Exec(t, db, "DELETE FROM people")
		if err := harness.Drain(db, "SELECT * FROM people"); err != nil {
			t.Fatal(err)
		}
		var id string
		if err := db.QueryRow("INSERT INTO people (name) VALUES (?) RETURNING id", "a").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if !harness.IsKey(id) || harness.Text(t, s.Raw, "SELECT id FROM people") != id {
			t.Errorf("RETURNING gave %q", id)
		}
		harness.Exec(t, db, "INSERT INTO people (name) VALUES ('b')")
		if _, err := harness.PreparedExec(db, "INSERT INTO people SET name = ?", "c"); err != nil {
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
		if n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM people"); n != 11 {
			t.Errorf("%d keys are stored, want 11", n)
		}
	})
}

// TestVersionIsNotAsked: with a dialect, in mode off, and of other engines, no server is
// asked.
func TestVersionIsNotAsked(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, harness.LoadEngines) {
		for _, mode := range []policy.Mode{policy.ModeFill, policy.ModeOff} {
			t.Run(e.Name+"/"+mode.String(), func(t *testing.T) {
				s := e.Scratch(t)
				harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36), name TEXT)")
				spy := new(harness.Spy)
				cfg := harness.FillID("people", policy.Table{})
				if cfg.Mode = mode; mode == policy.ModeFill {
					cfg.Dialect = s.Dialect.Name
				}
				db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: harness.WrapSqlmw(t, s.Connector, spy), As: s.Connector.Driver()}, cfg)
				harness.Exec(t, db, s.Placeholders("INSERT INTO people (name) VALUES (?)"), "a")
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
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id UUID NOT NULL PRIMARY KEY, name TEXT)")
		for i, end := range []func(tx *sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
			db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
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
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people"); n != 2*i {
				t.Errorf("%d rows are stored, want %d", n, 2*i)
			}
		}
	})
}

// TestDialectsOfEngines: each driver's dialect is known without the option.
func TestDialectsOfEngines(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name TEXT)")
		db, m := s.Open(t, harness.FillID("people", policy.Table{}))
		rows, err := db.Query(s.Placeholders("INSERT INTO people (name) VALUES (?), (?) RETURNING id, name"), "a", "b")
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
