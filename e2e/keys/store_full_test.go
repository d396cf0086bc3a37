package keys_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreFull: PostgreSQL, where the server has no connection left for keyfill, and a
// sequence was used before: an INSERT outside of a transaction reserves on its own connection,
// if the session is as the driver has opened it. Any other says what it said before.
func TestStoreFull(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		stateTables(t, s)
		const begin = "BEGIN"
		harness.Must(t, s.Raw, "CREATE SEQUENCE other", "GRANT USAGE ON SEQUENCE other TO PUBLIC")
		for _, c := range []struct {
			name, before, insert string
			works                bool
		}{
			{"as it was opened", "", "INSERT INTO t (a) VALUES (1)", true},
			{"after rows", "SELECT a FROM t", "INSERT INTO t (a) VALUES (1), (2)", true},
			{"after a draw from a sequence", "INSERT INTO t (id, a) VALUES (-nextval('other'), 1)", "INSERT INTO t (a) VALUES (lastval())", true},
			{"after a setting", "SET synchronous_commit = off", "INSERT INTO t (a) VALUES (1)", false},
			{"after a role", "SET ROLE NONE", "INSERT INTO t (a) VALUES (1)", false},
			{"with another path", "SET search_path = public", "INSERT INTO t (a) VALUES (1)", false},
			{"with a table of its own", "CREATE TEMPORARY TABLE keyfill_sequences (name text)", "INSERT INTO t (a) VALUES (1)", false},
			{"in a transaction", begin, "INSERT INTO t (a) VALUES (1)", false},
		} {
			t.Run(c.name, func(t *testing.T) {
				cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, EnsureSchema: true}})
				cfg.StoreWait = time.Second
				dsn := limitedUser(t, s, 3)
				db, m := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, dsn), cfg)
				db.SetMaxOpenConns(1)
				harness.Must(t, db, "INSERT INTO t (a) VALUES (0)")
				fill(t, s, db, dsn)
				if c.before != "" && c.before != begin {
					harness.Must(t, db, c.before)
				}
				before := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t")
				var err error
				if c.before == begin {
					tx, txErr := db.Begin()
					if txErr != nil {
						t.Fatal(txErr)
					}
					defer tx.Rollback()
					_, err = tx.Exec(c.insert)
				} else {
					_, err = db.Exec(c.insert)
				}
				if !c.works {
					if err == nil {
						t.Error("it was reserved in a session that has changed")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := harness.Count(t, s.Raw, "SELECT MIN(id) FROM t WHERE id > "+fmt.Sprint(before)); got != before+1 {
					t.Errorf("the first key is %d, want %d", got, before+1)
				}
				if m.Stats().Tables["t"].Filled != 2 {
					t.Errorf("%+v", m.Stats().Tables["t"])
				}
				// The store gives on above that once there is room.
				harness.Must(t, s.Raw, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT 3", userOf(t, dsn)))
				last := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t")
				harness.Must(t, db, "INSERT INTO t (a) VALUES (3)")
				if got := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t"); got != last+1 {
					t.Errorf("the next key is %d after %d", got, last)
				}
			})
		}
	})
}

// fill leaves the user of a DSN the one connection of db: the others end, and it may have no
// more.
func fill(t *testing.T, s *harness.Scratch, db *sql.DB, dsn string) {
	t.Helper()
	user := userOf(t, dsn)
	kept := harness.Count(t, db, "SELECT pg_backend_pid()")
	harness.Must(t, s.Raw, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT 1", user))
	others := fmt.Sprintf("FROM pg_stat_activity WHERE usename = '%s' AND pid <> %d", user, kept)
	harness.Must(t, s.Raw, "SELECT pg_terminate_backend(pid) "+others)
	for harness.Count(t, s.Raw, "SELECT COUNT(*) "+others) > 0 {
		time.Sleep(time.Millisecond)
	}
}

// userOf returns the user of a DSN that is a URL.
func userOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.User.Username()
}

// TestStoreFullMany: PostgreSQL, where the application has all connections that a user may
// have, and several goroutines insert at once while the store gets none: no key is given
// twice, and every INSERT works.
func TestStoreFullMany(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		stateTables(t, s)
		const conns, rows = 4, 25
		cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 3, EnsureSchema: true}})
		cfg.StoreWait = 24 * time.Hour
		dsn := limitedUser(t, s, conns+2)
		db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, dsn), cfg)
		db.SetMaxIdleConns(conns)
		harness.Must(t, db, "INSERT INTO t (a) VALUES (0)")
		fill(t, s, db, dsn)
		harness.Must(t, s.Raw, fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", userOf(t, dsn), conns))
		var held []*sql.Conn
		for range conns {
			held = append(held, harness.ConnOf(t, db))
		}
		for _, c := range held {
			if err := c.PingContext(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, conns)
		for _, c := range held {
			go func() {
				for i := range rows {
					if _, err := c.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO t (a) VALUES (%d)", i)); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range conns {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); got != conns*rows+1 {
			t.Errorf("%d rows, want %d", got, conns*rows+1)
		}
	})
}
