package explainreport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// policyOf returns the policy of a text, on an engine.
func policyOf(t testing.TB, text string, d *dialect.Dialect) *Policy {
	t.Helper()
	cfg, err := policy.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dialect = d.Name
	p, err := NewPolicy(t.Context(), cfg, d, &database.Address{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSummaryIsBounded: a log with more shapes and tables than are kept is counted to its
// end, and what is kept does not grow.
func TestSummaryIsBounded(t *testing.T) {
	p := policyOf(t, ordersPolicy, dialect.PostgreSQL())
	s := newSummary(p)
	word := func(n int) string { // without digits, which a shape leaves out
		return strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(n))
	}
	const all = 30_000
	for n := range all {
		one := inputStatement{file: "a", line: n, text: "INSERT INTO orders (" + word(n) + ") VALUES (1)", log: true}
		if n%2 == 1 {
			one.text = "INSERT INTO " + word(n) + " (a) VALUES (1)"
		}
		ex, err := p.explainer.Explain(one.text)
		if err != nil {
			t.Fatal(err)
		}
		s.add(&one, &ex)
	}
	shapes, statements := 0, 0
	for _, g := range s.groups {
		shapes += len(g.shapes)
		statements += g.statements
	}
	if len(s.groups) > maxGroups+len(Actions) || shapes > maxShapes || len(s.hints) > maxHints || statements != all {
		t.Errorf("%d groups, %d shapes, %d hints, %d statements", len(s.groups), shapes, len(s.hints), statements)
	}
	if s.total["fill"] != all/2 || s.total["pass"] != all/2 {
		t.Errorf("%v", s.total)
	}
}

// TestHints: an entry of the policy that is likely meant is named, and no other.
func TestHints(t *testing.T) {
	p := policyOf(t, `version: 1
tables:
  orders: {column: id}
  sales.invoices: {column: id}
  "\"People\"": {column: id}
  id: {column: id}
  rows: {column: id, source: identity}
  "log_*": {column: id}
`, dialect.PostgreSQL())
	for text, want := range map[string]string{
		"INSERT INTO oders (a) VALUES (1)":                              "the policy has orders, whose name differs in one letter",
		`INSERT INTO "Orders" (a) VALUES (1)`:                           "the policy has orders, whose name differs in its case",
		"INSERT /* c */ INTO /* ; */ people (a) VALUES (1)":             `the policy has "People", whose name differs in its case`,
		"INSERT INTO old . invoices (a) VALUES (1)":                     "the policy has sales.invoices, a table of another schema",
		"WITH a AS (SELECT 1) INSERT INTO orderz SELECT 1":              "the policy has orders, whose name differs in one letter",
		"INSERT INTO invoicse (a) VALUES (1)":                           "",
		"INSERT INTO is (a) VALUES (1)":                                 "",
		"INSERT INTO rows (a) VALUES (1)":                               "",
		"INSERT INTO customers (a) VALUES (1)":                          "",
		"CREATE TRIGGER t BEFORE INSERT ON oders EXECUTE FUNCTION f ()": "",
		"GRANT INSERT ON oders TO x":                                    "",
		"INSERT INTO 'open":                                             "",
		"SELECT 'INSERT INTO oders (a) VALUES (1)' FROM orders":         "",
	} {
		ex, err := p.explainer.Explain(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := newSummary(p).hint(text, &ex); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
