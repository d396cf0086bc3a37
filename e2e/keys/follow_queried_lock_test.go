package keys_test

import (
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// followed is a numbering of transactions that follows keys which INSERTs bring.
func followed() policy.Source {
	return harness.Counted(func(s *policy.Source) {
		s.Block, s.Transaction, s.FollowExplicit = 0, policy.TransactionJoined, true
	})
}

// TestFollowLocks: while an INSERT whose keys the engine alone can read runs, no session
// draws from its numbering.
func TestFollowLocks(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX t_id ON t (id)",
			"CREATE TABLE s (id BIGINT, a INT)", "INSERT INTO s VALUES (2, 1), (3, 1), (4, 1)")
		src := followed()
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &src}}})
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		holder, err := s.Raw.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Close()
		if _, err := holder.ExecContext(t.Context(), "SELECT pg_advisory_lock(77)"); err != nil {
			t.Fatal(err)
		}
		insert := func(query string) chan error {
			done := make(chan error, 1)
			go func() {
				_, err := db.Exec(query)
				done <- err
			}()
			return done
		}
		// waiting waits until so many wait for a lock; a session that does not wait shows
		// in done.
		waiting := func(n int, done chan error) {
			for range 2000 {
				if len(done) > 0 || harness.Count(t, s.Raw, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") >= n {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
		queried := insert("INSERT INTO t (id, a) SELECT s.id, s.a FROM (SELECT pg_advisory_xact_lock(77)) z, s")
		waiting(1, queried)
		drawn := insert("INSERT INTO t (a) VALUES (1)")
		waiting(2, drawn)
		if _, err := holder.ExecContext(t.Context(), "SELECT pg_advisory_unlock(77)"); err != nil {
			t.Fatal(err)
		}
		for _, done := range []chan error{queried, drawn, insert("INSERT INTO t (a) VALUES (1)")} {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		wantDistinct(t, s, 6)
	})
}

// TestFollowHidden: where the role cannot see the rows that it inserts, the greatest key
// that it sees says nothing, and the numbering is raised above what is brought.
func TestFollowHidden(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		role := "kf_hidden_" + s.Driver
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL, a INT)", "CREATE INDEX t_id ON t (id)", "CREATE ROLE "+role,
			"GRANT ALL ON t TO "+role, "ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON t FOR INSERT WITH CHECK (true)")
		src := followed()
		db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &src}}})
		db.SetMaxOpenConns(1)
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		harness.Must(t, s.Raw, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role)
		harness.Exec(t, db, "SET ROLE "+role)
		t.Cleanup(func() {
			db.Close()
			harness.Must(t, s.Raw, "DROP OWNED BY "+role, "DROP ROLE "+role)
		})
		for _, q := range []string{"INSERT INTO t (id, a) VALUES (3, 1) ON CONFLICT DO NOTHING", "INSERT INTO t (a) VALUES (1)", "INSERT INTO t (a) VALUES (1)"} {
			harness.Exec(t, db, q)
		}
		wantDistinct(t, s, 4)
	})
}
