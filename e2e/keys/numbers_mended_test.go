package keys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestPeriodOfACast: a value that is cast to a date is of the year that is stored, on the
// engines that have such casts, and is refused on SQLite, which would store a number.
func TestPeriodOfACast(t *testing.T) {
	t.Parallel()
	engines := []harness.Engine{harness.SQLiteFile, harness.PgxDefault, harness.PgxSimple, harness.PQDefault, harness.MySQLDefault,
		{Name: "mysql-tokyo", Driver: "mysql", Dialect: harness.MySQLDefault.Dialect, Server: harness.MariaDB, Params: "loc=Asia%2FTokyo&interpolateParams=true"}}
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (no VARCHAR(30) NOT NULL PRIMARY KEY, issued_on DATE, a INT)")
		db, _ := s.Open(t, periodic("{year}-{n:05}", "joined", func(src *policy.Source) { src.Period.Column = "issued_on" }))
		if s.Dialect.LooseTypes {
			for _, value := range []string{"CAST('2025-12-31' AS date)", "CAST(? AS date)"} {
				if _, err := db.Exec("INSERT INTO t (issued_on, a) VALUES ("+value+", 1)", []any{"2025-12-31"}[:strings.Count(value, "?")]...); !errors.Is(err, rewrite.ErrScope) {
					t.Errorf("%s: %v", value, err)
				}
			}
			return
		}
		forms := []string{"CAST(? AS date)"}
		literals := []string{"DATE '2025-12-31'", "CAST('2026-01-01' AS DATE)", "date'2027-06-01'"}
		if s.IsPostgres() {
			forms, literals = append(forms, "?::date"), append(literals, "'2024-12-31'::date")
		}
		rows := 0
		for _, form := range forms {
			query := s.Placeholders("INSERT INTO t (a, issued_on) VALUES (?, " + form + ")")
			for _, at := range []any{
				"2025-12-31", "2026-01-01", time.Date(2025, 12, 31, 23, 30, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 30, 0, 0, time.FixedZone("", 9*3600)),
				time.Date(2025, 12, 31, 12, 0, 0, 0, time.FixedZone("", -11*3600)),
			} {
				harness.Exec(t, db, query, rows, at)
				rows++
			}
			for _, wrong := range []any{"2025-12-31 23:30:00", "20251231", nil} {
				if _, err := db.Exec(query, 0, wrong); err == nil {
					t.Errorf("%s is filled with %v", form, wrong)
				}
			}
		}
		for _, literal := range literals {
			harness.Exec(t, db, "INSERT INTO t (a, issued_on) VALUES (1, "+literal+")")
			rows++
		}
		for _, other := range []string{"CAST('2025-12-31' AS CHAR)", "CAST(CAST('2025-12-31' AS DATE) AS DATE)", "DATE '2025-12-31' + INTERVAL '1' DAY"} {
			if _, err := db.Exec("INSERT INTO t (a, issued_on) VALUES (1, " + other + ")"); !errors.Is(err, rewrite.ErrScope) {
				t.Errorf("%s: %v", other, err)
			}
		}
		years := "SELECT COUNT(*) FROM t WHERE SUBSTR(no, 1, 4) = SUBSTR(CAST(issued_on AS CHAR(10)), 1, 4)"
		if n := harness.CountInt(t, s.Raw, years); n != int64(rows) {
			t.Errorf("%d of %d numbers are of the years of their dates: %v", n, rows, harness.RowsOf(t, s.Raw, "SELECT no, issued_on FROM t ORDER BY no"))
		}
	})
}

// TestPeriodUnread: a row that was set back is an error that says so, or goes on above the
// numbers that have committed, where the greatest number cannot be read from the texts.
func TestPeriodUnread(t *testing.T) {
	t.Parallel()
	eachPeriodMode(t, func(t *testing.T, s *harness.Scratch, mode string) {
		for _, advances := range []bool{false, true} {
			db, _ := s.Open(t, periodic("{year}-{n}", mode, func(src *policy.Source) {
				src.Period.Column = "issued_on"
				if advances {
					src.OnStoreRollback = "advance"
				}
			}))
			place := s.Placeholders("INSERT INTO t (issued_on, a) VALUES (?, ?)")
			for range 3 {
				harness.Exec(t, db, place, "2025-01-01", 1)
			}
			harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = next_value - 2 WHERE name = 't.no[2025]'")
			_, err := db.Exec(place, "2025-01-01", 1)
			if advances && err != nil || !advances && !errors.Is(err, store.ErrBack) {
				t.Errorf("advances: %v: %v", advances, err)
			}
			harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = 20 WHERE name = 't.no[2025]'")
		}
	})
}

// TestNumbersOfOneColumn: where the numbers of several values stand in one column, the second
// value is told to say exclusive, and not which value was first; brackets, with which a
// value would have the name of a period's row, are an error that says so.
func TestNumbersOfOneColumn(t *testing.T) {
	t.Parallel()
	harness.Each(t, numberEngines, func(t *testing.T, s *harness.Scratch) {
		createNumbers(t, s)
		open := func(exclusive bool) func(tenant string) error {
			db, _ := s.Open(t, periodic("{value:tenant}/{year}-{n:03}", "joined", func(src *policy.Source) {
				src.Name, src.Exclusive, src.Create = "inv-{value:tenant}", exclusive, new(true)
			}))
			return func(tenant string) error {
				_, err := db.ExecContext(keyfill.WithValue(context.Background(), "tenant", tenant), "INSERT INTO t (a) VALUES (1)")
				return err
			}
		}
		insert := open(false)
		if err := insert("acme"); err != nil {
			t.Fatal(err)
		}
		if err := insert("zeta"); !errors.Is(err, store.ErrTakenByValue) || strings.Contains(err.Error(), "acme") {
			t.Errorf("a second value: %v", err)
		}
		insert = open(true)
		for _, tenant := range []string{"zeta", "acme", "a[1]b"} {
			if err := insert(tenant); err != nil {
				t.Errorf("exclusive, %s: %v", tenant, err)
			}
		}
		if err := insert(fmt.Sprintf("acme[%d]", time.Now().UTC().Year())); err == nil || !strings.Contains(err.Error(), "give values without brackets") {
			t.Errorf("a value as a period's row has it: %v", err)
		}
	})
}
