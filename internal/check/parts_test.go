package check_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
)

// rows answers every question with the same rows. No engine answers these with no row; a
// driver that stands in for one in an application's tests does.
type rows [][]any

func (r rows) Rows(context.Context, string, ...any) ([][]any, error) { return r, nil }

// TestNoRow: an answer without a row, or without a column, says nothing and ends nothing.
func TestNoRow(t *testing.T) {
	for _, d := range []*dialect.Dialect{
		dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle(),
	} {
		for _, answer := range []rows{nil, {{}}} {
			findings, err := check.LookAtServer(t.Context(), d, answer)
			if err != nil || len(findings) != 0 {
				t.Errorf("%s, rows %v: %+v, %v", d.Name, answer, findings, err)
			}
		}
	}
}

// TestMissTable: the entry of a missing table is reported with its line, and with the
// nearest name as its remedy.
func TestMissTable(t *testing.T) {
	const text = "version: 1\ntables:\n  customers: {column: id}\n  Ordres:\n    column: id\n"
	cfg, err := policy.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		d      *dialect.Dialect
		tables []string
		rule   string
		says   string // in the message
		remedy string
	}{
		{dialect.SQLite(), []string{"items", "orders"}, "no-table", `did you mean "orders"?`, "in the policy: orders: instead of Ordres:"},
		{dialect.SQLite(), []string{"keyfill_sequences"}, "no-table", "no such table", "create the table, write its schema into the policy, let this user see it, or remove the entry"},
		{dialect.MySQL().WithExactTables(), []string{"ordres"}, "table-case", "lower_case_table_names=0", "in the policy: ordres: instead of Ordres:"},
	} {
		p, err := cfg.Compile(c.d)
		if err != nil {
			t.Fatal(err)
		}
		entries := p.Entries()
		i := slices.IndexFunc(entries, func(e policy.Entry) bool { return e.Name == "Ordres" })
		f := check.MissTable(c.d, entries[i], c.tables...)
		if f.Rule != c.rule || f.Line != 4 || f.Table != "Ordres" || !strings.Contains(f.Message, c.says) || f.Remedy != c.remedy {
			t.Errorf("%s with the tables %q: %+v", c.d.Name, c.tables, f)
		}
	}
}

// TestSorted: errors come first, then the order of the file, and nothing twice.
func TestSorted(t *testing.T) {
	late := check.Finding{Severity: check.Error, Line: 9}
	early := check.Finding{Severity: check.Error, Line: 3}
	info := check.Finding{Severity: check.Info, Line: 1}
	warning := check.Finding{Severity: check.Warning, Line: 1}
	got := check.Sorted([]check.Finding{info, late, warning, early, late})
	if want := []check.Finding{early, late, warning, info}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRemedyTexts(t *testing.T) {
	for got, want := range map[string]string{
		check.TextLiteral(dialect.MySQL(), `it's a \ `):       `'it''s a \\ '`,
		check.TextLiteral(dialect.PostgreSQL(), `it's a \ `):  `'it''s a \ '`,
		check.LastQuoted(`the row "a" and "b\"c" x`):          `b"c`,
		check.LastQuoted("no quotes"):                         "no quotes",
		check.StateRule(fmt.Errorf("x: %w", store.ErrBehind)): "state-behind",
		check.StateRule(context.Canceled):                     "state",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestScript: each statement is printed once, and no name leaves its comment.
func TestScript(t *testing.T) {
	const remedy = "ALTER TABLE t MODIFY id BIGINT NOT NULL;"
	got := check.Script([]check.Finding{
		{Severity: check.Error, Rule: "narrow", Table: "t", Column: "id", Line: 3, Message: "too\nnarrow", Remedy: remedy},
		{Severity: check.Warning, Rule: "nullable", Table: "t", Column: "id", Line: 3, Message: "NULL", Remedy: remedy},
		{Severity: check.Error, Rule: "no-table", Table: "x\rDROP TABLE t;", Message: "none", Remedy: "in the policy: x\rDROP TABLE t"},
	})
	const want = `-- Read each statement before you run it: nothing was run.

-- error, narrow of t.id (line 3): too narrow
ALTER TABLE t MODIFY id BIGINT NOT NULL;

-- warning, nullable of t.id (line 3): NULL
-- mended by the same statement above

-- error, no-table of x DROP TABLE t;: none
-- in the policy: x
-- DROP TABLE t
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
