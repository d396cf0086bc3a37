package keyfill_test

import (
	"testing"

	"github.com/keyfill/keyfill/internal/steps"
	"github.com/keyfill/keyfill/internal/testturn"
)

// TestLinear: a text that is twice as long costs about twice as much to execute.
func TestLinear(t *testing.T) {
	steps.Counted(t)
	program := steps.Build(t, "./testdata/linear", module+"/internal/rewrite/scan", module+"/internal/rewrite/words", module+"/internal/rewrite/reader", module+"/internal/rewrite/effects", module+"/internal/rewrite/selects", module+"/internal/rewrite/plans", module+"/internal/rewrite/bind", module+"/internal/rewrite/rowcount", module+"/internal/rewrite/inserts", module+"/internal/rewrite/compile", module+"/internal/fill", module+"/internal/fill/execution", module+"/internal/fill/executor", module+"/internal/fill/outcome", module+"/internal/keys", module+"/internal/keys/relation", module+"/internal/keys/table", module+"/internal/session")
	for i, c := range []struct {
		name, dialect string
		text          steps.Text
	}{
		{"statements", "mysql", steps.Text{Unit: "INSERT INTO t (a) VALUES (1);\n"}},
		{"statements", "postgres", steps.Text{Unit: "INSERT INTO t (a) VALUES (1);\n"}},
		{"statements", "sqlite", steps.Text{Unit: "INSERT INTO t (a) VALUES (1);\n"}},
		{"statements", "sqlserver", steps.Text{Unit: "INSERT INTO t (a) VALUES (1);\n"}},
		{"tables", "mariadb", steps.Text{Unit: "INSERT INTO t" + steps.Number + " (a) VALUES (1);\n"}},
		{"upserts", "postgres", steps.Text{Unit: "INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING;\n"}},
		{"rows", "mysql", steps.Text{Head: "INSERT INTO t (a) VALUES (1)", Unit: ", (1)"}},
		{"upsert of rows", "mysql", steps.Text{Head: "INSERT INTO t (a) VALUES (1)", Unit: ", (1)", Tail: " ON DUPLICATE KEY UPDATE a = 1"}},
		{"INSERT ALL", "oracle", steps.Text{Head: "INSERT ALL", Unit: " INTO t (a) VALUES (1)", Tail: " SELECT 1 FROM dual"}},
		{"CTEs", "postgres", steps.Text{Head: "WITH ", Unit: "c" + steps.Number + " AS (INSERT INTO t (a) VALUES (1)), ", Tail: "c AS (SELECT 1) SELECT 1"}},
		{"passed", "mysql", steps.Text{Unit: "INSERT INTO u (a) VALUES (1);\n"}},
		{"SET", "mysql", steps.Text{Unit: "SET @a = 1;\n"}},
		{"DDL", "postgres", steps.Text{Unit: "CREATE TEMPORARY TABLE a" + steps.Number + " (a int);\n"}},
	} {
		if testturn.Of(t, i, 5) {
			program.Check(t, c.dialect+" "+c.name, map[string]any{"Dialect": c.dialect, "Text": c.text})
		}
	}
}
