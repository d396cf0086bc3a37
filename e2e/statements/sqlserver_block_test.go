package statements_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestBlockSQLServer: an INSERT that may not run gets a key, of which it is not known
// whether it is stored, and in a loop it is refused before anything is sent.
//
//deviation:filled-inserts | An INSERT that a condition, an error or RETURN keeps from running leaves a gap. `Record` reports unknown for an INSERT that may not have run. | SQL Server, Oracle | `IF NOT EXISTS (…) INSERT INTO t (a) VALUES (@p1)` | –
func TestBlockSQLServer(t *testing.T) {
	t.Parallel()
	cfg := harness.FillID("people", policy.Table{Source: "uuidv4"})
	cfg.Tables["lines"] = policy.Table{Column: "no", InPlace: &policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined}}
	cfg.Tables["notes"] = policy.Table{Column: "no", InPlace: &policy.Source{Kind: policy.KindMaxPlusOne}}
	db, s := harness.SQLServer(t, cfg)
	const query = "UPDATE people SET n = @p1 WHERE name = @p2; IF @@ROWCOUNT = 0 INSERT INTO people (name, n"
	for _, c := range []struct {
		query, sent string
		args        []any
	}{
		{query + ") VALUES (@p2, @p1)", query + ", [id]) VALUES (@p2, @p1, @p3)", []any{1, "x"}},
		{"IF NOT EXISTS (SELECT 1 FROM people) INSERT people (n) VALUES (1)", "IF NOT EXISTS (SELECT 1 FROM people) INSERT people (n, [id]) VALUES (1, '", nil},
	} {
		ctx, rec := keyfill.Record(context.Background())
		s.Take()
		if _, err := db.ExecContext(ctx, c.query, c.args...); err != nil {
			t.Fatal(err)
		}
		calls := s.Take()
		last := calls[len(calls)-1]
		keys := rec.Keys("people")
		if !strings.HasPrefix(last.Query+last.Batch, c.sent) || len(keys) != 1 || keys[0].Outcome != keyfill.Unknown {
			t.Errorf("%s: sent %q, recorded %v", c.query, last.Query+last.Batch, keys)
		}
	}
	s.Take()
	for query, want := range map[string]error{
		"WHILE 1 = 1 INSERT INTO people (n) VALUES (1)":                            rewrite.ErrLoop,
		"IF 1 = 1 INSERT INTO people (n) VALUES (1); GOTO done; done: SELECT 1":    rewrite.ErrBlock,
		"IF 1 = 1 INSERT INTO lines (n) VALUES (1)":                                rewrite.ErrBlock,
		"IF 1 = 1 INSERT INTO notes (n) VALUES (1)":                                rewrite.ErrBlock,
		"IF 1 = 1 BEGIN INSERT INTO notes (n) VALUES (1); SELECT 1 END":            rewrite.ErrBlock,
		"BEGIN TRY INSERT INTO notes (n) VALUES (1) END TRY BEGIN CATCH END CATCH": rewrite.ErrBlock,
	} {
		if _, err := db.Exec(query); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", query, err, want)
		}
	}
	for _, call := range s.Take() {
		if strings.Contains(call.Query+call.Batch, "INSERT") {
			t.Errorf("sent: %+v", call)
		}
	}
}
