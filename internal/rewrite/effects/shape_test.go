package effects_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// TestShape: texts of one row have one shape, whatever values they hold, and texts of
// different rows have different shapes.
func TestShape(t *testing.T) {
	for _, tt := range []struct {
		d      *dialect.Dialect
		shapes [][]string
	}{
		{dialect.PostgreSQL(), [][]string{
			{
				"INSERT INTO t VALUES (1, 'secret')", "insert into t values (23,'x''y')", "INSERT INTO t VALUES ($1, $2)",
				"INSERT /* secret */ INTO t VALUES ($$sec'ret$$, $tag$ x $tag$) -- secret", "INSERT INTO t VALUES (E'a\\'b', 0xFF)",
				"INSERT INTO t VALUES (U&'\\0061', B'01'), (1e5, 1.5)", "INSERT INTO t VALUES (x'C0FFEE', 1)",
			},
			{"INSERT INTO u VALUES (1, 'secret')"},
			{"INSERT INTO tenant_1 VALUES (1)", "INSERT INTO tenant_4711 VALUES (1)"},
			{`INSERT INTO "secret" VALUES (1)`, `INSERT INTO "other" VALUES (1)`},
			{"INSERT INTO t SELECT 1", "INSERT INTO t SELECT 2"},
			{"INSERT INTO t VALUES ('secret", "INSERT INTO t VALUES ('other"},
		}},
		{dialect.MySQL(), [][]string{
			{`INSERT INTO t VALUES ("secret", @a)`, "INSERT INTO t VALUES ('a\\'b', @b) # secret", "INSERT INTO t VALUES (?, 0b01)", "INSERT INTO t VALUES (0xC0FFEE, 0XDEAD)", "INSERT INTO t VALUES (N'x')"},
			{"INSERT INTO `secret` VALUES (1)", "INSERT INTO `other` VALUES (2)"},
			{"INSERT INTO t SET a = /*! 'secret' */", "INSERT INTO t SET a = "},
		}},
		{dialect.SQLServer(), [][]string{
			{"INSERT INTO [secret] VALUES (N'secret', @p1)", "INSERT INTO [other] VALUES (0xDEAD)"},
			{"INSERT INTO t VALUES (1)"},
		}},
		{dialect.Oracle(), [][]string{
			{"INSERT INTO t VALUES (q'[sec'ret]', :name)", "INSERT INTO t VALUES ('x')"},
		}},
	} {
		of := map[string]int{}
		for i, texts := range tt.shapes {
			first := effects.Shape(tt.d, texts[0])
			if j, taken := of[first]; taken {
				t.Errorf("%s: %q has the shape of %q", tt.d.Name, texts[0], tt.shapes[j][0])
			}
			of[first] = i
			if len(first) != 16 || strings.Trim(first, "0123456789abcdef") != "" {
				t.Errorf("the shape of %q is %q, want 16 hexadecimal digits", texts[0], first)
			}
			for _, text := range texts[1:] {
				if got := effects.Shape(tt.d, text); got != first {
					t.Errorf("%s: Shape(%q) = %s, and of %q %s", tt.d.Name, text, got, texts[0], first)
				}
			}
		}
	}
}
