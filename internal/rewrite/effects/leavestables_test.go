package effects_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// TestLeavesTables: a text that may make, change, rename or drop a table, or change
// what the name of one means, does not leave the tables as they are.
func TestLeavesTables(t *testing.T) {
	const all, my, pg, lite = "mysql mariadb postgres sqlite", "mysql mariadb", "postgres", "sqlite"
	for _, c := range []struct {
		query, dialects string
		want            bool
	}{
		{"INSERT INTO t VALUES (1, coalesce(?, 2))", all, true},
		{"INSERT INTO t (a, b) VALUES (1, 2)", all, true},
		{"INSERT INTO shop.t (a) SELECT a FROM s WHERE b IN (1, 2)", all, true},
		{" \n-- name: Add\nReplace into t values (1) ; \n", my, true},
		{"INSERT IGNORE t (a) VALUES (1)", my, true},
		{"INSERT t (a) VALUES (f(1))", my, false},
		{"INSERT OR IGNORE INTO t (a) VALUES (1)", lite, true},
		{"INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO NOTHING", pg + " " + lite, true},
		{"INSERT INTO t VALUES (f(1))", my + " " + pg, false},
		{"INSERT INTO t VALUES (1) RETURNING s.f(a)", pg, false},
		{"INSERT INTO t VALUES (';')", all, true},
		{"INSERT INTO t VALUES (1); UPDATE t SET a = 2", all, true},
		{"INSERT INTO t VALUES (1); ALTER TABLE t ADD b INT", all, false},
		{"/* a */ /* b */DELETE FROM t", all, true},
		{"INSERT INTO t (a, id) VALUES (?, LAST_INSERT_ID(?))", my, true},
		{"INSERT INTO t (a, id) VALUES (?, LAST_INSERT_ID(f(?)))", my, false},
		{"INSERT INTO t (a, id) VALUES (?, s.LAST_INSERT_ID(?))", my, false},
		{"INSERT INTO t (a, id) VALUES (?, `LAST_INSERT_ID`(?))", my, false},
		{"UPDATE t SET a = count(1)", all, true},
		{"UPDATE t SET a = f(1)", my + " " + pg, false},
		{"SELECT a FROM t WHERE b = ?", all, true},
		{"SELECT count(*) FROM t", all, true},
		{"SELECT f(1)", my + " " + pg, false},
		{`SELECT "now"()`, pg, false},
		{"SELECT set_config('search_path', 'other', false)", pg, false},
		{"SELECT a INTO u FROM t", pg, false},
		{"SELECT a.insert INTO u FROM a", pg, false},
		{"SELECT 1 AS insert INTO u", pg, false},
		{"SELECT (1) insert INTO u", pg, false},
		{"SELECT 1; INSERT INTO u VALUES (1); EXPLAIN ANALYZE INSERT INTO u VALUES (1)", pg, true},
		{"EXPLAIN (ANALYZE) INSERT INTO u VALUES (1)", pg, true},
		{"SELECT a INTO @u FROM t", my, true},
		{"WITH a AS (SELECT 1 AS b) SELECT b FROM a", all, true},
		{"WITH a AS (SELECT 1 AS b) SELECT b INTO u FROM a", pg, false},
		{"INSERT INTO t (SELECT f(1) FROM s)", pg, false},
		{"INSERT INTO t (tags[f(1)]) VALUES (1)", pg, false},
		{"WITH a AS (INSERT INTO t VALUES (1) RETURNING b) SELECT b FROM a", pg, true},
		{"VALUES (1)", pg + " " + lite, true},
		{"EXPLAIN SELECT a FROM t", all, true},
		{"EXPLAIN ANALYZE SELECT f(1)", pg, false},
		{"EXPLAIN (ANALYZE) CREATE TABLE u AS SELECT 1", pg, false},
		{"EXPLAIN ANALYZE EXECUTE s", pg, false},
		{"BEGIN", all, true},
		{"START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY", pg, true},
		{"BEGIN NOT ATOMIC DROP TABLE t; END", my, false},
		{"SAVEPOINT s", all, true},
		{"RELEASE SAVEPOINT s", all, true},
		// A transaction that ends may take tables with it, or bring some back.
		{"ROLLBACK TO SAVEPOINT s", all, false},
		{"ROLLBACK", all, false},
		{"COMMIT", all, false},
		{"/*!50000 ALTER TABLE t ADD b */", my, false},
		{"/*M! ALTER TABLE t ADD b */ SELECT 1", "mariadb", false},
		{"SELECT 1 /*!50000 INTO u */", my, false},
		{"-- ! DROP TABLE t\nSELECT 1", all, true},
		// Under other settings the string ends earlier.
		{`INSERT INTO t VALUES ('\'); DROP TABLE t; -- ')`, my + " " + pg, false},
		{`INSERT INTO t VALUES ('\', 1)`, pg, true},
		{`INSERT INTO "t" (a) VALUES (1)`, all, true},
		{`SELECT "f"(1)`, my, false}, // with ANSI_QUOTES
		{"(SELECT a FROM t) UNION (SELECT f(1))", my + " " + pg, false},
		{"(SELECT a FROM t) UNION (SELECT 1)", all, true},
		{"EXPLAIN INSERT INTO t (a) VALUES (1)", all, true},
		{"WITH x (a) AS (SELECT 1) SELECT a FROM x", all, true},
		{"SELECT uuid()", my, true},
		{"SELECT uuid()", pg, false}, // no function of PostgreSQL
		{"SELECT string_agg(a, b), CAST(1 AS numeric(10, 2)) FROM generate_series(1, 2)", pg, true},
		{"", all, false},
		{";", all, false},
		{"/* not closed", all, false},
		{"INSERT INTO t VALUES ('not closed)", all, false},
		{"ALTER TABLE t ADD b INT", all, false},
		{"CREATE TABLE t (a INT)", all, false},
		{"CREATE TEMPORARY TABLE t (a INT)", all, false},
		{"DROP TABLE t", all, false},
		{"SET search_path = other", pg, false},
		{"USE other", my, false},
		{"ATTACH 'a' AS b", lite, false},
		{"CALL p", my + " " + pg, false},
		{"EXECUTE s", my + " " + pg, false},
		{"DO $$BEGIN DROP TABLE t; END$$", pg, false},
		{"selected", all, false},
		{"INSERT INTO t VALUES (1) DROP TABLE t", "sqlserver", false},
		{"INSERT INTO t VALUES (1)", "sqlserver oracle", false},
	} {
		for _, name := range strings.Fields(c.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := effects.LeavesTables(d, c.query); got != c.want {
				t.Errorf("%s: LeavesTables(%q) = %v, want %v", name, c.query, got, c.want)
			}
		}
	}
}

func BenchmarkLeavesTables(b *testing.B) {
	d := dialect.MySQL()
	b.ReportAllocs()
	for b.Loop() {
		effects.LeavesTables(d, "UPDATE orders SET customer = ?, amount = ? WHERE id = ? AND version = ?")
	}
}
