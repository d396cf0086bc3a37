package statements_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
)

// copyNotHere are the golden cases of COPY that this server does not take, by
// what their text has.
var copyNotHere = map[string]string{
	"FREEZE": "the table is to be made in the same transaction, and ON_ERROR is of PostgreSQL 17",
}

// TestGoldenCopy loads a row by each golden case of COPY that takes keys, and
// looks for the keys in their columns.
func TestGoldenCopy(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	goldenTables(t, s)
	loaded := 0
	for _, c := range goldenCases(t) {
		if !strings.HasPrefix(c.name, "copy/") || !slices.Contains(c.dialects, s.Dialect.Name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for word, why := range copyNotHere {
				if strings.Contains(c.in, word) {
					t.Log(why)
					return
				}
			}
			goldenLoad(t, s, c)
			loaded++
		})
	}
	if loaded < 10 {
		t.Errorf("%d cases are loaded", loaded)
	}
}

// goldenLoad loads a row of a case and takes it back.
func goldenLoad(t *testing.T, s *harness.Scratch, c goldenCase) {
	t.Helper()
	targets, err := goldenTargets(c.archive)
	if err != nil {
		t.Fatal(err)
	}
	p := compile.Query(s.Dialect, goldenLookup(s.Dialect, targets), c.in)
	db, _ := s.OpenWith(t, goldenOptions(s.Dialect, targets, false))
	row := make([]any, p.Placeholders())
	if !p.AtExecution {
		for i := range row {
			row[i] = "7" // for every type of theirs
		}
	}
	ctx, rec := keyfill.Record(context.Background())
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := harness.Load(ctx, tx, c.in, row); err != nil {
		t.Fatal(err)
	}
	keys := rec.All()
	if len(keys) != len(p.Draws) {
		t.Errorf("%d keys are recorded, want %d", len(keys), len(p.Draws))
	}
	for _, k := range keys {
		var n int
		query := "SELECT COUNT(*) FROM " + k.Table + " WHERE " + s.Dialect.QuoteIdent(k.Column) + " = $1"
		if err := tx.QueryRowContext(ctx, query, k.Key).Scan(&n); err != nil || n != 1 || k.Outcome != keyfill.Stored {
			t.Errorf("%d rows have the key of column %s, which is %s; error %v", n, k.Column, k.Outcome, err)
		}
	}
}
