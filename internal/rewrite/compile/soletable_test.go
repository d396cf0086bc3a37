package compile_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

func TestSoleTable(t *testing.T) {
	for text, want := range map[string]string{
		"INSERT INTO orders (a) VALUES (?)":                      "orders",
		"insert\n into\tOrders_2(a) values ('insertion')":        "",
		"INSERT INTO orders(a) VALUES (1)":                       "orders",
		"INSERT INTO orders SELECT 1":                            "orders",
		"INSERT INTO orders AS o (a) VALUES (1)":                 "orders",
		"INSERT INTO orders":                                     "",
		"INSERT INTO sales.orders (a) VALUES (1)":                "",
		"INSERT INTO sales .orders (a) VALUES (1)":               "",
		"INSERT INTO sales/**/.orders (a) VALUES (1)":            "",
		"INSERT INTO orders@link (a) VALUES (1)":                 "",
		"INSERT INTO #orders (a) VALUES (1)":                     "",
		"INSERT INTO orders# (a) VALUES (1)":                     "",
		"INSERT INTO örders (a) VALUES (1)":                      "",
		"INSERT INTO `orders` (a) VALUES (1)":                    "",
		"INSERT INTO 1orders (a) VALUES (1)":                     "",
		"INSERT IGNORE INTO orders (a) VALUES (1)":               "",
		"INSERT orders (a) VALUES (1)":                           "",
		" INSERT INTO orders (a) VALUES (1)":                     "",
		"INSERT INTO a (a) VALUES (1); INSERT INTO b VALUES (1)": "",
		"INSERT INTO a (a) VALUES (1) /*! ; INSERT INTO b */":    "",
		"INSERT INTO a SELECT 1; REPLACE INTO b VALUES (1)":      "",
		"INSERT INTOorders (a) VALUES (1)":                       "",
		"INSERTINTO orders (a) VALUES (1)":                       "",
	} {
		name, ok := words.SoleTable(dialect.MySQL(), text)
		if name != want || ok != (want != "") {
			t.Errorf("SoleTable(%q) = %q, %t, want %q", text, name, ok, want)
		}
	}
	for d, text := range map[*dialect.Dialect]string{
		dialect.Oracle():    "INSERT INTO the (SELECT a FROM orders) VALUES (1)",
		dialect.SQLServer(): "INSERT INTO openquery (server, 'orders') VALUES (1)",
	} {
		if name, ok := words.SoleTable(d, text); ok {
			t.Errorf("%s: SoleTable(%q) = %q, want none", d.Name, text, name)
		}
	}
}

// What SoleTable says of a text, the text says itself under all settings: with every
// other table configured, it is passed.
func TestSoleTableCompiled(t *testing.T) {
	texts := 0
	for _, a := range archives(t) {
		for _, c := range a.cases {
			for _, d := range dialect.All() {
				name, ok := words.SoleTable(d, c.in)
				if !ok {
					continue
				}
				texts++
				sole := d.FoldTable(name, false)
				p := compile.Readings(d, func(schema, table string) *plans.Target {
					if schema == "" && table == sole {
						return nil
					}
					return &plans.Target{Table: table, Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing}}}
				}, c.in)
				if p.Action != plans.Pass || p.Ambiguous() {
					t.Errorf("%s: SoleTable(%q) = %q, but the plan is to %s", d.Name, c.in, name, p.Action)
				}
			}
		}
	}
	if texts < 1000 {
		t.Errorf("SoleTable has told the table of %d texts and dialects, of too few to show anything", texts)
	}
}
