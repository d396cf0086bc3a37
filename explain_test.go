package keyfill_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/keysource"
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

// TestExplainNewest: for the rows of a query the newest version of an engine makes UUIDs,
// where it has a function for them.
func TestExplainNewest(t *testing.T) {
	for _, tt := range []struct {
		dialect, source, sql string
	}{
		{"postgres", "uuidv7", `INSERT INTO t (a, "id") WITH kf (c1) AS (SELECT a FROM u) SELECT kf.*, uuidv7() FROM kf`},
		{"postgres", "uuidv4", `INSERT INTO t (a, "id") WITH kf (c1) AS (SELECT a FROM u) SELECT kf.*, gen_random_uuid() FROM kf`},
		{"mariadb", "uuidv7", "INSERT INTO t (a, `id`) WITH kf (c1) AS (SELECT a FROM u) SELECT c1, UUID_v7() FROM kf"},
		{"mysql", "uuidv4", ""},
		{"sqlite", "uuidv4", ""},
		{"postgres", "{kind: uuidv4}, layout: binary", ""},
	} {
		cfg, err := policy.Parse([]byte("version: 1\ndialect: " + tt.dialect + "\ntables: {t: {column: id, source: " + tt.source + "}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
		if err != nil {
			t.Fatal(err)
		}
		ex, err := explain.By(c).Explain("INSERT INTO t (a) SELECT a FROM u")
		want := "fill"
		if tt.sql == "" {
			want, tt.sql = "refuse", "INSERT INTO t (a) SELECT a FROM u"
		}
		if err != nil || ex.Action != want || ex.SQL != tt.sql {
			t.Errorf("%s, %s: Explain = %+v, %v; want %s, %s", tt.dialect, tt.source, ex, err, want, tt.sql)
		}
	}
}

// TestExplainMade: a key that is made from columns is shown as it is stored, if the text has
// all of the values.
func TestExplainMade(t *testing.T) {
	const namespace = "c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17"
	from := policy.Scope{{Column: "sender", Type: policy.ScopeText}, {Column: "no"}}
	cfg := &policy.Config{Version: 1, Dialect: "sqlite", Tables: map[string]policy.Table{
		"events": {Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv5, Namespace: namespace, From: &from}}}}
	c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	explained := func(query string) explain.Explanation {
		t.Helper()
		ex, err := explain.By(c).Explain(query)
		if err != nil {
			t.Fatal(err)
		}
		return ex
	}
	key, err := keysource.NewUUIDv5(uuid.MustParse(namespace)).Key("shop", int64(7))
	if err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"7", "'07'"} {
		ex := explained("INSERT INTO events (sender, no) VALUES ('shop', " + no + ")")
		if ex.Action != "fill" || !strings.Contains(ex.SQL, uuid.UUID(key).String()) || ex.Made != "from sender, no" {
			t.Errorf("%+v, want the key %v", ex, uuid.UUID(key))
		}
	}
	if ex := explained("INSERT INTO events (sender, no) VALUES ('shop ', 7)"); ex.Action != "refuse" || !strings.Contains(ex.Reason, "ends in a space") {
		t.Errorf("%+v, want a refusal", ex)
	}
}
