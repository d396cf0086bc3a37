package joined_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestScopeCurrentForeign: postgres_fdw shows a transaction the rows as they were when it
// first asked for any. The first number of a parent is above those that another program has
// committed since.
func TestScopeCurrentForeign(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		at, err := url.Parse(s.Engine.DSN(t))
		if err != nil {
			t.Fatal(err)
		}
		password, _ := at.User.Password()
		harness.Exec(t, s.Raw, "CREATE EXTENSION postgres_fdw")
		harness.Exec(t, s.Raw, "CREATE SCHEMA far")
		harness.Exec(t, s.Raw, "CREATE TABLE far.order_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, item TEXT)")
		harness.Exec(t, s.Raw, fmt.Sprintf("CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname '%s')", at.Hostname(), at.Port(), harness.DatabaseOf(t, s)))
		harness.Exec(t, s.Raw, fmt.Sprintf("CREATE USER MAPPING FOR PUBLIC SERVER self OPTIONS (user '%s', password '%s', password_required 'false')", at.User.Username(), password))
		harness.Exec(t, s.Raw, "CREATE FOREIGN TABLE order_lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, item TEXT) SERVER self OPTIONS (schema_name 'far')")
		db, _ := s.Open(t, harness.LinesOf(harness.ByOrder))
		err = harness.InTx(db, func(tx *sql.Tx) error {
			if _, err := tx.Exec("SELECT COUNT(*) FROM order_lines"); err != nil {
				return err
			}
			harness.Exec(t, s.Raw, "INSERT INTO far.order_lines (order_id, no) VALUES (7, 1), (7, 2)")
			_, err := tx.Exec("INSERT INTO order_lines (order_id, item) VALUES (7, 'a')")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if no := harness.Count(t, s.Raw, "SELECT no FROM far.order_lines WHERE item = 'a'"); no != 3 {
			t.Errorf("the line has no %d, want 3", no)
		}
	})
}

// TestScopeCurrentView: a view shows a role no rows that row security hides below it. The
// first number of a parent is above those all the same.
func TestScopeCurrentView(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		role := harness.DatabaseOf(t, s) + "_view"
		harness.Exec(t, s.Raw, "CREATE TABLE lines (order_id BIGINT NOT NULL, no BIGINT NOT NULL, item TEXT, own TEXT DEFAULT current_user)")
		harness.Exec(t, s.Raw, "CREATE INDEX ON lines (order_id, no)")
		harness.Exec(t, s.Raw, "CREATE VIEW order_lines WITH (security_invoker = true) AS SELECT * FROM lines")
		harness.Exec(t, s.Raw, "ALTER TABLE lines ENABLE ROW LEVEL SECURITY")
		harness.Exec(t, s.Raw, "CREATE POLICY own ON lines USING (own = current_user)")
		harness.Exec(t, s.Raw, "CREATE ROLE "+role)
		t.Cleanup(func() {
			harness.Exec(t, s.Raw, "DROP OWNED BY "+role)
			harness.Exec(t, s.Raw, "DROP ROLE "+role)
		})
		harness.Exec(t, s.Raw, "GRANT ALL ON lines, order_lines TO "+role)
		cfg := harness.LinesOf(harness.ByOrder)
		cfg.Tables["order_lines"].Keys[0].InPlace.Exclusive = true
		db, _ := s.Open(t, cfg)
		harness.Exec(t, db, "INSERT INTO order_lines (order_id, item) VALUES (1, 'first')")
		harness.Exec(t, s.Raw, "GRANT ALL ON keyfill_sequences TO "+role)
		harness.Exec(t, s.Raw, "INSERT INTO lines (order_id, no) VALUES (7, 1), (7, 2)")
		err := harness.InTx(db, func(tx *sql.Tx) error {
			if _, err := tx.Exec("SET LOCAL ROLE " + role); err != nil {
				return err
			}
			_, err := tx.Exec("INSERT INTO order_lines (order_id, item) VALUES (7, 'a')")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if no := harness.Count(t, s.Raw, "SELECT no FROM lines WHERE item = 'a'"); no != 3 {
			t.Errorf("the line has no %d, want 3", no)
		}
	})
}
