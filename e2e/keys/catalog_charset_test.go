package keys_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/dbconn"
)

// TestCatalogCharset: the DSN of go-sql-driver chooses a character set in which the engine
// takes both the texts of statements and their arguments. keyfill's own connection finds
// the table that a statement of the application has made under a name outside of ASCII.
func TestCatalogCharset(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	for _, charset := range []string{"latin1", "gbk", "utf8mb4"} {
		table := "bücher_" + charset
		c := harness.ConnectorOf(t, s.Driver, harness.WithParams(harness.MariaDB.DSN(harness.DatabaseOf(t, s)), "charset="+charset))
		own := sql.OpenDB(c)
		t.Cleanup(func() { own.Close() })
		harness.Exec(t, own, "CREATE TABLE `"+table+"` (id BIGINT NOT NULL PRIMARY KEY)")
		if found, err := catalog.Read(context.Background(), dialect.MariaDB(), catalog.Writing(own, dbconn.WriteASCII), "", table); err != nil || len(found.Columns) != 1 {
			t.Errorf("%s: %+v, %v", charset, found, err)
		}
	}
}
