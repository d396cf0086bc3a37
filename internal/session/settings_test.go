package session

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
)

// TestLeavesSettings: what may change the settings of a session.
func TestLeavesSettings(t *testing.T) {
	my, pg, ms := dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLServer()
	for _, c := range []struct {
		d     *dialect.Dialect
		query string
		want  bool
	}{
		{my, "INSERT INTO t VALUES (f(1))", true},
		{my, "SELECT f(1)", true}, // which puts sql_mode back
		{my, "replace into t values (1);", true},
		{my, "INSERT INTO t VALUES (1); SET sql_mode = ''", false},
		{my, "SET sql_mode = ''", false},
		{my, "SET STATEMENT sql_mode = '' FOR SELECT 1", false},
		{my, "EXECUTE s", false},
		{my, "EXECUTE IMMEDIATE @text", false},
		{my, "CALL p()", false},
		{my, "/*!SET sql_mode = ''*/", false},
		{my, "/*! SET sql_mode = ''; */ SELECT 1", false},
		{pg, "INSERT INTO t VALUES (f(1))", false},
		{pg, "INSERT INTO t VALUES (lower($1), now())", true},
		{pg, "INSERT INTO t SELECT Set_Config('a', 'b', false)", false},
		{pg, "SELECT a FROM t", true},
		{pg, "SELECT f(1)", false},
		{pg, "UPDATE t SET a = f(1)", false},
		{pg, "SET standard_conforming_strings = off", false},
		{pg, "RESET ALL", false},
		{pg, "/* /* */ insert */ SET standard_conforming_strings = off", false},
		{pg, "/* /* */ SET */ INSERT INTO t VALUES (1)", true},
		{pg, "/*/ SET */ INSERT INTO t VALUES (1)", true},
		{pg, "-- a\rSET standard_conforming_strings = off; --\ninsert", false},
		{my, "/* /* */ INSERT INTO t VALUES (1)", true},
		{my, "/* /* */ SET sql_mode = '' /* */", false},
		{my, "/* INSERT", false},
		{my, "-- a\nINSERT INTO t VALUES (1)", true},
		{my, "-- INSERT", false},
		{pg, "DISCARD ALL", false},
		{pg, "ROLLBACK", false},
		{pg, "DO 'x'", false},
		{pg, "WITH a AS (SELECT 1) SELECT * FROM a", true},
		{pg, "SELECT count(*) FROM t", true},
		{pg, "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)", true},
		{pg, "INSERT INTO t VALUES (1); SELECT f(1)", false},
		{my, "INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)", true},
		{my, `INSERT INTO t VALUES ('\'); SET sql_mode = ''; -- ')`, false},
		{ms, "INSERT INTO t VALUES (1) SET QUOTED_IDENTIFIER OFF", false},
		{ms, "SELECT a FROM t", false},
		{ms, "p", false},
	} {
		if got := LeavesSettings(c.d, c.query); got != c.want {
			t.Errorf("%s: LeavesSettings(%q) = %v, want %v", c.d.Name, c.query, got, c.want)
		}
	}
}
