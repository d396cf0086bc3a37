package compile_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

func TestReads(t *testing.T) {
	const last, count = effects.ReadsLastKey, effects.ReadsCount
	tests := []struct {
		query    string
		dialects string
		want     effects.Reads
	}{
		{"INSERT INTO orders (a) VALUES (1)", every, 0},
		{"SELECT 'LAST_INSERT_ID()' -- LAST_INSERT_ID()", every, 0},
		{"SELECT last_insert_id FROM t", every, 0},
		{"SELECT lastval, row_count, changes, identity FROM t", every, 0},
		{"INSERT INTO changes (a) VALUES (1)", every, 0},
		{"INSERT INTO main.changes (a) VALUES (1)", "sqlite", 0},
		{"INSERT INTO orders (parent) VALUES (LAST_INSERT_ID())", every, last},
		{"INSERT INTO orders (parent) VALUES (last_insert_id /* x */ ( 5 ))", every, last},
		{"INSERT INTO orders (parent) VALUES (`last_insert_id`())", my, last},
		{"SELECT @@last_insert_id", my, last},
		{"SELECT @@IDENTITY", my + " sqlserver", last},
		{"SELECT @@session.identity", my, last},
		{"SELECT @@session.`identity`", my, last},
		{"SELECT @@`last_insert_id`", my, last},
		{"SELECT @@local . identity", my, last},
		{"SELECT @identity, @last_insert_id", my, 0},
		{"SELECT @@insert_id", my, 0},
		{"SELECT last_insert_rowid()", "sqlite", last},
		{"SELECT lastval()", "postgres mariadb", last},
		{"SELECT pg_catalog.currval('a')", "postgres", last},
		{"SELECT \"currval\"('a')", "postgres", last},
		{"INSERT INTO t (a) VALUES (s.CURRVAL)", "oracle", last},
		{"SELECT PREVIOUS VALUE FOR s", "mariadb", last},
		{"SELECT SCOPE_IDENTITY()", "sqlserver", last},
		{"SELECT IDENT_CURRENT('t')", "sqlserver", last},
		{"SELECT ROW_COUNT()", my, count},
		{"SELECT FOUND_ROWS()", my, count},
		{"GET DIAGNOSTICS @a = ROW_COUNT", my, count},
		{"SELECT changes()", "sqlite", count},
		{"SELECT total_changes()", "sqlite", count},
		{"INSERT INTO changes (a) VALUES (changes())", "sqlite", count},
		{"SELECT @@ROWCOUNT", "sqlserver", count},
		{"SELECT ROWCOUNT_BIG()", "sqlserver", count},
		{"BEGIN x := SQL%ROWCOUNT; END;", "oracle", count},
		{"SELECT /*!50000 LAST_INSERT_ID() */ 1", my, last},
		{"SELECT /*! 'a' /* ROW_COUNT() */ */ 1", my, count},
		{"SELECT LAST_INSERT_ID(), ROW_COUNT()", my, last | count},
	}
	for _, tt := range tests {
		for _, name := range strings.Fields(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			p := compile.Query(d, customers(d), tt.query)
			for range 2 {
				if got := p.Reads(); got != tt.want {
					t.Errorf("%s: Compile(%q).Reads() = %d, want %d", name, tt.query, got, tt.want)
				}
			}
		}
	}
}
