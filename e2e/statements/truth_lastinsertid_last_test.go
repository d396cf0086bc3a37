package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestLastInsertIDByArgument: whether an execution of one text brings its key says whether
// LAST_INSERT_ID() is the row's or stays the parent's.
func TestLastInsertIDByArgument(t *testing.T) {
	t.Parallel()
	harness.Each(t, lastIDEngines, func(t *testing.T, s *harness.Scratch) {
		createLastID(t, s, "BIGINT")
		db, _ := s.Open(t, harness.SequenceID("filled"))
		const one, two = "INSERT INTO {t} (id, code, parent) VALUES (?, ?, LAST_INSERT_ID())",
			"INSERT INTO {t} (id, code, n) VALUES (?, ?, 1), (?, ?, LAST_INSERT_ID() * 0)"
		for _, form := range lastIDForms {
			if form.name == "prepared" {
				continue // below, as one statement
			}
			for i, id := range []any{nil, 901, nil, 902, 903, 0, 904} {
				c := lastIDCell{name: fmt.Sprint(form.name, " ", i), query: one, args: []any{id, "a"}, native: "a a"}
				if id != nil && id != 0 {
					c.native, c.filled, c.deviation = "a parent", "none parent", devOwnKey
				}
				compareLastID(t, s, db, c)
			}
		}
		ctx := context.Background()
		for _, query := range []string{one, two} {
			conn := harness.ConnOf(t, db)
			stmt, err := conn.PrepareContext(ctx, withTable(query, "filled"))
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			harness.Must(t, conn, "DELETE FROM filled")
			for i, ids := range [][2]any{{nil, nil}, {901, 1901}, {nil, 1902}, {903, nil}, {904, 1904}, {905, 1905}, {nil, nil}} {
				harness.Must(t, conn, "INSERT INTO parents (n) VALUES (1)")
				args := []any{ids[0], fmt.Sprint(i), ids[1], fmt.Sprint(i, "b")}
				if query == one {
					args = args[:2]
				}
				res, err := stmt.ExecContext(ctx, args...)
				if err != nil {
					t.Fatal(err)
				}
				var want int64
				ask := "SELECT MAX(id) FROM parents"
				for j := 0; j < len(args); j += 2 {
					if args[j] == nil {
						ask = fmt.Sprintf("SELECT id FROM filled WHERE code = '%s'", args[j+1])
						break
					}
				}
				if err := conn.QueryRowContext(ctx, ask).Scan(&want); err != nil {
					t.Fatal(err)
				}
				var got int64
				if err := conn.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&got); err != nil {
					t.Fatal(err)
				}
				id, err := res.LastInsertId()
				if ask == "SELECT MAX(id) FROM parents" {
					id = want // it has no LastInsertId
				}
				if got != want || id != want || err != nil {
					t.Errorf("%s, %v: LAST_INSERT_ID() is %d, LastInsertId %d, %v; want %d", query, ids, got, id, err, want)
				}
			}
		}
	})
}

// withTable writes a table's name into a query.
func withTable(query, table string) string { return strings.ReplaceAll(query, "{t}", table) }

// TestLastInsertIDRoundTrips: what the session's text costs no round trip, with a subquery or
// without, filled or not.
func TestLastInsertIDRoundTrips(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, harness.MySQLEngines) {
		t.Run(e.Name, func(t *testing.T) {
			w := new(wire)
			c := w.connector(t, e)
			raw := sql.OpenDB(c)
			defer raw.Close()
			const rest = ", code VARCHAR(20), n INT)"
			harness.Must(t, raw, "CREATE TABLE native (id BIGINT AUTO_INCREMENT PRIMARY KEY"+rest, "CREATE TABLE filled (id BIGINT PRIMARY KEY"+rest)
			db, err := keyfill.OpenDB(c, keyfill.Options{Policy: harness.SequenceID("filled")})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, q := range []struct {
				query string
				args  []any
			}{
				{"INSERT INTO {t} (code, n) VALUES ('a', (SELECT COUNT(*) FROM information_schema.engines))", nil},
				{"INSERT INTO {t} (code, n) VALUES ('a', 1), ('b', abs (-5))", nil},
				{"INSERT INTO {t} (code, n) VALUES (?, (SELECT 5))", []any{"a"}},
				{"INSERT INTO {t} (code, n) VALUES (?, 1), (?, LAST_INSERT_ID())", []any{"a", "b"}},
				{"INSERT INTO {t} (id, code) VALUES (NULL, 'a')", nil},
				{"INSERT INTO {t} (id, code) VALUES (?, ?)", []any{nil, "a"}},
				{"INSERT INTO {t} (id, code) VALUES (?, ?)", []any{int64(77), "a"}},
			} {
				turns := func(db *sql.DB, table string) (n int64) {
					for range 3 { // the first may ask what is asked once
						before := w.turns.Load()
						harness.Exec(t, db, withTable(q.query, table), q.args...)
						n = w.turns.Load() - before
						harness.Exec(t, db, "DELETE FROM "+table+" WHERE id = 77")
					}
					return n
				}
				if plain, ours := turns(raw, "native"), turns(db, "filled"); ours != plain || e.Is(harness.MySQLInterp) && ours != 1 {
					t.Errorf("%s, %v: %d round trips, want %d as through the raw driver", q.query, q.args, ours, plain)
				}
			}
		})
	}
}
