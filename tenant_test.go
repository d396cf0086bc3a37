package keyfill_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// tenants is a policy with a numbering for each tenant: b's begins at 1001.
func tenants() keyfill.Options {
	cfg := sequences("sqlite")
	cfg.Policy.Tables = map[string]policy.Table{"t": {Column: "id", InPlace: &policy.Source{
		Kind: policy.KindSequence, Name: "n{value:tenant}", Exclusive: true,
	}}}
	cfg.Reservers = func(state string) keysource.Reserver {
		c := new(countingStore)
		if state == "nb" {
			c.used.Store(1000)
		}
		return c
	}
	return cfg
}

// TestParkedOfATenant: keys that were drawn for one tenant and not used are not
// another one's, even where text and arguments are the same.
func TestParkedOfATenant(t *testing.T) {
	d := &fakeDriver{strength: contexts, skip: true}
	fails := 1
	d.prepares = func(string) error {
		if fails > 0 {
			fails--
			return errors.New("max_prepared_stmt_count")
		}
		return nil
	}
	db := open(t, d, tenants())
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	a := keyfill.WithValue(context.Background(), "tenant", "a")
	b := keyfill.WithValue(context.Background(), "tenant", "b")
	if _, err = tx.ExecContext(a, insert, 1, 2); err == nil {
		t.Fatal("the first Prepare did not fail")
	}
	if _, err = tx.ExecContext(b, insert, 1, 2); err != nil {
		t.Fatal(err)
	}
	if got := lastArgs(d); got[0].(int64) < 1000 {
		t.Errorf("tenant b got tenant a's key: %v", got)
	}
}

// TestRetryOfATenant: the same, for keys that wait for a retry.
func TestRetryOfATenant(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	br := &breaking{exec: allBroken}
	br.use(d)
	db := open(t, d, tenants())
	ctx, _ := keyfill.Record(context.Background())
	a := keyfill.WithValue(ctx, "tenant", "a")
	b := keyfill.WithValue(ctx, "tenant", "b")
	_, err := db.ExecContext(a, insert, 1, 2)
	if !errors.Is(err, driver.ErrBadConn) {
		t.Fatal(err)
	}
	if _, err = db.ExecContext(b, insert, 1, 2); err != nil {
		t.Fatal(err)
	}
	if got := lastArgs(d); got[len(got)-1].(int64) < 1000 {
		t.Errorf("tenant b got tenant a's key: %v", got)
	}
}

// TestSourcesOfManyTenants: where more tenants come than have a counter at once, what the
// closed counters have done stays counted, and only open ones are states.
func TestSourcesOfManyTenants(t *testing.T) {
	t.Parallel()
	const most, all = 4096, 4500
	db := open(t, &fakeDriver{strength: contexts}, tenants())
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		ctx := keyfill.WithValue(t.Context(), "tenant", strconv.Itoa(i))
		if _, err := db.ExecContext(ctx, insert, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	sources := m.Sources()
	if len(sources) != 1 || sources[0].Fetches < all || sources[0].States > most || sources[0].States < most/2 {
		t.Errorf("the sources are %+v, want one with %d fetches or more and %d states at most", sources, all, most)
	}
}
