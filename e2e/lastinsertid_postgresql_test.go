package e2e_test

import (
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

// TestLastInsertIDOfPostgreSQL: where the drivers answer with an error,
// last_insert_id: result gives the first row's key, and 0 where it is not known
// to be stored.
func TestLastInsertIDOfPostgreSQL(t *testing.T) {
	each(t, postgresModes, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE filled (id BIGINT NOT NULL PRIMARY KEY, code TEXT UNIQUE)")
		cfg := sequenceID("filled")
		rule := cfg.Tables["filled"]
		rule.LastInsertID = policy.LastInsertIDResult
		cfg.Tables["filled"] = rule
		db, _ := s.open(t, cfg)
		forms := map[string]func(query string, args ...any) (sql.Result, error){
			"Exec": func(query string, args ...any) (sql.Result, error) { return db.Exec(s.placeholders(query), args...) },
			"prepared": func(query string, args ...any) (sql.Result, error) {
				return preparedExec(db, s.placeholders(query), args...)
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
				exec(t, s.raw, "DELETE FROM filled")
				exec(t, s.raw, "INSERT INTO filled (id, code) VALUES (500, 'old')")
				res, err := send(c.query, c.args...)
				if err != nil {
					t.Fatal(err)
				}
				id, err := res.LastInsertId()
				want := int64(0)
				if c.want != "" {
					want = int64(count(t, s.raw, "SELECT id FROM filled WHERE code = '"+c.want+"'"))
				}
				if id != want || err != nil {
					t.Errorf("%s: %s: LastInsertId is %d, error %v; want %d", name, c.query, id, err, want)
				}
			}
		}
	})
}
