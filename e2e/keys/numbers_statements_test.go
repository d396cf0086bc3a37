package keys_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestPeriodStatements: a number that begins again with each period has no gap after what
// stores no row: a savepoint that is rolled back, a refused upsert, a statement that
// fails, and a transaction that may not write.
func TestPeriodStatements(t *testing.T) {
	t.Parallel()
	engines := append(slices.Clone(numberEngines), harness.SQLiteMemory, harness.MySQLInterp, harness.PgxSimple, harness.PQDefault)
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL PRIMARY KEY, issued_on DATE, a INT UNIQUE)")
		db, _ := s.Open(t, periodic("{year}-{n:03}", "joined", func(src *policy.Source) { src.Period.Column = "issued_on" }))
		if s.Is(harness.SQLiteMemory) {
			db.SetMaxOpenConns(1)
		}
		insert := s.Placeholders("INSERT INTO t (issued_on, a) VALUES (?, ?)")
		ctx := context.Background()
		if err := harness.InTx(db, func(tx *sql.Tx) error {
			for i, query := range []string{"", "SAVEPOINT one", "", "ROLLBACK TO SAVEPOINT one", "", "RELEASE SAVEPOINT one", ""} {
				var err error
				if query == "" {
					_, err = tx.ExecContext(ctx, insert, "2025-06-01", i)
				} else {
					_, err = tx.ExecContext(ctx, query)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		upsert := " ON CONFLICT (a) DO UPDATE SET issued_on = excluded.issued_on"
		if s.Dialect.Name == "mysql" || s.Dialect.Name == "mariadb" {
			upsert = " ON DUPLICATE KEY UPDATE issued_on = VALUES(issued_on)"
		}
		// It might update a row, and store none.
		if _, err := db.Exec(insert+upsert, "2025-07-01", 0); err == nil || !strings.Contains(err.Error(), "look for the row first") {
			t.Errorf("an upsert: %v", err)
		}
		if _, err := db.Exec(insert, "2025-07-01", 0); err == nil {
			t.Error("a double was stored")
		}
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err == nil {
			if _, err := tx.Exec(insert, "2025-07-01", 50); err == nil && s.Server != nil {
				t.Error("a transaction that may not write has stored a row")
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
		for _, query := range []string{
			"INSERT INTO t (issued_on, a) SELECT issued_on, a + 100 FROM t WHERE a = 0",
			"INSERT INTO t (issued_on, a) SELECT issued_on, a + 100 FROM t",
		} {
			if _, err := db.Exec(query); err == nil || !strings.Contains(err.Error(), "keyfill") {
				t.Errorf("%s: %v", query, err)
			}
		}
		harness.Exec(t, db, insert, "2025-12-31", 60)
		if got, want := numbersOf(t, s), []string{"2025-001", "2025-002", "2025-003", "2025-004"}; !slices.Equal(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
	})
}

// TestPeriodPrepared: prepared statements, each on several pooled connections, that are kept
// over the end of a day give the numbers of the day of each execution.
func TestPeriodPrepared(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL PRIMARY KEY, issued_on DATE, a INT)")
	var now atomic.Int64
	begin := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
	now.Store(begin.Unix())
	db, _ := s.OpenWith(t, keyfill.Options{
		Now:    func() time.Time { return time.Unix(now.Load(), 0).UTC() },
		Policy: periodic("{year}-{n:03}", "joined", nil),
	})
	insert, err := db.Prepare("INSERT INTO t (a) VALUES (?)")
	if err != nil {
		t.Fatal(err)
	}
	defer insert.Close()
	for i := range 6 {
		now.Store(begin.Add(time.Duration(i/3) * time.Second).Unix())
		err := harness.InTx(db, func(tx *sql.Tx) error {
			_, err := tx.Stmt(insert).Exec(i)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := insert.Exec(10 + i); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"2026-001", "2026-002", "2026-003", "2026-004", "2026-005", "2026-006", "2027-001", "2027-002", "2027-003", "2027-004", "2027-005", "2027-006"}
	if got := slices.Sorted(slices.Values(numbersOf(t, s))); !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// TestNumbersOfOddTenants: tenants whose names look like parts of the template, or like rows
// of periods, have numberings of their own; a NULL tenant is refused.
func TestNumbersOfOddTenants(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		if mode != "joined" {
			return // a number within a parent is always drawn in the transaction of its row
		}
		db, _ := s.Open(t, periodic("{column:branch}/{year}-{n:03}", mode, func(src *policy.Source) {
			src.Period.Column = "issued_on"
			src.Scope = &policy.Scope{{Column: "branch", Type: policy.ScopeText}}
		}))
		place := s.Placeholders("INSERT INTO t (branch, issued_on, a) VALUES (?, ?, ?)")
		tenants := []string{"{year}", "{n:05}", "2026", "2026-001", "a',2026]", "[2026]", "x',2025", "%", "_", "{{", "İ"}
		for range 2 {
			for i, tenant := range tenants {
				if _, err := db.Exec(place, tenant, "2026-03-01", i); err != nil {
					t.Errorf("%s: %v", tenant, err)
				}
			}
		}
		var want []string
		for _, tenant := range tenants {
			want = append(want, tenant+"/2026-001", tenant+"/2026-002")
		}
		got := numbersOf(t, s)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
		if _, err := db.Exec(place, nil, "2026-03-01", 1); err == nil || !strings.Contains(err.Error(), "NULL") {
			t.Errorf("a NULL branch: %v", err)
		}
	})
}
