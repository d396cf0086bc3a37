package keys_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSharedSession: a pooler gives one session to several clients, whose drivers prepare
// statements of the same names. The server says so, and does answer.
func TestSharedSession(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	stateTables(t, s)
	cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, Create: new(true), Start: 1}})
	cfg.StoreWait = time.Second
	dsn := behindPgBouncer(t, s, "transaction", 1)
	var err error
	for range 3 { // the second client prepares the queries that the first one has prepared
		db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, dsn), cfg)
		if _, err = db.Exec("INSERT INTO t (a) VALUES ($1)", 1); err != nil && strings.Contains(err.Error(), "42P05") {
			break
		}
	}
	if err == nil || strings.Contains(err.Error(), "does not answer") || !strings.Contains(err.Error(), "42P05") {
		t.Errorf("%v, want the server's words", err)
	}
}
