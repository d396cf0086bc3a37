package keyfilltest_test

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// numbered is a policy whose tables have a sequence each, a snowflake and one
// sequence for two.
func numbered() keyfill.Options {
	return keyfill.Options{Policy: &policy.Config{
		Dialect: "postgres",
		Sources: map[string]policy.Source{"shared": {Kind: policy.KindSequence}},
		Tables: map[string]policy.Table{
			"orders": {Column: "id", Source: policy.KindSequence},
			"lines":  {Column: "id", Source: policy.KindSequence},
			"logs":   {Column: "id", InPlace: &policy.Source{Kind: policy.KindSnowflake, WorkerEnv: "KEYFILL_TEST_NOT_SET"}},
			"a":      {Column: "id", Source: "shared"},
			"b":      {Column: "id", Source: "shared"},
		},
	}}
}

// TestIntegers: integers count from 1 by state, in every run, and no store is
// asked: go-sqlmock fails what it does not expect.
func TestIntegers(t *testing.T) {
	for range 2 {
		db, mock := keyfilltest.New(t, numbered())
		for _, c := range []struct {
			table string
			want  int64
		}{{"orders", 1}, {"orders", 2}, {"lines", 1}, {"logs", 1}, {"logs", 2}, {"a", 1}, {"b", 2}, {"a", 3}} {
			mock.ExpectExec("INSERT INTO "+c.table+` (x, "id") VALUES ($1, $2)`).WithArgs(7, c.want).
				WillReturnResult(sqlmock.NewResult(0, 1))
			if _, err := db.Exec("INSERT INTO "+c.table+" (x) VALUES ($1)", 7); err != nil {
				t.Fatal(err)
			}
		}
		m, err := keyfill.From(db)
		if err != nil {
			t.Fatal(err)
		}
		if first, err := m.Reserve(context.Background(), "orders", 10); err != nil || first != 3 {
			t.Errorf("Reserve = %d, %v; want 3", first, err)
		}
		if err := mock.ExpectationsWereMet(); err != nil {
			t.Error(err)
		}
	}
	if keys := keyfilltest.Keys(t, numbered(), "orders", 2); !slices.Equal(keys, []driver.Value{int64(1), int64(2)}) {
		t.Errorf("Keys = %v", keys)
	}
	keyfilltest.AssertSQL(t, numbered(), "INSERT INTO orders (x) VALUES (1), (2)",
		`INSERT INTO orders (x, "id") VALUES (1, 1), (2, 2)`)
}

// TestReserversOfOneOwn: a stand-in of the caller's takes the place of Counter.
func TestReserversOfOneOwn(t *testing.T) {
	cfg := numbered()
	var states []string
	cfg.Reservers = func(state string) keysource.Reserver {
		states = append(states, state)
		c := new(keyfilltest.Counter)
		if err := c.Advance(context.Background(), 100); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if keys := keyfilltest.Keys(t, cfg, "orders", 1); keys[0] != int64(100) {
		t.Errorf("key %v, want 100", keys[0])
	}
	if !slices.Equal(states, []string{"orders.id"}) {
		t.Errorf("states %q", states)
	}
}

// TestCounter: the integers of concurrent callers are distinct; Advance never
// goes back.
func TestCounter(t *testing.T) {
	var (
		c   keyfilltest.Counter
		ctx = context.Background()
		mu  sync.Mutex
		all []int64
		wg  sync.WaitGroup
	)
	for range 8 {
		wg.Go(func() {
			for range 100 {
				r, err := c.Reserve(ctx, 3, 0)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				all = append(all, r.First)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(all)
	for i, first := range all {
		if first != int64(3*i+1) {
			t.Fatalf("the %d-th is %d", i, first)
		}
	}
	for _, to := range []int64{5000, 10} {
		if err := c.Advance(ctx, to); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := c.Reserve(ctx, 1, 0); err != nil || r.First != 5000 {
		t.Errorf("after Advance to 5000 and 10: %+v, %v", r, err)
	}
}
