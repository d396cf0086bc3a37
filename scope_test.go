package keyfill_test

import (
	"context"
	"database/sql/driver"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestScopeStandIn: without a database each parent has a stand-in of its own, by
// the name of its row, made once.
func TestScopeStandIn(t *testing.T) {
	var made []string
	scope := policy.Scope{{Column: "order_id"}, {Column: "shop", Type: policy.ScopeText}}
	options := keyfill.Options{
		Policy: &policy.Config{
			Dialect: "postgres",
			Tables: map[string]policy.Table{"lines": {Keys: []policy.Key{
				{Column: "no", InPlace: &policy.Source{Kind: policy.KindSequence, Scope: &scope}},
			}}},
		},
		Reservers: func(row string) keysource.Reserver {
			made = append(made, row)
			return new(countingStore)
		},
	}
	d := &fakeDriver{strength: contexts}
	db, err := keyfill.OpenDB(&fakeConnector{d}, options)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 {
		if _, err := db.ExecContext(context.Background(),
			"INSERT INTO lines (order_id, shop) VALUES ($1, 'b'), (7, $2), ($1, 'b')", 8, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"lines.no[7,'a']", "lines.no[8,'b']"}; !slices.Equal(made, want) {
		t.Errorf("stand-ins for %v, want %v", made, want)
	}
	var got []driver.Value
	for _, c := range d.sent() {
		for _, a := range c.args[2:] {
			got = append(got, a.Value)
		}
	}
	if want := []driver.Value{int64(1), int64(1), int64(2), int64(3), int64(2), int64(4)}; !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
}

// TestScopeValues: values that an engine takes for one are one, and what it may
// store as another one is refused.
// TestScopeColumns: columns whose equal values may differ are refused, and so are
// those of which too little is known.
