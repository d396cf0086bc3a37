package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// dollarStatements are INSERTs with $n on SQLite, where $n is a name: modernc finds
// its argument by the digits, mattn by where the name first stands in the text.
var dollarStatements = []struct {
	query   string
	args    []any
	literal bool // the two disagree already: prepared it is refused
}{
	{query: "INSERT INTO t (a, b) VALUES ($1, $2)", args: []any{"a", "b"}},
	{query: "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $2", args: []any{"a", "b"}},
	{query: "INSERT INTO t (a) VALUES ($1), ($2), ($3)", args: []any{"c", "d", "e"}},
	{query: "INSERT INTO t (a, b) VALUES ($1, $2), ($3, $2) ON CONFLICT (a) DO UPDATE SET b = $4 || $2 || $1", args: []any{"a", "f", "c", "g"}},
	{query: "INSERT INTO t (id, a) VALUES ($1, $2), (NULL, $3) ON CONFLICT (a) DO UPDATE SET b = $4", args: []any{nil, "f", "c", "h"}},
	{query: "INSERT INTO t (id, a) VALUES ($1, $2), (NULL, $3) ON CONFLICT (a) DO UPDATE SET b = $4", args: []any{7_000_000, "g", "d", "i"}},
	{query: "INSERT INTO t (a, b) SELECT $1, b FROM t WHERE a = $2 ON CONFLICT (a) DO UPDATE SET b = $3", args: []any{"j", "a", "k"}},
	{query: "INSERT INTO t (a, b) SELECT a || $1, b FROM t WHERE true ON CONFLICT (a) DO UPDATE SET b = $2 || $1", args: []any{"l", "m"}},
	{query: "INSERT INTO t (a, b) VALUES ($2, $1)", args: []any{"n", "o"}, literal: true},
	{query: "INSERT INTO t (a) VALUES ($1) ON CONFLICT (a) DO UPDATE SET b = $3 || $2", args: []any{"a", "p", "q"}, literal: true},
}

// TestDollarSQLite: a filled INSERT with $n stores what it stores through the plain
// driver, whichever of the two that is.
func TestDollarSQLite(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE, b TEXT)")
		harness.Exec(t, s.Raw, "CREATE TABLE plain (id INTEGER PRIMARY KEY, a TEXT UNIQUE, b TEXT)")
		db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Start: 1_000_000, EnsureSchema: true}}))
		for _, form := range []string{"direct", "prepared", "transaction"} {
			harness.Exec(t, s.Raw, "DELETE FROM t")
			harness.Exec(t, s.Raw, "DELETE FROM plain")
			for _, c := range dollarStatements {
				query := c.query
				_, err := harness.SendOnce(ctx, db, form, query, c.args)
				if refused := errors.Is(err, rewrite.ErrFirstUse); refused != (c.literal && form == "prepared") || err != nil && !refused {
					t.Fatalf("%s: %s: %v", form, query, err)
				} else if refused {
					continue
				}
				if _, err := harness.SendOnce(ctx, s.Raw, form, onPlain(query), c.args); err != nil {
					t.Fatalf("plain: %s: %v", query, err)
				}
				got, want := dollarRows(t, s.Raw, "t"), dollarRows(t, s.Raw, "plain")
				if !slices.Equal(got, want) {
					t.Fatalf("%s: %s: stored %q, plain %q", form, query, got, want)
				}
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE id < 1000000"); n != 0 {
				t.Errorf("%s: %d rows have no key of keyfill's", form, n)
			}
		}
		if n := m.Stats().Tables["t"].Refused[keyfill.Reason(rewrite.ErrFirstUse)]; n != 2 {
			t.Errorf("%d statements were refused", n)
		}
	})
}

// onPlain is a statement on the table that keyfill does not fill.
func onPlain(query string) string {
	return strings.NewReplacer("INTO t ", "INTO plain ", "FROM t ", "FROM plain ").Replace(query)
}

func dollarRows(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	return harness.RowsOf(t, db, "SELECT COALESCE(a, 'NULL') || '|' || COALESCE(b, 'NULL') FROM "+table+" ORDER BY 1")
}
