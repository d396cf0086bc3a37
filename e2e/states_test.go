package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// states returns the names of the states that are stored, without the rows that
// bind them to columns.
func (s *scratch) states(t *testing.T) string {
	t.Helper()
	rows, err := s.raw.Query("SELECT name FROM keyfill_sequences WHERE parameters <> 'binding' ORDER BY name")
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
	each(t, reserveEngines, func(t *testing.T, s *scratch) {
		for _, table := range []string{"t", "u", "later"} {
			exec(t, s.raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		exec(t, s.raw, "INSERT INTO u VALUES (70, 0)")
		exec(t, s.raw, "DROP TABLE later")
		db, _ := s.open(t, &policy.Config{
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
		keys := integersOf(t, s.raw, "SELECT id FROM t UNION ALL SELECT id FROM u ORDER BY 1")
		if distinct := slices.Compact(slices.Clone(keys)); len(distinct) != 81 || keys[0] != 70 {
			t.Errorf("%d distinct keys from %d, want 81 from 70", len(distinct), keys[0])
		}
		if got := s.states(t); got != "numbers" {
			t.Errorf("states %s", got)
		}
		// A table that was not there at first begins above the others.
		exec(t, s.raw, "CREATE TABLE later (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		exec(t, db, "INSERT INTO later (a) VALUES (1)")
		if got := integersOf(t, s.raw, "SELECT id FROM later"); got[0] <= keys[80] {
			t.Errorf("the key is %d, and %d is another table's", got[0], keys[80])
		}
	})
}

// TestStatesGlob: a source written in place has a state for each real table
// under a glob, and numbers each from 1.
func TestStatesGlob(t *testing.T) {
	each(t, reserveEngines, func(t *testing.T, s *scratch) {
		db, m := s.open(t, &policy.Config{Tables: map[string]policy.Table{
			"log_*":    {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true}},
			"log_misc": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Start: 500}},
		}})
		for i := range 3 {
			table := fmt.Sprintf("log_%d", i)
			exec(t, s.raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			exec(t, db, "INSERT INTO "+table+" (a) VALUES (1), (2)")
			if got := integersOf(t, s.raw, "SELECT id FROM "+table+" ORDER BY id"); !slices.Equal(got, []int64{1, 2}) {
				t.Errorf("%s has keys %v", table, got)
			}
		}
		exec(t, s.raw, "CREATE TABLE log_misc (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		if first, err := m.Reserve(context.Background(), "log_misc", 2); err != nil || first != 500 {
			t.Errorf("log_misc: %d, %v", first, err)
		}
		if got := s.states(t); got != "log_0.id log_1.id log_2.id log_misc.id" {
			t.Errorf("states %s", got)
		}
	})
}

// TestStatesByValue: {value:tenant} in the name gives each tenant a numbering;
// a statement without a tenant is an error. The table's primary key is of both.
func TestStatesByValue(t *testing.T) {
	each(t, reserveEngines, func(t *testing.T, s *scratch) {
		exec(t, s.raw, "CREATE TABLE t (tenant VARCHAR(9), id BIGINT NOT NULL, PRIMARY KEY (tenant, id))")
		db, m := s.open(t, fillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Start: 1, Exclusive: true, Name: "{table}.{value:tenant}",
		}}))
		insert := s.placeholders("INSERT INTO t (tenant) VALUES (?)")
		if _, err := db.Exec(insert, "a"); err == nil || !strings.Contains(err.Error(), `WithValue(ctx, "tenant"`) {
			t.Errorf("without a tenant: %v", err)
		}
		for _, tenant := range []string{"a", "b", "a", "a"} {
			ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
			if _, err := db.ExecContext(ctx, insert, tenant); err != nil {
				t.Fatal(err)
			}
		}
		if got := integersOf(t, s.raw, "SELECT id FROM t ORDER BY tenant, id"); !slices.Equal(got, []int64{1, 2, 3, 1}) {
			t.Errorf("keys %v", got)
		}
		ctx := keyfill.WithValue(context.Background(), "tenant", "b")
		if first, err := m.Reserve(ctx, "t", 1); err != nil || first != 2 {
			t.Errorf("Reserve for b: %d, %v", first, err)
		}
		if got := s.states(t); got != "t.a t.b" {
			t.Errorf("states %s", got)
		}
		if _, err := db.ExecContext(keyfill.WithValue(context.Background(), "tenant", " "), insert, "a"); err == nil || strings.Contains(err.Error(), `" "`) {
			t.Errorf("a tenant that is a space: %v", err)
		}
	})
}

// TestStatesBySchema: {schema} and {table} name the state after the real table.
func TestStatesBySchema(t *testing.T) {
	each(t, []engine{pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
		for _, schema := range []string{"east", "west"} {
			exec(t, s.raw, "CREATE SCHEMA "+schema)
			exec(t, s.raw, "CREATE TABLE "+schema+".t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		db, m := s.open(t, fillID("t", policy.Table{InPlace: &policy.Source{
			Kind: policy.KindSequence, EnsureSchema: true, Name: "{schema}/{table}",
		}}))
		exec(t, db, "INSERT INTO east.t (a) VALUES (1), (2)")
		exec(t, db, "INSERT INTO west.t (a) VALUES (1)")
		if got := integersOf(t, s.raw, "SELECT id FROM east.t UNION ALL SELECT id FROM west.t ORDER BY 1"); !slices.Equal(got, []int64{1, 1, 2}) {
			t.Errorf("keys %v", got)
		}
		if got := s.states(t); got != "east/t west/t" {
			t.Errorf("states %s", got)
		}
		exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		exec(t, db, "INSERT INTO t (a) VALUES (1)")
		if got := s.states(t); got != "east/t public/t west/t" {
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
	for _, e := range reserveEngines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			one, two := e.scratch(t), e.scratch(t)
			for _, s := range []*scratch{one, two} {
				exec(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
			}
			first, _ := one.open(t, blocks("t", 10))
			again, _ := one.open(t, blocks("t", 10))
			other, _ := two.open(t, blocks("t", 10))
			exec(t, first, "INSERT INTO t (a) VALUES (1)")
			exec(t, other, "INSERT INTO t (a) VALUES (1)")
			exec(t, again, "INSERT INTO t (a) VALUES (1)")
			if got := integersOf(t, one.raw, "SELECT id FROM t ORDER BY id"); !slices.Equal(got, []int64{1, 11}) {
				t.Errorf("the first database has %v, want 1 and 11", got)
			}
			if got := integersOf(t, two.raw, "SELECT id FROM t"); !slices.Equal(got, []int64{1}) {
				t.Errorf("the second database has %v, want 1", got)
			}
		})
	}
}
