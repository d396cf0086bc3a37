package keyfill_test

import (
	"context"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/policy"
)

// TestExplainNoDatabase: a policy is explained where neither its stores nor its
// worker's number are to be had, and nothing is connected.
func TestExplainNoDatabase(t *testing.T) {
	cfg := centralStore(policy.Store{Driver: "nosuchdriver", DSN: "x"})
	cfg.Tables["flakes"] = policy.Table{Column: "id", InPlace: &policy.Source{
		Kind: policy.KindSnowflake, Store: policy.StoreNone, WorkerEnv: "KEYFILL_TEST_NOT_SET",
	}}
	c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, table := range []string{"t", "flakes"} {
		ex, err := explain.By(c).Explain("INSERT INTO " + table + " (a) VALUES (?)")
		if err != nil || ex.Action != "fill" || len(ex.Slots) != 1 {
			t.Errorf("%s: Explain = %+v, %v", table, ex, err)
		}
	}
	if conn, err := c.Connect(context.Background()); err == nil {
		conn.Close()
		t.Error("a connector of no database connects")
	}
}
