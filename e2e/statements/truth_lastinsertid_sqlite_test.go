package statements_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// rowIDCell is an INSERT into a table of SQLite whose id is the rowid, and into
// three that keyfill fills: as in lastIDCell, but with last_insert_rowid() for
// LAST_INSERT_ID(). What differs from native must be in the list.
type rowIDCell struct {
	name  string
	query string
	args  []any

	native  string
	integer string // INTEGER PRIMARY KEY
	bigint  string // BIGINT PRIMARY KEY, which is not the rowid
	none    string // BIGINT PRIMARY KEY in a table WITHOUT ROWID
	// deviations are the deviations of the answers that are not native's.
	deviations []string
}

var rowIDCells = []rowIDCell{
	{name: "one row", query: "INSERT INTO {t} (code) VALUES (?)", args: []any{"a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "many rows", query: "INSERT INTO {t} (code) VALUES (?), (?), (?)", args: []any{"a", "b", "c"},
		native: "c c", integer: "c c", bigint: "c unstored", none: "c parent", deviations: []string{devRowID}},
	{name: "DEFAULT VALUES", query: "INSERT INTO {t} DEFAULT VALUES",
		native: "null null", integer: "null null", bigint: "null unstored", none: "null parent", deviations: []string{devRowID}},
	{name: "fails", query: "INSERT INTO {t} (code) VALUES (?)", args: []any{"old"},
		native: "error parent", integer: "error parent", bigint: "error parent", none: "error parent"},
	{name: "listed null", query: "INSERT INTO {t} (id, code) VALUES (?, ?)", args: []any{nil, "a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "own key", query: "INSERT INTO {t} (id, code) VALUES (?, ?)", args: []any{400, "a"},
		native: "a a", integer: "a a", bigint: "unstored unstored", none: "parent parent", deviations: []string{devOwnRowID, devRowID}},
	{name: "own key first", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{400, "a", nil, "b"},
		native: "b b", integer: "b b", bigint: "b unstored", none: "b parent", deviations: []string{devRowID}},
	{name: "own key last", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},

	{name: "IGNORE", query: "INSERT OR IGNORE INTO {t} (code) VALUES (?)", args: []any{"a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "IGNORE alone", query: "INSERT OR IGNORE INTO {t} (code) VALUES (?)", args: []any{"old"},
		native: "parent parent", integer: "none parent", bigint: "none parent", none: "none parent", deviations: []string{devStale}},
	{name: "IGNORE first", query: "INSERT OR IGNORE INTO {t} (code) VALUES (?), (?)", args: []any{"old", "a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "IGNORE last", query: "INSERT OR IGNORE INTO {t} (code) VALUES (?), (?)", args: []any{"a", "old"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},

	{name: "REPLACE inserts", query: "INSERT OR REPLACE INTO {t} (code) VALUES (?)", args: []any{"a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "REPLACE replaces", query: "REPLACE INTO {t} (code) VALUES (?)", args: []any{"old"},
		native: "old old", integer: "old old", bigint: "old unstored", none: "old parent", deviations: []string{devRowID}},
	{name: "REPLACE itself", query: "INSERT OR REPLACE INTO {t} (code) VALUES (?), (?)", args: []any{"a", "a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},

	{name: "IGNORE own key last", query: "INSERT OR IGNORE INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "IGNORE own key alone", query: "INSERT OR IGNORE INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "old", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "IGNORE own key first", query: "INSERT OR IGNORE INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{400, "b", nil, "old"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "IGNORE own key as text", query: "INSERT OR IGNORE INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "a", "400", "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "IGNORE own key worked out", query: "INSERT OR IGNORE INTO {t} (id, code) VALUES (?, ?), (399 + 1, ?)", args: []any{nil, "a", "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "NOTHING own key last", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?) ON CONFLICT DO NOTHING", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "UPDATE own key last", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?) ON CONFLICT (code) DO UPDATE SET n = 5", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "UPDATE own key alone", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?) ON CONFLICT (code) DO UPDATE SET n = 5", args: []any{nil, "old", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "UPDATE own key first", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?) ON CONFLICT (code) DO UPDATE SET n = 5", args: []any{400, "b", nil, "old"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "RETURNING own key last", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?) RETURNING id", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "IGNORE RETURNING own key last", query: "INSERT OR IGNORE INTO {t} (id, code) VALUES (?, ?), (?, ?) RETURNING id, code", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "UPDATE RETURNING own key last", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?) ON CONFLICT (code) DO UPDATE SET n = 5 RETURNING id", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},
	{name: "REPLACE own key last", query: "REPLACE INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "a", 400, "b"},
		native: "b b", integer: "b b", bigint: "none unstored", none: "none parent", deviations: []string{devOwnLast, devRowID}},

	{name: "NOTHING inserts", query: "INSERT INTO {t} (code) VALUES (?) ON CONFLICT DO NOTHING", args: []any{"a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "NOTHING skips", query: "INSERT INTO {t} (code) VALUES (?) ON CONFLICT (code) DO NOTHING", args: []any{"old"},
		native: "parent parent", integer: "none parent", bigint: "none parent", none: "none parent", deviations: []string{devStale}},
	{name: "NOTHING skips last", query: "INSERT INTO {t} (code) VALUES (?), (?) ON CONFLICT DO NOTHING", args: []any{"a", "old"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "UPDATE inserts", query: "INSERT INTO {t} (code, n) VALUES (?, ?) ON CONFLICT (code) DO UPDATE SET n = excluded.n", args: []any{"a", 2},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "UPDATE updates", query: "INSERT INTO {t} (code, n) VALUES (?, ?) ON CONFLICT (code) DO UPDATE SET n = excluded.n", args: []any{"old", 2},
		native: "parent parent", integer: "none parent", bigint: "none parent", none: "none parent", deviations: []string{devStale}},
	{name: "UPDATE updates first", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?) ON CONFLICT (code) DO UPDATE SET n = excluded.n", args: []any{"old", 2, "a", 2},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "REPLACE with NOTHING inserts", query: "REPLACE INTO {t} (code) VALUES (?) ON CONFLICT (code) DO NOTHING", args: []any{"a"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "REPLACE with NOTHING skips", query: "REPLACE INTO {t} (code) VALUES (?) ON CONFLICT (code) DO NOTHING", args: []any{"old"},
		native: "parent parent", integer: "none parent", bigint: "none parent", none: "none parent", deviations: []string{devStale}},
	{name: "REPLACE with NOTHING skips last", query: "REPLACE INTO {t} (code) VALUES (?), (?) ON CONFLICT (code) DO NOTHING", args: []any{"a", "old"},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
	{name: "UPDATE updates last", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?) ON CONFLICT (code) DO UPDATE SET n = excluded.n", args: []any{"a", 2, "old", 2},
		native: "a a", integer: "a a", bigint: "a unstored", none: "a parent", deviations: []string{devRowID}},
}

// TestLastInsertIDOfSQLite is TestLastInsertID for SQLite.
//
//deviation:lastinsertid | LastInsertId is 0 after an INSERT that stored no new row. The plain driver gives the id of an earlier INSERT. | SQLite | `INSERT OR IGNORE`, `DO NOTHING`, `DO UPDATE` | `last_insert_id: off`
//deviation:lastinsertid | LastInsertId is the rowid, which is not the key, after an INSERT that brings all its keys. | SQLite, a key that is not INTEGER PRIMARY KEY | `INSERT INTO t (id, a) VALUES (7, 1)` | `id INTEGER PRIMARY KEY`
//deviation:lastinsertid | LastInsertId is 0 after an INSERT whose last row brings its key and another one does not. | SQLite, a key that is not INTEGER PRIMARY KEY | `VALUES (NULL, 1), (7, 1)` | `id INTEGER PRIMARY KEY`
//deviation:lastinsertid | `last_insert_rowid()` is the rowid, which is not the key. | SQLite, a key that is not INTEGER PRIMARY KEY | `id BIGINT PRIMARY KEY` | `id INTEGER PRIMARY KEY`
func TestLastInsertIDOfSQLite(t *testing.T) {
	t.Parallel()
	for _, e := range []harness.Engine{harness.SQLiteFile, harness.MattnFile} {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			testLastInsertIDOfSQLite(t, e)
		})
	}
}

func testLastInsertIDOfSQLite(t *testing.T, e harness.Engine) {
	for _, table := range []struct {
		name, key, end string
		want           func(rowIDCell) string
	}{
		{"integer", "INTEGER NOT NULL PRIMARY KEY", "", func(c rowIDCell) string { return c.integer }},
		{"bigint", "BIGINT NOT NULL PRIMARY KEY", "", func(c rowIDCell) string { return c.bigint }},
		{"without rowid", "BIGINT NOT NULL PRIMARY KEY", "WITHOUT ROWID", func(c rowIDCell) string { return c.none }},
	} {
		t.Run(table.name, func(t *testing.T) {
			s := e.Scratch(t)
			harness.Exec(t, s.Raw, "CREATE TABLE native (id INTEGER PRIMARY KEY, code TEXT UNIQUE, n INT, parent INT, empty INT)")
			harness.Exec(t, s.Raw, "CREATE TABLE filled (id "+table.key+", code TEXT UNIQUE, n INT, parent INT, empty INT) "+table.end)
			harness.Exec(t, s.Raw, "CREATE TABLE parents (id INTEGER PRIMARY KEY, n INT)")
			harness.Exec(t, s.Raw, "INSERT INTO parents VALUES (7000000, 0)")
			db, _ := s.Open(t, harness.SequenceID("filled"))
			// The first INSERT makes the sequence, far from the rowids.
			harness.Exec(t, s.Raw, "INSERT INTO filled (id, code) VALUES (1000, 'own')")
			harness.Exec(t, db, "INSERT INTO filled (code) VALUES ('first')")
			for _, c := range rowIDCells {
				for _, form := range lastIDForms {
					t.Run(c.name+"/"+form.name, func(t *testing.T) {
						ask := func(db *sql.DB, name string) answer {
							return answerOf(t, s, db, name, func(ctx context.Context, conn *sql.Conn) (sql.Result, error) {
								return form.exec(ctx, conn, strings.ReplaceAll(c.query, "{t}", name), c.args)
							})
						}
						c.check(t, table.want(c), ask(s.Raw, "native"), ask(db, "filled"))
					})
				}
			}
		})
	}
}

func (c rowIDCell) check(t *testing.T, want string, native, filled answer) {
	t.Helper()
	for _, deviation := range c.deviations {
		checkListed(t, deviation)
	}
	if want != c.native && len(c.deviations) == 0 {
		t.Errorf("%s: no deviation is named", c.query)
	}
	if !slices.Equal(native.rows, filled.rows) {
		t.Errorf("%s: native has the rows %q, filled %q", c.query, native.rows, filled.rows)
	}
	if native.ids != c.native || filled.ids != want {
		t.Errorf("%s: native answers %q, filled %q; want %q and %q", c.query, native.ids, filled.ids, c.native, want)
	}
}
