package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// tdsCounted are sources with a state in the database.
func tdsCounted() map[string]*policy.Source {
	all := tdsSources()
	all["sequence"] = &policy.Source{Kind: policy.KindSequence, Block: 1}
	return all
}

// changes returns what was sent that draws or inserts.
func changes(log []string) []string {
	return slices.DeleteFunc(log, func(text string) bool {
		return !strings.Contains(text, "UPDATE keyfill") && !strings.Contains(text, "INSERT") && !strings.Contains(text, "MERGE")
	})
}

// TestTDSOtherDatabase: a name in another database than the one that is open is of
// another table, however it is written, and nothing of the configured one's state is
// drawn for it.
func TestTDSOtherDatabase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	names := map[bool][]string{
		true: {
			"otherdb.dbo.t", "otherdb..t", "[otherdb].[dbo].[t]", `"otherdb"."dbo"."t"`, "otherdb . dbo . t",
			"otherdb/**/./**/dbo.t", "OTHERDB.DBO.T", "[otherdb]..[t]",
			"srv.home.dbo.t", "srv...t", "srv.home..t", "[srv].[home].[dbo].[t]", "srv..dbo.t", "home.home.dbo.t",
		},
		false: {"t", "dbo.t", "home.dbo.t", "home..t", "HOME.DBO.T", "[home].[dbo].[t]", "[home]..t"},
	}
	forms := []string{
		"INSERT INTO %s (a) VALUES (1)", "INSERT %s (a) VALUES (1)", "INSERT INTO %s (a) VALUES (@p1)", "INSERT INTO %s VALUES (1)",
		"INSERT INTO %s (a) SELECT a FROM x WHERE a = @p1", "INSERT INTO %s (a) SELECT 1",
		"MERGE INTO %s AS d USING (VALUES (1)) AS s (a) ON d.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a);",
		"INSERT INTO x (a) OUTPUT inserted.a INTO %s (a) VALUES (1)", "INSERT TOP (1) INTO %s (a) VALUES (1)",
		"INSERT INTO t (a) VALUES (1); INSERT INTO %s (a) VALUES (1)", "WITH c AS (SELECT 1 AS a) INSERT INTO %s (a) SELECT a FROM c",
		"WITH c AS (SELECT a FROM %s) INSERT INTO c (a) VALUES (1)",
	}
	for kind, source := range tdsCounted() {
		t.Run(kind, func(t *testing.T) {
			n := &faketds.Numbers{Next: 1}
			db := numbersOverTDS(t, source, n)
			run := func(c *sql.Conn, text string) (err error) {
				args := []any{1}[:strings.Count(text, "@p")]
				if _, err = c.ExecContext(ctx, text, args...); err != nil {
					return err
				}
				stmt, err := c.PrepareContext(ctx, text)
				if err == nil {
					_, err = stmt.ExecContext(ctx, args...)
					stmt.Close()
				}
				return err
			}
			for elsewhere, list := range names {
				for _, name := range list {
					for i, form := range forms {
						text := fmt.Sprintf(form, name)
						n.Take()
						c := harness.ConnOf(t, db)
						err := run(c, text)
						c.Close()
						if sent := changes(n.Take()); elsewhere && (err == nil || len(sent) > 0) {
							t.Errorf("%s: %v, sent %q", text, err, sent)
						}
						if !elsewhere && i == 0 && err != nil {
							t.Errorf("%s: %v", text, err)
						}
					}
				}
			}
		})
	}
}

// TestTDSBulkOtherDatabase is for go-mssqldb's bulk load.
func TestTDSBulkOtherDatabase(t *testing.T) {
	t.Parallel()
	n := &faketds.Numbers{Next: 1}
	db := numbersOverTDS(t, tdsCounted()["sequence"], n)
	for name, elsewhere := range map[string]bool{
		"otherdb.dbo.t": true, "otherdb..t": true, "[otherdb].[dbo].[t]": true, "OTHERDB.dbo.t": true, `"otherdb"..t`: true,
		"t": false, "dbo.t": false, "home.dbo.t": false, "home..t": false,
	} {
		stmt, err := db.Prepare(mssql.CopyIn(name, mssql.BulkOptions{}, "a"))
		if err == nil {
			stmt.Close()
		}
		if (err != nil) != elsewhere {
			t.Errorf("%s: %v", name, err)
		}
		if elsewhere {
			harness.RefusedFor(t, name, err, rewrite.ErrPlace)
		}
	}
}

// TestTDSUse: after USE a name means a table of another database, and a text that only
// seems to be USE does no harm.
func TestTDSUse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for kind, source := range tdsCounted() {
		for text, moves := range map[string]bool{
			"USE otherdb": true, "EXEC('USE otherdb')": false, "EXEC sp_executesql N'USE otherdb'": false,
		} {
			t.Run(kind+", "+text, func(t *testing.T) {
				n := &faketds.Numbers{Next: 1}
				c := harness.ConnOf(t, numbersOverTDS(t, source, n))
				harness.Must(t, c, "INSERT INTO t (a) VALUES (1)", text)
				n.Take()
				for _, insert := range []string{"INSERT INTO t (a) VALUES (1)", "INSERT INTO dbo.t (a) VALUES (1)", "INSERT INTO otherdb.dbo.t (a) VALUES (1)", "INSERT INTO home.dbo.t (a) VALUES (1)"} {
					_, err := c.ExecContext(ctx, insert)
					if moves || strings.Contains(insert, "otherdb") {
						harness.RefusedFor(t, insert, err, rewrite.ErrPlace)
					} else if err != nil {
						t.Errorf("%s: %v", insert, err)
					}
				}
				if sent := changes(n.Take()); moves && len(sent) > 0 {
					t.Errorf("sent %q", sent)
				}
			})
		}
		for _, before := range []string{"USE otherdb; ", "USE otherdb ", "USE otherdb\nGO\n", "IF 1 = 1 USE otherdb; ", "EXECUTE AS USER = 'x'; ", "USE [otherdb];", "BEGIN USE otherdb END; "} {
			n := &faketds.Numbers{Next: 1}
			c := harness.ConnOf(t, numbersOverTDS(t, source, n))
			_, err := c.ExecContext(ctx, before+"INSERT INTO t (a) VALUES (1)")
			if sent := changes(n.Take()); err == nil || len(sent) > 0 {
				t.Errorf("%s, %s: %v, sent %q", kind, before, err, sent)
			}
		}
	}
}
