package effects_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

func TestLeavesPlace(t *testing.T) {
	for _, tt := range []struct {
		query    string
		dialects string
		leaves   bool
	}{
		{"SELECT count(*), coalesce(max(a), 0) FROM t WHERE b IN (1, 2)", "mysql mariadb postgres sqlite sqlserver oracle", true},
		{"INSERT INTO s.t (a, b) VALUES (now(), lower('x'))", "mysql mariadb postgres sqlite sqlserver oracle", true},
		{"UPDATE users SET used = 1, reuse = 2 WHERE id = 3; SELECT user_id FROM a_use", "mysql mariadb postgres sqlite sqlserver", true},
		{"USE t2", "mysql mariadb sqlserver", false},
		{"  use `t2`", "mysql mariadb", false},
		{"SELECT 1; /* x */ USE t2; SELECT 2", "mysql mariadb sqlserver", false},
		{"/*!50000 USE t2 */", "mysql mariadb", false},
		{"EXECUTE IMMEDIATE 'USE t2'", "mariadb", false},
		{"DROP DATABASE t2", "mysql mariadb", false},
		{"CREATE TABLE t (a int); BEGIN; COMMIT", "mysql mariadb postgres", true},
		{"ATTACH 'x.db' AS x", "sqlite", false},
		{"DETACH x", "sqlite", false},
		{"ALTER SESSION SET CURRENT_SCHEMA = t2", "oracle", false},
		{"BEGIN p; END;", "oracle", false},
		{"EXECUTE AS USER = 'x'", "sqlserver", false},
		{"REVERT", "sqlserver", false},
		{"p", "sqlserver", false},
		{"SELECT 1 OPTION (USE HINT ('x'))", "sqlserver", true},
		{"FROBNICATE", "mysql mariadb postgres sqlite sqlserver oracle", false},
		{"SELECT 'use', \"execute\" FROM t USE INDEX (a) WHERE b = DATABASE() -- use", "mysql mariadb", true},
		{"CREATE DATABASE t2", "mysql mariadb", true},
		{"CREATE OR REPLACE DATABASE t2", "mariadb", false}, // leaves no current database (seen on 10.11)
		{"SELECT 1; create or /* x */ replace schema if_x", "mariadb", false},
		{"CREATE OR REPLACE TABLE t (a int); CREATE OR REPLACE VIEW v AS SELECT 1", "mariadb", true},
		{"CREATE PROCEDURE p() BEGIN UPDATE t SET a = 1; EXECUTE s; END", "mysql mariadb", false},
		{"CREATE PROCEDURE p() BEGIN UPDATE t SET a = 1; END; SELECT 1", "mysql mariadb", true},
		{"BEGIN NOT ATOMIC UPDATE t SET a = 1; IF 1 THEN USE t2; END IF; END", "mariadb", false},
		{"BEGIN NOT ATOMIC UPDATE t SET a = 1; FROBNICATE; END", "mariadb", false},
		{"BEGIN NOT ATOMIC UPDATE t SET a = 1; IF 1 THEN SELECT 1; END IF; END", "mariadb", true},
		{"SELECT 1; BEGIN NOT ATOMIC EXECUTE s; END", "mariadb", false},
		{"SET STATEMENT max_statement_time = 1 FOR EXECUTE s", "mariadb", false},
		{"SET STATEMENT max_statement_time = 1 FOR SELECT 1; EXECUTE s", "mariadb", false},
		{"SET STATEMENT max_statement_time = 1 FOR SELECT 1; SELECT 2", "mariadb", true},
		{`SELECT '\'; USE t2; -- '`, "mysql mariadb", false}, // with NO_BACKSLASH_ESCAPES
		{`SELECT 'it\'s'; SELECT 2`, "mysql mariadb", true},
		{"INSERT /*! IGNORE */ INTO t (a) VALUES (1)", "mysql mariadb", true},
		{"CREATE PROCEDURE p IS BEGIN q; END;", "oracle", true},

		{"SET search_path = t2", "postgres", false},
		{"SET LOCAL search_path TO t2, public", "postgres", false},
		{"SET SESSION search_path = t2", "postgres", false},
		{"SET SCHEMA 't2'", "postgres", false},
		{"SET ROLE x", "postgres", false},
		{"SET SESSION AUTHORIZATION x", "postgres", false},
		{"RESET ALL", "postgres", false},
		{"RESET search_path", "postgres", false},
		{"DISCARD ALL", "postgres", false},
		{"SELECT set_config('search_path', $1, false)", "postgres", false},
		{"SELECT pg_catalog.set_config('search_path', $1, false)", "postgres", false},
		{"SELECT tenants.enter($1)", "postgres", false},
		{"SELECT enter($1)", "postgres", false},
		{`SELECT "enter"($1)`, "postgres", false},
		{"WITH x AS (SELECT enter($1)) SELECT * FROM x", "postgres", false},
		{"WITH x (a, b) AS (SELECT 1, 2) SELECT * FROM x", "postgres", true},
		{"SELECT 1; SET search_path = t2", "postgres", false},
		{"DO $$ BEGIN END $$", "postgres", false},
		{"CALL p()", "postgres", false},
		{"EXECUTE p", "postgres", false},
		{"FETCH c", "postgres", false},
		{"CREATE SCHEMA t2", "postgres", false},
		{"DROP SCHEMA t2", "postgres", false},
		{"ALTER TABLE t SET SCHEMA t2", "postgres", false},
		{"CREATE TABLE t AS SELECT enter(1)", "postgres", false},
		{"CREATE TABLE t (a int DEFAULT enter(1), b varchar(20) REFERENCES u (b))", "postgres", true},
		{"CREATE TABLE t PARTITION OF u FOR VALUES IN (enter(1))", "postgres", false},
		{"CREATE TABLE t PARTITION OF u FOR VALUES FROM (1) TO (2)", "postgres", true},
		{"ALTER TABLE t ADD a varchar(20) DEFAULT 'x', ADD FOREIGN KEY (a) REFERENCES u (b)", "postgres", true},
		{"ALTER TABLE t ADD a int DEFAULT enter(1)", "postgres", false},
		{"EXPLAIN (ANALYZE, COSTS OFF) SELECT a FROM t", "postgres", true},
		{"EXPLAIN ANALYZE EXECUTE p", "postgres", false},
		{"SELECT index(1)", "postgres", false},
		{"CREATE TABLE t (a int DEFAULT 1, UNIQUE (a))", "postgres", true},
		{"SET LOCAL statement_timeout = 1", "postgres", true},
		{"SET TRANSACTION READ ONLY", "postgres", true},
		{"begin", "postgres", true},
		{"ROLLBACK TO SAVEPOINT a", "postgres", true},
		{"INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = excluded.b", "postgres", true},
		{"SELECT 'set_config('", "postgres", true},
	} {
		for _, name := range strings.Fields(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := effects.LeavesPlace(d, tt.query); got != tt.leaves {
				t.Errorf("%s: LeavesPlace(%q) = %v", name, tt.query, got)
			}
		}
	}
}

func TestMovesPlace(t *testing.T) {
	for _, tt := range []struct {
		text     string
		dialects string
		moves    bool
	}{
		{"USE t2;", "mysql mariadb sqlserver", true},
		{"SELECT 1; /* x */ use `t2`; ", "mysql mariadb", true},
		{"/*!50000 USE t2 */;", "mysql mariadb", true},
		{"EXECUTE IMMEDIATE 'USE t2';", "mariadb", true},
		{"DROP DATABASE t2;", "mysql mariadb", true},
		{"SELECT a FROM t USE INDEX (b); /* USE */ SELECT 'USE x';", "mysql mariadb", false},
		{"DROP TABLE a; CREATE DATABASE b;", "sqlserver", false},
		{"SELECT 1 USE t2 ", "sqlserver", true},
		{"IF 1 = 1 USE t2; ", "sqlserver", true},
		{"EXECUTE AS USER = 'x'; ", "sqlserver", true},
		{"EXEC AS LOGIN = 'x' ", "sqlserver", true},
		{"REVERT; ", "sqlserver", true},
		{"SETUSER 'x' ", "sqlserver", true},
		{"EXEC p; EXEC('USE t2'); SELECT [use], N'use' FROM a OPTION (USE HINT ('x')); -- use", "sqlserver", false},
		{"SET search_path = t2;", "postgres", true},
		{"SELECT set_config('search_path', 't2', true);", "postgres", true},
		{"SET SCHEMA 't2';", "postgres", true},
		{"SET ROLE x;", "postgres", true},
		{"DO $$ BEGIN PERFORM set_config('search_path', 't2', false); END $$;", "postgres", true},
		{"RESET ALL; DISCARD ALL;", "postgres", true},
		{"CREATE TABLE a (b int); SELECT f(); BEGIN; COMMIT;", "postgres", false},
		{"ALTER TABLE a ADD role level(3), ADD CHECK (valid(role)); ALTER TABLE a RESET (fillfactor);", "postgres", false},
		{"ALTER SESSION SET CURRENT_SCHEMA = t2;", "oracle", true},
		{"BEGIN p; ", "oracle", false},
		{"ATTACH 'x.db' AS x;", "sqlite", false},
	} {
		for name := range strings.FieldsSeq(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := effects.MovesPlace(d, tt.text, false); got != tt.moves {
				t.Errorf("%s: MovesPlace(%q) = %v", name, tt.text, got)
			}
		}
	}
	if effects.MovesPlace(dialect.MySQL(), "DROP TABLE a; ", true) {
		t.Error("behind a change: DROP TABLE moves the place of MySQL")
	}
	for text, moves := range map[string]bool{"ROLLBACK; ": true, "COMMIT; ": true, "UPDATE a SET b = 1; ": false} {
		if got := effects.MovesPlace(dialect.PostgreSQL(), text, true); got != moves {
			t.Errorf("behind a change: MovesPlace(%q) = %v", text, got)
		}
	}
}
