package statements_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestTruthSQLServer: Record's answer if the server reports only how many rows it has
// inserted, which is one.
func TestTruthSQLServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"one row", "INSERT INTO people (name) VALUES (N'a')", "S"},
		{"top", "INSERT TOP (1) INTO people (name) VALUES (N'a'), (N'b')", "UU"},
		{"top, enough", "INSERT TOP (5) INTO people (name) VALUES (N'a')", "S"},
		{"output into a variable", "DECLARE @ids TABLE (id uniqueidentifier); INSERT INTO people (name) OUTPUT inserted.id INTO @ids VALUES (N'a')", "S"},
		{"identity insert", "SET IDENTITY_INSERT people ON; INSERT INTO people (name) VALUES (N'a'); SET IDENTITY_INSERT people OFF", "S"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, _ := harness.SQLServer(t, harness.FillID("people", policy.Table{}))
			ctx, rec := keyfill.Record(context.Background())
			if _, err := db.ExecContext(ctx, c.text); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, k := range rec.Keys("people") {
				got += map[keyfill.Outcome]string{keyfill.Stored: "S", keyfill.NotStored: "N", keyfill.Unknown: "U"}[k.Outcome]
			}
			if got != c.want {
				t.Errorf("recorded is %q, want %q", got, c.want)
			}
		})
	}
}
