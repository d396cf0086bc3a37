package statements_test

import (
	"context"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// unfitKeys are columns that the engine, or the driver, refuses the keys of an entry for.
var unfitKeys = []struct {
	name, only, column string
	rule               policy.Table
	problem            string // of the log: what fits
}{
	{"text into bytes", "mariadb", "BINARY(16)", policy.Table{}, "binary(16) takes bytes: say layout: binary"},
	{"bytes into text", "mariadb", "CHAR(36) CHARACTER SET utf8mb4", policy.Table{Layout: dialect.SequentialAsBinary}, "takes text: leave layout: binary out"},
	{"text into an integer", "mariadb", "BIGINT", policy.Table{}, "takes integers: use source sequence"},
	{"short text", "mariadb", "CHAR(26)", policy.Table{}, "is too short for keys of 36 characters"},
	{"ULIDs as UUIDs", "postgres", "UUID", policy.Table{InPlace: &policy.Source{Kind: policy.KindULID}}, "takes UUIDs, and the keys have 26 characters"},
	{"text into an integer", "postgres", "BIGINT", policy.Table{}, "takes integers: use source sequence"},
	{"short text", "postgres", "VARCHAR(16)", policy.Table{}, "is too short for keys of 36 characters"},
	{"text into an integer", "sqlite", "INTEGER", policy.Table{}, "takes integers: use source sequence"},
}

// TestUnfitKeys: where the engine refuses a key since its column is of another type, the
// log names the entry and what fits, once, and the statistics count it. The error is the
// driver's own. A value of the application that is refused is not taken for a key.
func TestUnfitKeys(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, c := range unfitKeys {
			if c.only != s.Dialect.Name {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				s := s.Engine.Scratch(t)
				strict := ""
				if s.Dialect.Name == "sqlite" {
					strict = " STRICT"
				}
				harness.Exec(t, s.Raw, "CREATE TABLE people (id "+c.column+" PRIMARY KEY, a INTEGER)"+strict)
				logger, logged := sessionWarnings()
				db, m := s.OpenWith(t, keyfill.Options{Policy: harness.FillID("people", c.rule), Logger: logger})
				for range 3 {
					ctx, rec := keyfill.Record(context.Background())
					_, err := db.ExecContext(ctx, s.Placeholders("INSERT INTO people (a) VALUES (?)"), 1)
					if err == nil {
						t.Fatal("the engine takes the key")
					}
					if strings.HasPrefix(err.Error(), "keyfill") {
						t.Errorf("the error is not the driver's own: %v", err)
					}
					if keys := rec.All(); len(keys) != 1 || keys[0].Outcome == keyfill.Stored {
						t.Errorf("recorded %v", keys)
					}
				}
				told := logged()
				if n := strings.Count(told, "a key does not suit its column"); n != 1 || !strings.Contains(told, c.problem) || !strings.Contains(told, "entry=people") {
					t.Errorf("the log has %d lines: %s", n, told)
				}
				if n := m.Stats().Tables["people"].FailedBy[keyfill.CauseColumn]; n != 3 {
					t.Errorf("%d statements are counted", n)
				}
			})
		}
		t.Run("another value", func(t *testing.T) {
			s := s.Engine.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE people (id VARCHAR(36) PRIMARY KEY, a SMALLINT CHECK (a < 100))")
			logger, logged := sessionWarnings()
			db, m := s.OpenWith(t, keyfill.Options{Policy: harness.FillID("people", policy.Table{}), Logger: logger})
			for range 2 {
				if _, err := db.Exec(s.Placeholders("INSERT INTO people (a) VALUES (?)"), 1000000); err == nil {
					t.Fatal("the engine takes the value")
				}
			}
			if told := logged(); told != "" {
				t.Errorf("the log has %s", told)
			}
			if by := m.Stats().Tables["people"].FailedBy; by[keyfill.CauseColumn] != 0 {
				t.Errorf("counted by cause: %v", by)
			}
		})
		t.Run("another value of a row whose key is taken", func(t *testing.T) {
			column := map[string]string{"sqlite": "BIGINT", "postgres": "BYTEA", "mariadb": "CHAR(36) CHARACTER SET latin1"}[s.Dialect.Name]
			rule := policy.Table{}
			if s.Dialect.Name == "mariadb" {
				rule.Layout = dialect.SequentialAsBinary
			}
			s := s.Engine.Scratch(t)
			harness.Must(t, s.Raw, "CREATE TABLE other (id INTEGER PRIMARY KEY)",
				"CREATE TABLE people (id "+column+" PRIMARY KEY, a INTEGER NOT NULL CHECK (a < 100), b INTEGER, FOREIGN KEY (b) REFERENCES other (id))")
			logger, logged := sessionWarnings()
			db, m := s.OpenWith(t, keyfill.Options{Policy: harness.FillID("people", rule), Logger: logger})
			harness.Must(t, db, "INSERT INTO people (a) VALUES (1)")
			for _, values := range []string{"(100, NULL)", "(NULL, NULL)", "(1, 7)"} {
				if _, err := db.Exec("INSERT INTO people (a, b) VALUES " + values); err == nil && s.Dialect.Name != "sqlite" {
					t.Fatal("the engine takes the value")
				}
			}
			if told := logged(); told != "" {
				t.Errorf("the log has %s", told)
			}
			if by := m.Stats().Tables["people"].FailedBy; by[keyfill.CauseColumn] != 0 {
				t.Errorf("counted by cause: %v", by)
			}
		})
	})
}
