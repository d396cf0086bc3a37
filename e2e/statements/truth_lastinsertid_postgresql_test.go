package statements_test

import (
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestLastInsertIDOfPostgreSQL: where the drivers answer with an error,
// last_insert_id: result gives the first row's key, and 0 where it is not known
// to be stored.
func TestLastInsertIDOfPostgreSQL(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.PostgresModes, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE filled (id BIGINT NOT NULL PRIMARY KEY, code TEXT UNIQUE)")
		cfg := harness.SequenceID("filled")
		rule := cfg.Tables["filled"]
		rule.LastInsertID = policy.LastInsertIDResult
		cfg.Tables["filled"] = rule
		db, _ := s.Open(t, cfg)
		forms := map[string]func(query string, args ...any) (sql.Result, error){
			"Exec": func(query string, args ...any) (sql.Result, error) { return db.Exec(s.Placeholders(query), args...) },
			"prepared": func(query string, args ...any) (sql.Result, error) {
				return harness.PreparedExec(db, s.Placeholders(query), args...)
			},
			"literals": func(query string, args ...any) (sql.Result, error) { return db.Exec(withLiterals(query, args)) },
		}
		for name, send := range forms {
			for _, c := range []struct {
				query string
				args  []any
				want  string // the code of the row
			}{
				{"INSERT INTO filled (code) VALUES (?)", []any{"a"}, "a"},
				{"INSERT INTO filled (code) VALUES (?), (?), (?)", []any{"a", "b", "c"}, "a"},
				{"INSERT INTO filled (code, id) VALUES (?, DEFAULT), (?, 900)", []any{"a", "b"}, "a"},
				{"INSERT INTO filled (code) VALUES (?), (?) ON CONFLICT DO NOTHING", []any{"a", "b"}, "a"},
				{"INSERT INTO filled (code) VALUES (?), (?) ON CONFLICT DO NOTHING", []any{"a", "old"}, "a"},
				{"INSERT INTO filled (code) VALUES (?), (?) ON CONFLICT DO NOTHING", []any{"old", "a"}, "a"},
				{"INSERT INTO filled (code) VALUES (?) ON CONFLICT DO NOTHING", []any{"old"}, ""},
				{"INSERT INTO filled (code) VALUES (?) ON CONFLICT (code) DO UPDATE SET code = excluded.code", []any{"old"}, ""},
				{"INSERT INTO filled (code) VALUES (?), (?) ON CONFLICT (code) DO UPDATE SET code = excluded.code", []any{"old", "a"}, "a"},
				{"INSERT INTO filled (code) VALUES (?) ON CONFLICT (code) DO UPDATE SET code = excluded.code", []any{"a"}, "a"},
			} {
				harness.Exec(t, s.Raw, "DELETE FROM filled")
				harness.Exec(t, s.Raw, "INSERT INTO filled (id, code) VALUES (500, 'old')")
				res, err := send(c.query, c.args...)
				if err != nil {
					t.Fatal(err)
				}
				id, err := res.LastInsertId()
				want := int64(0)
				if c.want != "" {
					want = int64(harness.Count(t, s.Raw, "SELECT id FROM filled WHERE code = '"+c.want+"'"))
				}
				if id != want || err != nil {
					t.Errorf("%s: %s: LastInsertId is %d, error %v; want %d", name, c.query, id, err, want)
				}
			}
		}
	})
}
