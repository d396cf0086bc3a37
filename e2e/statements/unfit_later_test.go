package statements_test

import (
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestUnfitAskedApart: what the catalog has said, or has not said, when an INSERT was refused
// is not taken for what it says of later ones: the table was changed in between.
func TestUnfitAskedApart(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE people (id CHAR(36) PRIMARY KEY, a INTEGER UNIQUE)"
	triggers := map[string][]string{
		"mariadb": {"CREATE TRIGGER old BEFORE INSERT ON people FOR EACH ROW SET NEW.a = NEW.a"},
		"sqlite":  {"CREATE TRIGGER old AFTER INSERT ON people BEGIN UPDATE people SET a = a; END"},
		"postgres": {"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$",
			"CREATE TRIGGER old BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION f()"},
	}
	refused := func(t *testing.T, s *harness.Scratch, c harness.Execer) {
		t.Helper()
		value := "'x'"
		if s.Dialect.Name == "sqlite" {
			value = "abs(-9223372036854775808)"
		}
		if _, err := c.ExecContext(t.Context(), "INSERT INTO people (a) VALUES ("+value+")"); err == nil {
			t.Fatal("the INSERT works")
		}
	}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		t.Run("a trigger", func(t *testing.T) {
			s := s.Engine.Scratch(t)
			harness.Must(t, s.Raw, append([]string{table}, triggers[s.Dialect.Name]...)...)
			db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
			refused(t, s, db)
			drop := "DROP TRIGGER old"
			if s.Dialect.Name == "postgres" {
				drop += " ON people"
			}
			harness.Must(t, s.Raw, drop)
			leavesOneOut(t, s, db)
		})
		t.Run("a transaction", func(t *testing.T) {
			s := s.Engine.Scratch(t)
			db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			harness.Must(t, tx, table)
			refused(t, s, tx)
			_ = tx.Rollback()
			harness.Must(t, s.Raw, "DROP TABLE IF EXISTS people", table)
			leavesOneOut(t, s, db)
		})
	})
}

// leavesOneOut stores a row, and has an INSERT leave it out the second time, which Record
// reports.
func leavesOneOut(t *testing.T, s *harness.Scratch, db *sql.DB) {
	t.Helper()
	harness.Must(t, db, "INSERT INTO people (a) VALUES (1)")
	skip := "INSERT INTO people (a) VALUES (1), (2) ON CONFLICT DO NOTHING"
	if s.Dialect.Name == "mariadb" {
		skip = "INSERT IGNORE INTO people (a) VALUES (1), (2)"
	}
	ctx, rec := keyfill.Record(t.Context())
	if _, err := db.ExecContext(ctx, skip); err != nil {
		t.Fatal(err)
	}
	if word := outcomesOf(t, s, rec, "people"); word != "NS" {
		t.Errorf("recorded is %s, want NS", word)
	}
}
