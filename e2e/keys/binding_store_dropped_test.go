package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreDropped: tables of states that are dropped in a store of their own are made again,
// although that store has not the table to fill.
func TestStoreDropped(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.CreateIDs(t, s, "t")
	e := harness.ByTurns(t, []harness.Engine{harness.PgxDefault, harness.MySQLDefault})[0]
	dsn := e.DSN(t)
	raw := harness.Open(t, e.Driver, dsn)
	db, _ := s.Open(t, &policy.Config{
		Stores: map[string]policy.Store{"central": {Driver: e.Driver, DSN: dsn}},
		Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Block: 10, Start: 1, Store: "central",
		}}},
	})
	harness.Exec(t, db, harness.InsertT)
	for _, table := range []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"} {
		harness.Exec(t, raw, "DROP TABLE IF EXISTS "+table)
	}
	for range 30 { // more than two blocks
		harness.InsertWhenRemade(t, db)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t"); n != 31 {
		t.Errorf("%d rows, want 31", n)
	}
}
