package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// invoices returns the policy for invoices whose numbers begin again each year, without gaps.
func invoices(change func(*policy.Source)) *policy.Config {
	src := harness.JoinedSource()
	src.Format, src.Period = "INV-{year}-{n:05}", policy.Period{Every: policy.PeriodYear}
	if change != nil {
		change(src)
	}
	return &policy.Config{Tables: map[string]policy.Table{"invoices": {Column: "number", InPlace: src}}}
}

func createInvoices(t *testing.T, s *harness.Scratch) {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE invoices (number VARCHAR(30) NOT NULL PRIMARY KEY, issued_on DATE, branch INT)")
}

// wantInvoices checks that the numbers of each year are from 1 on without a gap, that each is
// in a row of that year, and that there are as many as were committed.
func wantInvoices(t *testing.T, s *harness.Scratch, committed int64) {
	t.Helper()
	rows, err := s.Raw.Query("SELECT number, SUBSTR(CAST(issued_on AS CHAR(10)), 1, 4) FROM invoices ORDER BY number")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	next, all := map[string]int{}, int64(0)
	for rows.Next() {
		var number string
		var year sql.NullString
		if err := rows.Scan(&number, &year); err != nil {
			t.Fatal(err)
		}
		if !year.Valid {
			year.String = number[len("INV-"):len("INV-2026")]
		}
		next[year.String]++
		all++
		if want := fmt.Sprintf("INV-%s-%05d", year.String, next[year.String]); number != want {
			t.Fatalf("%s is in place of %s", number, want)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if all != committed || len(next) < 2 {
		t.Errorf("%d invoices of %d years are stored, and %d were committed", all, len(next), committed)
	}
}

// inserter is a connection or a transaction.
type inserter interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// crowd lets 8 goroutines in two processes insert, a third of them in transactions that are
// rolled back, and returns how many rows were committed. insert inserts rows of a year, and
// returns how many. The years of a transaction ascend. With make soak there are ten times as
// many transactions.
func crowd(t *testing.T, s *harness.Scratch, o keyfill.Options, insert func(ctx context.Context, x inserter, year int) (int64, error)) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Limit)
	defer cancel()
	rounds := 25
	if harness.Soaking() {
		rounds = 250
	}
	var wg sync.WaitGroup
	var committed atomic.Int64
	for range 2 {
		db, _ := s.OpenWith(t, o)
		db.SetMaxOpenConns(4)
		once := func() error {
			conn, err := db.Conn(ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
			year := 2025 + rand.IntN(3)
			if rand.IntN(3) == 0 {
				n, err := insert(ctx, conn, year)
				if err == nil {
					committed.Add(n)
				}
				return err
			}
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			all := int64(0)
			for range 1 + rand.IntN(2) {
				n, err := insert(ctx, tx, year)
				if err != nil {
					return err
				}
				all += n
				year += rand.IntN(2)
			}
			if rand.IntN(2) == 0 {
				return errUndone
			}
			if err = tx.Commit(); err == nil {
				committed.Add(all)
			}
			return err
		}
		for range 4 {
			wg.Go(func() {
				for range rounds {
					if err := once(); err != nil && !errors.Is(err, errUndone) {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	return committed.Load()
}

var crowdEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}

// TestPeriodCrowdByColumn: the invoices of each year have the numbers from 1 on without a gap,
// although a third of them are rolled back and dates come in any order. No transaction fails
// for a deadlock.
func TestPeriodCrowdByColumn(t *testing.T) {
	t.Parallel()
	harness.Each(t, crowdEngines, func(t *testing.T, s *harness.Scratch) {
		createInvoices(t, s)
		o := keyfill.Options{Policy: invoices(func(src *policy.Source) { src.Period.Column = "issued_on" })}
		wantInvoices(t, s, crowd(t, s, o, func(ctx context.Context, x inserter, year int) (int64, error) {
			b := s.Builder()
			b.WriteString("INSERT INTO invoices (branch, issued_on) VALUES ")
			n := 1 + rand.IntN(3)
			for i := range n {
				fmt.Fprintf(b, "%s(%d, %s)", []string{"", ", "}[min(i, 1)], i, b.Bind(fmt.Sprintf("%d-06-01", year)))
			}
			_, err := x.ExecContext(ctx, b.String(), b.Args...)
			return int64(n), err
		}))
	})
}

// TestPeriodCrowdByClock: while clocks go over the ends of years, no number is of a wrong
// year. On MariaDB and PostgreSQL each session has a clock of its own. On SQLite the process has
// the clock, and it goes forward by a year twice.
func TestPeriodCrowdByClock(t *testing.T) {
	t.Parallel()
	harness.Each(t, crowdEngines, func(t *testing.T, s *harness.Scratch) {
		createInvoices(t, s)
		at := func(year int) time.Time { return time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }
		var inserts atomic.Int64
		now := func() time.Time { return at(2025 + int(min(inserts.Load()/60, 2))) }
		if s.IsPostgres() {
			movePostgresClock(t, s)
		}
		n := crowd(t, s, keyfill.Options{Policy: invoices(nil), Now: now}, func(ctx context.Context, x inserter, year int) (int64, error) {
			if s.Server == nil {
				before, number := now().Year(), ""
				err := x.QueryRowContext(ctx, "INSERT INTO invoices (branch) VALUES (1) RETURNING number").Scan(&number)
				inserts.Add(1)
				if got, _ := strconv.Atoi(number[min(len("INV-"), len(number)):min(len("INV-2026"), len(number))]); err == nil && (got < before || got > now().Year()) {
					t.Errorf("%s was drawn from %d to %d", number, before, now().Year())
				}
				return 1, err
			}
			clock := fmt.Sprintf("SET timestamp = %d", at(year).Unix())
			if s.IsPostgres() {
				clock = fmt.Sprintf("SET test.now = '%s'", at(year).Format(time.RFC3339))
			}
			if _, err := x.ExecContext(ctx, clock); err != nil {
				return 0, err
			}
			_, err := x.ExecContext(ctx, fmt.Sprintf("INSERT INTO invoices (issued_on) VALUES ('%d-06-01')", year))
			return 1, err
		})
		wantInvoices(t, s, n)
	})
}

// movePostgresClock lets SET test.now move the clock of sessions: it puts another function
// statement_timestamp before PostgreSQL's, whose clock cannot be moved.
func movePostgresClock(t *testing.T, s *harness.Scratch) {
	t.Helper()
	harness.Must(t, s.Raw,
		`CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS
			$$ SELECT COALESCE(CAST(NULLIF(current_setting('test.now', true), '') AS timestamptz), pg_catalog.statement_timestamp()) $$`,
		fmt.Sprintf("ALTER DATABASE %s SET search_path = public, pg_catalog", harness.DatabaseOf(t, s)))
}

// TestPeriodClockMoves: the number is of the period in which the clock stands when the INSERT
// begins, at its ends to the second, and for a zone and a fiscal year.
func TestPeriodClockMoves(t *testing.T) {
	t.Parallel()
	cases := []struct {
		period policy.Period
		format string
		at     string // in UTC
		want   string
	}{
		{policy.Period{Every: "year"}, "{year}-{n}", "2025-12-31T23:59:59Z", "2025-1"},
		{policy.Period{Every: "year"}, "{year}-{n}", "2026-01-01T00:00:00Z", "2026-1"},
		{policy.Period{Every: "year"}, "{year}-{n}", "2025-12-31T23:59:59Z", "2025-2"},
		{policy.Period{Every: "year", Zone: "Europe/Berlin"}, "B{year}-{n}", "2025-12-31T22:59:59Z", "B2025-1"},
		{policy.Period{Every: "year", Zone: "Europe/Berlin"}, "B{year}-{n}", "2025-12-31T23:00:00Z", "B2026-1"},
		{policy.Period{Every: "year", Starts: "04-01", Zone: "Asia/Kolkata"}, "F{fy}/{n}", "2026-03-31T18:29:59Z", "F2025-26/1"},
		{policy.Period{Every: "year", Starts: "04-01", Zone: "Asia/Kolkata"}, "F{fy}/{n}", "2026-03-31T18:30:00Z", "F2026-27/1"},
		{policy.Period{Every: "month"}, "M{yy}{month:02}{n:03}", "2024-02-29T23:59:59Z", "M2402001"},
		{policy.Period{Every: "month"}, "M{yy}{month:02}{n:03}", "2024-03-01T00:00:00Z", "M2403001"},
		{policy.Period{Every: "quarter"}, "{year}Q{quarter}-{n}", "2025-09-30T23:59:59Z", "2025Q3-1"},
		{policy.Period{Every: "quarter"}, "{year}Q{quarter}-{n}", "2025-10-01T00:00:00Z", "2025Q4-1"},
		{policy.Period{Every: "day", Zone: "America/New_York"}, "{year}{month:02}{day:02}/{n}", "2025-03-09T04:59:59Z", "20250308/1"},
		{policy.Period{Every: "day", Zone: "America/New_York"}, "{year}{month:02}{day:02}/{n}", "2025-03-09T05:00:00Z", "20250309/1"},
		{policy.Period{Every: "day", Zone: "America/New_York"}, "{year}{month:02}{day:02}/{n}", "2025-03-10T04:00:00Z", "20250310/1"},
		{policy.Period{Every: "day", Zone: "Europe/Berlin"}, "E{year}{month:02}{day:02}/{n}", "2026-10-25T00:30:00Z", "E20261025/1"}, // 02:30
		{policy.Period{Every: "day", Zone: "Europe/Berlin"}, "E{year}{month:02}{day:02}/{n}", "2026-10-25T01:30:00Z", "E20261025/2"}, // 02:30 again
		{policy.Period{Every: "day", Zone: "Europe/Berlin"}, "E{year}{month:02}{day:02}/{n}", "2026-10-25T22:59:59Z", "E20261025/3"},
		{policy.Period{Every: "day", Zone: "Europe/Berlin"}, "E{year}{month:02}{day:02}/{n}", "2026-10-25T23:00:00Z", "E20261026/1"},
		{policy.Period{Every: "day", Zone: "Australia/Lord_Howe"}, "L{year}{month:02}{day:02}/{n}", "2026-04-04T13:00:00Z", "L20260405/1"},
		{policy.Period{Every: "day", Zone: "Australia/Lord_Howe"}, "L{year}{month:02}{day:02}/{n}", "2026-04-05T13:29:59Z", "L20260405/2"}, // half an hour more
		{policy.Period{Every: "day", Zone: "Australia/Lord_Howe"}, "L{year}{month:02}{day:02}/{n}", "2026-04-05T13:30:00Z", "L20260406/1"},
		{policy.Period{Every: "day", Zone: "Australia/Lord_Howe"}, "L{year}{month:02}{day:02}/{n}", "2026-04-05T13:29:59Z", "L20260405/3"}, // the clock goes back
		{policy.Period{Every: "year", Zone: "Pacific/Kiritimati"}, "K{year}-{n}", "2025-12-31T10:00:00Z", "K2026-1"},
		{policy.Period{Every: "year", Zone: "Etc/GMT+12"}, "W{year}-{n}", "2026-01-01T11:59:59Z", "W2025-1"},
	}
	harness.Each(t, crowdEngines, func(t *testing.T, s *harness.Scratch) {
		if s.IsPostgres() {
			movePostgresClock(t, s)
		}
		for _, mode := range []func(*policy.Source){nil, func(src *policy.Source) { src.Transaction, src.Block = "", 1 }} {
			createInvoices(t, s)
			var now atomic.Int64
			dbs := map[string]*sql.DB{}
			for i, c := range cases {
				if mode != nil && s.Server != nil {
					break // the clock of keyfill's own connections is not moved
				}
				at, err := time.Parse(time.RFC3339, c.at)
				if err != nil {
					t.Fatal(err)
				}
				now.Store(at.Unix())
				if dbs[c.format] == nil {
					harness.Must(t, s.Raw, "DELETE FROM invoices")
					_, _ = s.Raw.Exec("DELETE FROM keyfill_sequences")
					dbs[c.format], _ = s.OpenWith(t, keyfill.Options{
						Now: func() time.Time { return time.Unix(now.Load(), 0).UTC() },
						Policy: invoices(func(src *policy.Source) {
							src.Format, src.Period = c.format, c.period
							if mode != nil {
								mode(src)
							}
						}),
					})
				}
				conn := harness.ConnOf(t, dbs[c.format])
				ctx := context.Background()
				switch {
				case s.IsPostgres():
					_, err = conn.ExecContext(ctx, fmt.Sprintf("SET test.now = '%s'", c.at))
				case s.Server != nil:
					_, err = conn.ExecContext(ctx, fmt.Sprintf("SET timestamp = %d", at.Unix()))
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := conn.ExecContext(ctx, fmt.Sprintf("INSERT INTO invoices (branch) VALUES (%d)", i)); err != nil {
					t.Fatal(err)
				}
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}
				if got := harness.KeysOf(t, s.Raw, ctx, fmt.Sprintf("SELECT number FROM invoices WHERE branch = %d", i)); !slices.Equal(got, []string{c.want}) {
					t.Errorf("%+v at %s: stored %v, want %s", c.period, c.at, got, c.want)
				}
			}
			harness.Exec(t, s.Raw, "DROP TABLE invoices")
			_, _ = s.Raw.Exec("DELETE FROM keyfill_sequences")
		}
	})
}
