package joined_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStatesMovedEmptyPath: where the search path is empty, keyfill's tables are found again
// after they were moved to another schema under a process.
func TestStatesMovedEmptyPath(t *testing.T) {
	t.Parallel()
	e := harness.PgxDefault
	e.Params = ""
	dsn := e.DSN(t)
	raw := harness.Open(t, e.Driver, dsn)
	harness.Must(t, raw, "CREATE SCHEMA app", "CREATE SCHEMA st", "CREATE TABLE app.t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	cfg := harness.FillID("app.t", policy.Table{InPlace: harness.JoinedSource()})
	const insert = "INSERT INTO app.t (a) VALUES (1)"
	for _, path := range []string{"app", ""} {
		db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, e.Driver, harness.WithParams(dsn, "search_path="+path)), cfg)
		harness.Exec(t, db, insert)
		if path == "" {
			harness.Must(t, raw, "ALTER TABLE app.keyfill_sequences SET SCHEMA st", "ALTER TABLE app.keyfill_workers SET SCHEMA st", "ALTER TABLE app.keyfill_series SET SCHEMA st")
			harness.Exec(t, db, insert)
		}
	}
	if got := harness.IntegersOf(t, raw, "SELECT id FROM app.t ORDER BY id"); !slices.Equal(got, harness.UpTo(3)) {
		t.Errorf("%v, want 1 to 3", got)
	}
}
