package compile_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// TestUnlisted: which INSERTs are refused for want of columns alone, and the
// name that they have for their table.
func TestUnlisted(t *testing.T) {
	all := func(schema, table string) *plans.Target {
		if table != "t" && table != "T" && table != "odd.name" {
			return nil
		}
		return &plans.Target{Table: table, Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing | plans.FillNull}}}
	}
	for _, tt := range []struct {
		name  string
		d     *dialect.Dialect
		query string
		want  string
	}{
		{"bare", dialect.MariaDB(), "INSERT INTO T VALUES (1)", "T"},
		{"quoted", dialect.MariaDB(), "INSERT `odd.name`(VALUES) VALUES (1)", ""},
		{"quoted without a list", dialect.MariaDB(), "INSERT `odd.name` VALUES (1)", "`odd.name`"},
		{"schema", dialect.PostgreSQL(), `INSERT INTO s /* a */ . "t" AS x VALUES (1), (2)`, `s /* a */ . "t"`},
		{"partition", dialect.MySQL(), "INSERT INTO s.t PARTITION (p) VALUES (1)", "s.t"},
		{"behind WITH", dialect.PostgreSQL(), "WITH a AS (SELECT 1) INSERT INTO t VALUES (1)", "t"},
		{"three parts", dialect.SQLServer(), "INSERT a.b.t VALUES (1)", "a.b.t"},
		{"database link", dialect.Oracle(), "INSERT INTO t@far VALUES (1)", ""},
		{"oracle", dialect.Oracle(), "INSERT INTO t VALUES (1)", "t"},
		{"query", dialect.SQLite(), "INSERT INTO t SELECT 1", "t"},
		{"empty row", dialect.MariaDB(), "INSERT INTO t VALUES ()", ""},
		{"list", dialect.MariaDB(), "INSERT INTO t (a) VALUES (1)", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := compile.Query(tt.d, all, tt.query)
			if len(p.Inserts) != 1 || p.Statements != 1 {
				t.Fatalf("%d INSERTs in %d statements", len(p.Inserts), p.Statements)
			}
			if got := p.Inserts[0].Name.Unlisted; got != tt.want {
				t.Errorf("Unlisted = %q, want %q", got, tt.want)
			}
			if tt.want != "" && (p.Action != plans.Refuse || p.Refusal.Reason != rewrite.ErrNoColumnList) {
				t.Errorf("%v, %v", p.Action, p.Refusal)
			}
		})
	}
}

// TestStatements counts those of a text.
func TestStatements(t *testing.T) {
	none := func(schema, table string) *plans.Target { return nil }
	for query, want := range map[string]int{
		"":                                     0,
		";; -- INSERT":                         0,
		"INSERT INTO t VALUES (';')":           1,
		"INSERT INTO t VALUES (1);":            1,
		"INSERT INTO t VALUES (1); DROP TABLE": 2,
	} {
		if p := compile.Query(dialect.MariaDB(), none, query); p.Statements != want {
			t.Errorf("%q: %d statements, want %d", query, p.Statements, want)
		}
	}
}

// TestColumnsAsFound: columns may be given as the table has them, and stand in
// the text that way.
func TestColumnsAsFound(t *testing.T) {
	for _, tt := range []struct {
		name    string
		d       *dialect.Dialect
		columns []string
		want    string
	}{
		{"mariadb", dialect.MariaDB(), []string{"A b", "Id"}, "INSERT INTO t (`A b`, `Id`) VALUES (1, ?)"},
		{"postgres", dialect.PostgreSQL(), []string{"A b", "id"}, `INSERT INTO t ("A b", "id") VALUES (1, $1)`},
		{"postgres, another column", dialect.PostgreSQL(), []string{"A b", "Id"}, `INSERT INTO t ("A b", "Id", "id") VALUES (1, NULL, $1)`},
		{"sqlite", dialect.SQLite(), []string{`q"`, "ID"}, `INSERT INTO t ("q""", "ID") VALUES (1, ?)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lookup := func(schema, table string) *plans.Target {
				return &plans.Target{Table: "t", Columns: tt.columns,
					Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing | plans.FillNull}}}
			}
			p := compile.Query(tt.d, lookup, "INSERT INTO t VALUES (1, NULL)")
			if got := bind.Text(p, false); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
