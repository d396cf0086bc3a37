package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// TestGaleraPeriods: processes on three nodes that begin periods at the same time give
// numbers without a gap and without a double. The only errors are deadlocks, by which the
// cluster ends one of two transactions that change a row on two nodes.
func TestGaleraPeriods(t *testing.T) {
	t.Parallel()
	nodes := cluster.Nodes(t)
	name := nodes[0].Database(t, "mysql")
	raw := harness.Open(t, "mysql", nodes[0].DSN(name)+"?"+galeraSynced)
	harness.Exec(t, raw, "CREATE TABLE invoices (year INT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (year, n))")
	years, err := calendar.New(calendar.Year, "", "")
	if err != nil {
		t.Fatal(err)
	}
	const processes, each, periods = 6, 4, 5
	var all sync.WaitGroup
	for process := range processes {
		e := harness.MySQLDefault
		if process%2 == 1 {
			e = harness.MySQLInterp
		}
		connector := harness.ConnectorOf(t, e.Driver, harness.WithParams(nodes[process%3].DSN(name), e.Params))
		db := store.Pool(dialect.MariaDB(), connector)
		t.Cleanup(func() { db.Close() })
		own := store.New(dialect.MariaDB(), db)
		if process == 0 {
			if err := schema.Of(own).Ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, node := range nodes {
				harness.Count(t, harness.Open(t, "mysql", node.DSN(name)+"?"+galeraSynced), "SELECT COUNT(*) FROM keyfill_sequences")
			}
		}
		conn, err := connector.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		at := store.Within(dialect.MariaDB(), conn)
		q := &scope.Scope{
			Name: "invoices.n", Column: store.Column{Table: "invoices", Name: "n"}, Latest: own,
			Periods: &scope.Periods{Calendar: years, Column: "year", Template: "{year}-{n}"},
		}
		insert := func(year int) error {
			ctx := context.Background()
			p, err := years.On(year, 5, 3)
			if err != nil {
				return err
			}
			if _, err := at.Conn.Exec(ctx, "BEGIN", nil); err != nil {
				return err
			}
			got, err := scope.New(at, q).ReservePeriod(ctx, nil, &p, 1)
			if err == nil {
				_, err = at.Conn.Exec(ctx, fmt.Sprintf("INSERT INTO invoices VALUES (%d, %d)", year, got.First), nil)
			}
			if err == nil {
				_, err = at.Conn.Exec(ctx, "COMMIT", nil)
			}
			if err != nil {
				_, _ = at.Conn.Exec(ctx, "ROLLBACK", nil)
			}
			return err
		}
		all.Go(func() {
			for n := range periods * each {
				for {
					err := insert(2000 + n/each)
					if err == nil {
						break
					}
					if !store.IsRolledBack(dialect.MariaDB(), err) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	for year := 2000; year < 2000+periods; year++ {
		got := harness.Text(t, raw, fmt.Sprintf("SELECT CONCAT(COUNT(*), ' up to ', MAX(n)) FROM invoices WHERE year = %d", year))
		if want := fmt.Sprintf("%d up to %[1]d", processes*each); got != want {
			t.Errorf("%d has %s numbers, want %s", year, got, want)
		}
	}
}
