package statements_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestMSSQLName: go-mssqldb's driver of the name mssql, whose placeholders are ? and
// $1, is refused when a database is opened, with the name to take.
func TestMSSQLName(t *testing.T) {
	t.Parallel()
	cfg := harness.FillID("t", policy.Table{})
	for name, refused := range map[string]bool{"mssql": true, "sqlserver": false} {
		db, err := keyfill.OpenDB(harness.ConnectorOf(t, name, "sqlserver://u:p@127.0.0.1:1?database=d"), keyfill.Options{Policy: cfg})
		if err == nil {
			db.Close()
		}
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), `open the database as "sqlserver"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
