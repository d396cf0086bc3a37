package statements_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// orderCells are queries over s (x, y, z) whose order decides which rows t (a UNIQUE,
// b) keeps. In each, VERB is the INSERT up to its column list and UPSERT what follows.
var orderCells = []string{
	"SELECT x, y FROM s ORDER BY y DESC, z",
	"SELECT x, y FROM s ORDER BY y, z",
	"SELECT x, y FROM s ORDER BY z DESC",
	"SELECT s.x, s.y FROM s ORDER BY s.y DESC, s.z",
	"SELECT x, y AS w FROM s ORDER BY w DESC, z",
	"SELECT x, y FROM s ORDER BY 2 DESC, z",
	"SELECT y % 4, y FROM s ORDER BY y % 4, z DESC",
	"SELECT x, x FROM s ORDER BY x, z",
	"SELECT x, y FROM s ORDER BY -y, z",
	"SELECT x, y FROM s WHERE y > 3 ORDER BY y DESC, z LIMIT 4",
	"SELECT x, y + 1 FROM s ORDER BY ABS(y - 7), z LIMIT 5 OFFSET 1",
	"SELECT DISTINCT x, y FROM s ORDER BY y DESC",
	"SELECT x, y FROM s UNION SELECT x + 1, y + 1 FROM s ORDER BY 2 DESC, 1",
	"SELECT x, MAX(y) FROM s GROUP BY x, z ORDER BY MAX(y), x, z",
	"SELECT x, COUNT(*) FROM s GROUP BY x, z ORDER BY COUNT(*) DESC, SUM(z)",
	"WITH q AS (SELECT x, y, z FROM s ORDER BY y) SELECT x, y FROM q ORDER BY z, y",
	"SELECT * FROM (SELECT x, y FROM s) q ORDER BY y DESC, x",
	"(SELECT x, y FROM s ORDER BY y DESC, z)",
	"WITH q AS (SELECT x, y, z FROM s) (SELECT x, y FROM q ORDER BY z, y)",
}

// orderVerbs are the forms that keep one row of several.
var orderVerbs = []struct{ on, verb, upsert string }{
	{"mariadb", "INSERT IGNORE INTO t (a, b) ", ""},
	{"mariadb", "INSERT IGNORE INTO t (a, b) ", " RETURNING a, b"},
	{"mariadb sqlite", "REPLACE INTO t (a, b) ", ""},
	{"mariadb", "INSERT INTO t (a, b) ", " ON DUPLICATE KEY UPDATE b = t.b * 100 + VALUES(b)"},
	{"sqlite", "INSERT OR IGNORE INTO t (a, b) ", ""},
	{"postgres", "INSERT INTO t (a, b) ", " ON CONFLICT (a) DO NOTHING"},
	{"sqlite", "INSERT INTO t (a, b) ", " ON CONFLICT (a) DO UPDATE SET b = t.b * 100 + excluded.b"},
}

// TestSelectOrder: where the ORDER BY of a query decides which row is stored, it is
// the row that the plain driver stores.
func TestSelectOrder(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		orderTables(t, s)
		db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
		for _, v := range orderVerbs {
			if !strings.Contains(v.on, s.Dialect.Name) {
				continue
			}
			for _, c := range orderCells {
				if s.Dialect.Name == "sqlite" && (c[0] == '(' || strings.Contains(c, ") (")) {
					continue
				}
				query := v.verb + c + v.upsert
				if s.Dialect.Name == "sqlite" {
					query = strings.Replace(query, " FROM s UNION", " FROM s WHERE true UNION", 1)
				}
				plain := strings.NewReplacer("INTO t ", "INTO t0 ", "t.b", "t0.b").Replace(query)
				harness.Exec(t, s.Raw, "DELETE FROM t")
				harness.Exec(t, s.Raw, "DELETE FROM t0")
				harness.Exec(t, s.Raw, plain)
				_, err := db.Exec(query)
				if errors.Is(err, rewrite.ErrSelectValues) && strings.Contains(query, "ON DUPLICATE") {
					continue // the engine would not report whether it has taken the first number
				}
				if err != nil {
					t.Errorf("%s: %v", query, err)
					continue
				}
				got, want := harness.RowsOf(t, s.Raw, "SELECT a, b FROM t ORDER BY a"), harness.RowsOf(t, s.Raw, "SELECT a, b FROM t0 ORDER BY a")
				if !slices.Equal(got, want) {
					t.Errorf("%s: stored %q, want %q", query, got, want)
				}
			}
		}
	})
}

// orderTables makes the tables of orderCells, and t0, which is t without keyfill.
func orderTables(t *testing.T, s *harness.Scratch) {
	t.Helper()
	key := "BIGINT NOT NULL"
	if s.Dialect.Name == "mariadb" {
		key += " AUTO_INCREMENT" // else values such as y % 4 could change
	}
	for _, query := range []string{
		"CREATE TABLE t (id " + key + " PRIMARY KEY, a INT UNIQUE, b BIGINT)",
		"CREATE TABLE t0 (a INT UNIQUE, b BIGINT)",
		"CREATE TABLE s (x INT, y INT, z INT)",
		"INSERT INTO s VALUES (1, 10, 1), (2, 5, 2), (1, 30, 3), (2, 7, 4), (3, 3, 5), (3, 9, 6), (1, 20, 7), (3, 9, 8), (2, 7, 0)",
	} {
		harness.Exec(t, s.Raw, query)
	}
}

// TestSelectOrderKeys: the keys of an INSERT … SELECT with ORDER BY are in that order,
// as AUTO_INCREMENT's are.
//
//deviation:insert-select | The order in which an `INSERT … SELECT` numbers its rows is not specified. keyfill keeps the query's ORDER BY, and MySQL and MariaDB number in that order; other engines may not. | all | `SELECT a FROM s ORDER BY a` | name the key column
func TestSelectOrderKeys(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
	s := harness.MySQLDefault.Scratch(t)
	orderTables(t, s)
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
	harness.Exec(t, db, "INSERT INTO t (b) SELECT z FROM s ORDER BY x DESC, y, z")
	got := strings.Join(harness.RowsOf(t, s.Raw, "SELECT b FROM t ORDER BY id"), "")
	if want := strings.Join(harness.RowsOf(t, s.Raw, "SELECT z FROM s ORDER BY x DESC, y, z"), ""); got != want {
		t.Errorf("numbered %s, want %s", got, want)
	}
}

// TestSelectOrderRefused: an order that cannot be kept is refused where it decides
// what is stored.
//
//deviation:insert-select | With IGNORE, REPLACE or ON DUPLICATE KEY UPDATE an `INSERT … SELECT` is refused if its ORDER BY cannot move to an outer query: with a placeholder, a variable or an expression over an alias, by a column that DISTINCT or UNION does not select, or inside a UNION. | MySQL, MariaDB | `INSERT IGNORE … SELECT a FROM s ORDER BY FIELD(b, ?)` | order by a column of the select list
//deviation:insert-select | With IGNORE, REPLACE or ON DUPLICATE KEY UPDATE the engine chooses which of several rows with one unique value is stored, and may choose another row than without keyfill. | MySQL, MariaDB | `INSERT IGNORE … SELECT a FROM s` | ORDER BY columns that decide
func TestSelectOrderRefused(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
	s := harness.MySQLDefault.Scratch(t)
	orderTables(t, s)
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source}))
	for _, query := range []string{
		"INSERT IGNORE INTO t (a, b) SELECT x, y FROM s ORDER BY FIELD(z, ?)",
		"REPLACE INTO t (a, b) SELECT DISTINCT x, y FROM s ORDER BY y + ?",
		"INSERT INTO t (a, b) SELECT x, y AS w FROM s ORDER BY w + ? ON DUPLICATE KEY UPDATE b = 1",
		"INSERT IGNORE INTO t (a, b) (SELECT x, y FROM s ORDER BY z LIMIT ?) UNION (SELECT 1, 2)",
	} {
		if _, err := db.Exec(query, 1); !errors.Is(err, rewrite.ErrOrder) {
			t.Errorf("%s: %v, want %v", query, err, rewrite.ErrOrder)
		}
	}
	var n sql.NullInt64
	if err := s.Raw.QueryRow("SELECT MAX(id) FROM t").Scan(&n); err != nil || n.Valid {
		t.Errorf("stored %v, %v", n, err)
	}
}
