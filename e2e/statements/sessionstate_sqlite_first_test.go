package statements_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestSQLiteLocksFirst: inside a transaction nothing is asked before the lock to write is
// taken, since a transaction that has read fails when another one has written since.
func TestSQLiteLocksFirst(t *testing.T) {
	t.Parallel()
	for _, e := range sqliteDrivers {
		for name, source := range countedSources() {
			for _, insert := range []string{"INSERT INTO t (a) VALUES (1)", "INSERT INTO t VALUES (NULL, 1)", "INSERT INTO t (a) SELECT 1", "INSERT INTO t (a) VALUES (?)"} {
				t.Run(e.Name+"/"+name+"/"+insert, func(t *testing.T) {
					t.Parallel()
					s := e.Scratch(t)
					harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
					spy := new(harness.Spy)
					db, _ := harness.OpenConnector(t, harness.AsDriver{Connector: harness.WrapSqlmw(t, s.Connector, spy), As: s.Connector.Driver()}, harness.InPlace(source))
					c := harness.ConnOf(t, db)
					for _, before := range []string{"", "ATTACH ':memory:' AS x", "CREATE TEMP TABLE v (a INT)"} {
						if before != "" {
							harness.Must(t, c, before)
						}
						tx, err := c.BeginTx(t.Context(), nil)
						if err != nil {
							t.Fatal(err)
						}
						spy.Take()
						var args []any
						if strings.Contains(insert, "?") {
							args = []any{1}
						}
						if _, err := tx.Exec(insert, args...); err != nil {
							t.Fatal(err)
						}
						sent := spy.Take()
						writes := slices.IndexFunc(sent, func(q string) bool { return strings.HasPrefix(q, "UPDATE") || strings.HasPrefix(q, "INSERT") })
						reads := slices.IndexFunc(sent, func(q string) bool { return strings.HasPrefix(q, "SELECT") })
						if writes < 0 || reads >= 0 && reads < writes {
							t.Errorf("behind %q sent: %.120q", before, sent)
						}
						if err := tx.Commit(); err != nil {
							t.Fatal(err)
						}
					}
				})
			}
		}
	}
}
