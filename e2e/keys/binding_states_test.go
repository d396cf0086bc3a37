package keys_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// states returns the names of the states that are stored, without the rows that
// bind them to columns.
func states(t *testing.T, s *harness.Scratch) string {
	t.Helper()
	rows, err := s.Raw.Query("SELECT name FROM keyfill_sequences WHERE parameters <> 'binding' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestStatesShared: a named source has one state: the keys of all tables that
// use it are unique over them, and the first is above what is in any.
func TestStatesShared(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.ReserveEngines, func(t *testing.T, s *harness.Scratch) {
		for _, table := range []string{"t", "u", "later"} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		harness.Exec(t, s.Raw, "INSERT INTO u VALUES (70, 0)")
		harness.Exec(t, s.Raw, "DROP TABLE later")
		db, _ := s.Open(t, &policy.Config{
			Sources: map[string]policy.Source{"numbers": {Kind: policy.KindSequence, EnsureSchema: true, Block: 4}},
			Tables: map[string]policy.Table{
				"t":     {Column: "id", Source: "numbers"},
				"u":     {Column: "id", Source: "numbers"},
				"later": {Column: "id", Source: "numbers"},
			},
		})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 10 {
					if _, err := db.Exec("INSERT INTO " + []string{"t", "u"}[i%2] + " (a) VALUES (1), (2)"); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		keys := harness.IntegersOf(t, s.Raw, "SELECT id FROM t UNION ALL SELECT id FROM u ORDER BY 1")
		if distinct := slices.Compact(slices.Clone(keys)); len(distinct) != 81 || keys[0] != 70 {
			t.Errorf("%d distinct keys from %d, want 81 from 70", len(distinct), keys[0])
		}
		if got := states(t, s); got != "numbers" {
			t.Errorf("states %s", got)
		}
		// A table that was not there at first begins above the others.
		harness.Exec(t, s.Raw, "CREATE TABLE later (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, db, "INSERT INTO later (a) VALUES (1)")
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM later"); got[0] <= keys[80] {
			t.Errorf("the key is %d, and %d is another table's", got[0], keys[80])
		}
	})
}

// TestStatesGlob: a source written in place has a state for each real table
// under a glob, and numbers each from 1.
func TestStatesGlob(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.ReserveEngines, func(t *testing.T, s *harness.Scratch) {
		db, m := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"log_*":    {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}},
			"log_misc": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 500}},
		}})
		for i := range 3 {
			table := fmt.Sprintf("log_%d", i)
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			harness.Exec(t, db, "INSERT INTO "+table+" (a) VALUES (1), (2)")
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM "+table+" ORDER BY id"); !slices.Equal(got, []int64{1, 2}) {
				t.Errorf("%s has keys %v", table, got)
			}
		}
		harness.Exec(t, s.Raw, "CREATE TABLE log_misc (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		if first, err := m.Reserve(context.Background(), "log_misc", 2); err != nil || first != 500 {
			t.Errorf("log_misc: %d, %v", first, err)
		}
		if got := states(t, s); got != "log_0.id log_1.id log_2.id log_misc.id" {
			t.Errorf("states %s", got)
		}
	})
}

// TestStatesByValue: {value:tenant} in the name gives each tenant a numbering;
// a statement without a tenant is an error. The table's primary key is of both.
func TestStatesByValue(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.ReserveEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (tenant VARCHAR(9), id BIGINT NOT NULL, PRIMARY KEY (tenant, id))")
		db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Start: 1, Exclusive: true, Name: "{table}.{value:tenant}",
		}}))
		insert := s.Placeholders("INSERT INTO t (tenant) VALUES (?)")
		if _, err := db.Exec(insert, "a"); err == nil || !strings.Contains(err.Error(), `WithValue(ctx, "tenant"`) {
			t.Errorf("without a tenant: %v", err)
		}
		for _, tenant := range []string{"a", "b", "a", "a"} {
			ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
			if _, err := db.ExecContext(ctx, insert, tenant); err != nil {
				t.Fatal(err)
			}
		}
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY tenant, id"); !slices.Equal(got, []int64{1, 2, 3, 1}) {
			t.Errorf("keys %v", got)
		}
		ctx := keyfill.WithValue(context.Background(), "tenant", "b")
		if first, err := m.Reserve(ctx, "t", 1); err != nil || first != 2 {
			t.Errorf("Reserve for b: %d, %v", first, err)
		}
		if got := states(t, s); got != "t.a t.b" {
			t.Errorf("states %s", got)
		}
		if _, err := db.ExecContext(keyfill.WithValue(context.Background(), "tenant", " "), insert, "a"); err == nil || strings.Contains(err.Error(), `" "`) {
			t.Errorf("a tenant that is a space: %v", err)
		}
	})
}

// TestStatesBySchema: {schema} and {table} name the state after the real table.
func TestStatesBySchema(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, schema := range []string{"east", "west"} {
			harness.Exec(t, s.Raw, "CREATE SCHEMA "+schema)
			harness.Exec(t, s.Raw, "CREATE TABLE "+schema+".t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		db, m := s.Open(t, harness.FillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Name: "{schema}/{table}",
		}}))
		harness.Exec(t, db, "INSERT INTO east.t (a) VALUES (1), (2)")
		harness.Exec(t, db, "INSERT INTO west.t (a) VALUES (1)")
		if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM east.t UNION ALL SELECT id FROM west.t ORDER BY 1"); !slices.Equal(got, []int64{1, 1, 2}) {
			t.Errorf("keys %v", got)
		}
		if got := states(t, s); got != "east/t west/t" {
			t.Errorf("states %s", got)
		}
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		if got := states(t, s); got != "east/t public/t west/t" {
			t.Errorf("without a schema: states %s", got)
		}
		if first, err := m.Reserve(context.Background(), "t", 1); err != nil || first != 2 {
			t.Errorf("Reserve without a schema: %d, %v", first, err)
		}
		if first, err := m.Reserve(context.Background(), "east.t", 1); err != nil || first != 3 {
			t.Errorf("Reserve: %d, %v", first, err)
		}
	})
}

// TestStatesTwoDatabases: two databases in one process share no state, and two
// mounts of one database share that in its tables.
func TestStatesTwoDatabases(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, harness.ReserveEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			one, two := e.Scratch(t), e.Scratch(t)
			for _, s := range []*harness.Scratch{one, two} {
				harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			}
			first, _ := one.Open(t, harness.Blocks("t", 10))
			again, _ := one.Open(t, harness.Blocks("t", 10))
			other, _ := two.Open(t, harness.Blocks("t", 10))
			harness.Exec(t, first, "INSERT INTO t (a) VALUES (1)")
			harness.Exec(t, other, "INSERT INTO t (a) VALUES (1)")
			harness.Exec(t, again, "INSERT INTO t (a) VALUES (1)")
			if got := harness.IntegersOf(t, one.Raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []int64{1, 11}) {
				t.Errorf("the first database has %v, want 1 and 11", got)
			}
			if got := harness.IntegersOf(t, two.Raw, "SELECT id FROM t"); !slices.Equal(got, []int64{1}) {
				t.Errorf("the second database has %v, want 1", got)
			}
		})
	}
}
