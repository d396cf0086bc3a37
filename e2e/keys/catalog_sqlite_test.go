package keys_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
)

func TestCatalogSQLite(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.SQLiteMemory}, func(t *testing.T, s *harness.Scratch) {
		c := newSession(t, s)
		c.exec(t,
			`CREATE TABLE rowids (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE)`,
			`CREATE TABLE "auto" (id INTEGER PRIMARY KEY /* x */ AUTOINCREMENT)`,
			`CREATE TABLE autoNot (id INTEGER PRIMARY KEY, "autoincrement" TEXT DEFAULT ' autoincrement ''' /* autoincrement */, -- autoincrement
				[autoincrement ] TEXT)`,
			`CREATE TABLE bigints (id BIGINT PRIMARY KEY)`,
			`CREATE TABLE backwards (id INTEGER PRIMARY KEY DESC)`,
			`CREATE TABLE clustered (id INTEGER PRIMARY KEY, b INT) WITHOUT ROWID`,
			`CREATE TABLE pair (a INTEGER, b INTEGER, c INT, d INT, PRIMARY KEY (a, b))`,
			`CREATE UNIQUE INDEX pair_b ON pair (b) WHERE b > 0`,
			`CREATE INDEX pair_c ON pair (c, a)`,
			`CREATE UNIQUE INDEX pair_d ON pair (d + 1)`,
			`CREATE TABLE affinities (i INT UNSIGNED, v VARCHAR(5), t CLOB, b BLOB, r REAL, f DOUBLE PRECISION, n DECIMAL(10,5), u UUID, x,
				g INT AS (i + 1), h INT AS (i + 2) STORED, p FLOATING POINT)`,
			`CREATE TABLE strict (id INT PRIMARY KEY, a ANY) STRICT`,
			`CREATE VIEW shown AS SELECT id, name FROM rowids`,
			`CREATE TRIGGER "insert" AFTER UPDATE OF id ON bigints BEGIN INSERT INTO rowids (name) VALUES (1); END`,
			`CREATE TRIGGER /* delete */ IF NOT EXISTS other INSTEAD OF INSERT ON shown BEGIN SELECT 1; END`,
			`CREATE TEMPORARY TRIGGER passing BEFORE INSERT ON main.pair BEGIN SELECT 1; END`)
		c.checkTables(t, map[string]string{
			"rowids":    lines("table rowids, triggers no", "id INTEGER: integer 63 rowid led rowids.id", "name TEXT: text 0 led rowids.name"),
			"auto":      lines("table auto, triggers no", "id INTEGER: integer 63 AUTOINCREMENT rowid led auto.id"),
			"autonot":   lines("table autoNot, triggers no", "id INTEGER: integer 63 rowid led autoNot.id", "autoincrement TEXT: text 0", "autoincrement  TEXT: text 0"),
			"bigints":   lines("table bigints, triggers no", "id BIGINT: integer 63 led bigints.id"),
			"backwards": lines("table backwards, triggers no", "id INTEGER: integer 63 led backwards.id"),
			"clustered": lines("table clustered, triggers no", "id INTEGER: integer 63 led clustered.id", "b INT: integer 63"),
			"pair": lines("table pair, triggers yes", "a INTEGER: integer 63 led pair.a", "b INTEGER: integer 63 pair.b",
				"c INT: integer 63 led", "d INT: integer 63"),
			"affinities": lines("table affinities, triggers no",
				"i INT UNSIGNED: integer 63",
				"v VARCHAR(5): text 0",
				"t CLOB: text 0",
				"b BLOB: binary 0",
				"r REAL:",
				"f DOUBLE PRECISION:",
				"n DECIMAL(10,5): integer 63 text 0 binary 0",
				"u UUID: integer 63 text 0 binary 0",
				"x : integer 63 text 0 binary 0",
				"g INT: integer 63 generated",
				"h INT: integer 63 generated",
				"p FLOATING POINT: integer 63"), // INT in POINT
			"strict": lines("table strict, triggers no", "id INT: integer 63 led strict.id", "a ANY: integer 63 text 0 binary 0"),
			"shown":  lines("view shown, triggers yes", "id INTEGER: integer 63", "name TEXT: text 0"),
		})
		rowids, err := c.read("", "rowids")
		if err != nil || rowids.Columns[1].Collation != "NOCASE" {
			t.Errorf("%+v, %v", rowids, err)
		}
	})
}

// TestCatalogSQLiteSchemas: a bare name is found in temp, main, then the
// attached databases.
func TestCatalogSQLiteSchemas(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	c := newSession(t, s)
	c.exec(t, `CREATE TABLE orders (in_main INT)`,
		`ATTACH '`+filepath.Join(t.TempDir(), "other.db")+`' AS "Odd one"`,
		`CREATE TABLE "Odd one".orders (in_odd INT)`, `CREATE TABLE "Odd one".Lines (id INTEGER PRIMARY KEY)`)
	check := func(schema, table, wantSchema, wantColumn string) {
		t.Helper()
		got, err := c.read(schema, table)
		if err != nil || got.Schema != wantSchema || got.Columns[0].Name != wantColumn || len(got.Columns) != 1 {
			t.Errorf("%s.%s: %+v, %v; want %s in %s", schema, table, got, err, wantColumn, wantSchema)
		}
	}
	check("", "orders", "main", "in_main")
	check("odd one", "orders", "Odd one", "in_odd")
	check("", "lines", "Odd one", "id")
	c.exec(t, `CREATE TEMPORARY TABLE orders (in_temp INT)`)
	check("", "orders", "temp", "in_temp")
	check("temp", "orders", "temp", "in_temp")
	check("main", "orders", "main", "in_main")
	// A pragma's table is no table.
	if _, err := c.read("", "pragma_table_info"); !errors.Is(err, catalog.ErrNoTable) {
		t.Errorf("%v, want ErrNoTable", err)
	}
}
