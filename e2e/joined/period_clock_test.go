package joined_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// serverEngines are the engines of periodEngines that have a server, and so a clock.
var serverEngines = periodEngines[1:]

// clocked returns a session whose server's clock can be moved by moveClock. On PostgreSQL,
// whose clock cannot be moved, another function statement_timestamp is found first.
func (p *periods) clocked(t testing.TB) *session {
	t.Helper()
	c := p.session(t)
	if p.IsPostgres() {
		c.exec("SET search_path = public, pg_catalog")
		_ = c.try(`CREATE OR REPLACE FUNCTION public.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS
			$$ SELECT COALESCE(CAST(NULLIF(current_setting('test.now', true), '') AS timestamptz), pg_catalog.statement_timestamp()) $$`)
	}
	return c
}

// moveClock sets the server's clock for a session; the clock stands still then.
func (p *periods) moveClock(t testing.TB, c *session, to string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, to)
	if err != nil {
		t.Fatal(err)
	}
	if p.IsPostgres() {
		c.exec("SET test.now = '" + to + "'")
	} else {
		c.exec(fmt.Sprintf("SET timestamp = %d.%06d", at.Unix(), at.Nanosecond()/1000))
	}
}

// byClock returns a numbering of years of a zone by the clock, in a process that takes the
// server's clock to stand at a time.
func (p *periods) byClock(t *testing.T, zone string, expected time.Time) *scope.Scope {
	t.Helper()
	q := p.numbering(t, "{year}-{n}")
	c, err := calendar.New(calendar.Year, "", zone)
	if err != nil {
		t.Fatal(err)
	}
	q.Periods.Calendar, q.Periods.Column = c, ""
	now := time.Now()
	q.Periods.Now = func() time.Time { return now }
	if p.Server != nil {
		// The process asks for the server's time once, and then its own clock jumps. It makes
		// rows of another state meanwhile.
		own := q.Name
		q.Name = "other"
		if err := scope.New(p.own, q).EnsurePeriod(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		q.Name = own
	}
	now = expected
	return q
}

// TestPeriodClockWrong: a process whose clock is wrong makes no row for a period in which the
// server's clock does not stand.
func TestPeriodClockWrong(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.byClock(t, "", time.Time{})
		q.Periods = &scope.Periods{Calendar: q.Periods.Calendar, Now: func() time.Time { return time.Unix(0, 0) }}
		c := p.session(t)
		c.exec("BEGIN")
		got := c.want(q, nil, 1, 1)
		c.exec("COMMIT")
		next, err := q.Periods.Calendar.Next(got.Period)
		if err != nil || got.Period.Name == "1970" {
			t.Fatal(got, err)
		}
		if rows, want := p.rows(t, q), fmt.Sprintf("[%s]=2, [%s]=1", got.Period.Name, next.Name); rows != want {
			t.Errorf("the rows are %s, want %s", rows, want)
		}
	})
}

// TestPeriodClock: a number belongs to the period in which the server's clock stands when the
// statement begins that draws it, whatever the process's clock says and when the transaction
// began. A process whose clock is wrong learns the difference by one query.
func TestPeriodClock(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		c := p.clocked(t)
		sent := hook(c, nil)
		q := p.byClock(t, "Europe/Berlin", time.Date(2020, 6, 1, 0, 0, 0, 0, time.UTC))
		want := func(period string, first int64) {
			t.Helper()
			if got := c.want(q, nil, 1, first); got.Period.Name != period || got.Row != "invoices.number["+period+"]" {
				t.Errorf("a number of %s, want %s", got.Period.Name, period)
			}
		}
		p.moveClock(t, c, "2026-12-31T22:59:59.5Z")
		c.exec("BEGIN")
		want("2026", 1)
		*sent = nil
		want("2026", 2)
		draw := 1
		if !p.IsPostgres() {
			draw = 2
		}
		if len(*sent) != draw {
			t.Errorf("a draw is %d statements, want %d: %q", len(*sent), draw, *sent)
		}
		for _, step := range []struct {
			at, period string
			first      int64
		}{
			{"2026-12-31T22:59:59.999999Z", "2026", 3},
			{"2026-12-31T23:00:00Z", "2027", 1},
			{"2026-12-31T23:00:00Z", "2027", 2},
			{"2026-12-31T22:59:59.999999Z", "2026", 4},
			{"2027-12-31T22:59:59.999999Z", "2027", 3},
			{"2027-12-31T23:00:00.000001Z", "2028", 1},
		} {
			p.moveClock(t, c, step.at)
			want(step.period, step.first)
		}
		c.exec("COMMIT")
		c.exec("BEGIN")
		want("2028", 2)
		c.exec("ROLLBACK")
		const written = " {year}-{n}"
		if got, want := p.rows(t, q), "[2020]=1, [2021]=1, [2026]=5"+written+", [2027]=4"+written+", [2028]=2"+written+", [2029]=1"; got != want {
			t.Errorf("the rows are %s, want %s", got, want)
		}
	})
}

// hook calls before with each statement that a session sends, and notes them.
func hook(c *session, before func(query string)) *[]string {
	var sent []string
	c.at.Conn = hooked{c.at.Conn, func(query string) {
		sent = append(sent, query)
		if before != nil {
			before(query)
		}
	}}
	return &sent
}

// hooked is a connection on which something happens before each statement.
type hooked struct {
	store.Conn
	before func(query string)
}

func (h hooked) Exec(ctx context.Context, query string, args []any) (int64, error) {
	h.before(query)
	return h.Conn.Exec(ctx, query, args)
}

func (h hooked) Query(ctx context.Context, query string, args []any) ([]any, error) {
	h.before(query)
	return h.Conn.Query(ctx, query, args)
}

// TestPeriodClockGoesOn: the clock goes on to the next period between two statements of a
// draw: between the one that locks the row and the one that changes it, between a draw that
// finds nothing and the question for the time, and between that and the next draw.
func TestPeriodClockGoesOn(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		plain := p.clocked(t)
		moved := ""
		for _, tt := range []struct {
			name, before string // a part of the statement before which the clock moves
			guess, at    string
			to, want     string
		}{
			{"before the draw", "keyfill_sequences", "2025-06-01T00:00:00Z", "2025-12-31T23:59:59.9Z", "2026-01-01T00:00:00Z", "2026"},
			{"before the change", "SET next_value", "2026-06-01T00:00:00Z", "2026-12-31T23:59:59.9Z", "2027-01-01T00:00:00Z", "2027"},
			{"before it is asked for", "SELECT DATE_FORMAT SELECT to_char", "2029-06-01T00:00:00Z", "2027-12-31T23:59:59.9Z", "2028-01-01T00:00:00Z", "2028"},
			{"after it is asked for", "next_value AFTER", "2031-06-01T00:00:00Z", "2028-12-31T23:59:59.9Z", "2029-01-01T00:00:00Z", "2029"},
		} {
			now, err := time.Parse(time.RFC3339, tt.guess)
			if err != nil {
				t.Fatal(err)
			}
			q := p.byClock(t, "", now)
			c := p.clocked(t)
			p.moveClock(t, c, tt.at)
			moved = ""
			asked := false
			hook(c, func(query string) {
				isAsking := strings.HasPrefix(query, "SELECT DATE_FORMAT") || strings.HasPrefix(query, "SELECT to_char")
				hit := strings.Contains(query, tt.before) || isAsking && strings.HasPrefix(tt.before, "SELECT DATE_FORMAT") || asked && strings.HasSuffix(tt.before, "AFTER")
				asked = asked || isAsking
				if moved == "" && hit && !strings.HasPrefix(query, "SET t") {
					moved = query
					p.moveClock(t, &session{t, c.conn, store.Within(p.Dialect, c.conn)}, tt.to)
				}
			})
			c.exec("BEGIN")
			got, err := c.draw(q, nil, 1)
			if err != nil || got.Period.Name != tt.want || got.First != 1 {
				t.Errorf("%s: %+v, %v, want a number of %s", tt.name, got, err, tt.want)
			}
			if moved == "" {
				t.Errorf("%s: the clock was not moved", tt.name)
			}
			c.exec("ROLLBACK")
		}
		_ = plain
	})
}

// TestPeriodClockWaits: a statement that waits for a lock over the end of a period draws a
// number of the period in which it began.
func TestPeriodClockWaits(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		now := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
		q := p.byClock(t, "", now)
		a, b := p.clocked(t), p.clocked(t)
		p.moveClock(t, a, "2026-12-31T23:59:59Z")
		p.moveClock(t, b, "2026-12-31T23:59:59Z")
		a.exec("BEGIN")
		b.exec("BEGIN")
		a.want(q, nil, 1, 1)
		done := make(chan scope.Taken, 1)
		go func() {
			got, err := b.draw(q, nil, 1)
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		p.waitForLock(t)
		p.moveClock(t, a, "2027-01-01T00:00:00Z")
		a.want(q, nil, 1, 1)
		a.exec("COMMIT")
		if got := <-done; got.Period.Name != "2026" || got.First != 2 {
			t.Errorf("%+v, want the second number of 2026", got)
		}
		b.exec("COMMIT")
	})
}

// TestPeriodClockUnlocked: a draw from a period in which the clock does not stand locks
// nothing, so that a statement that draws from several rows locks them in their order.
func TestPeriodClockUnlocked(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.byClock(t, "", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
		a, b := p.clocked(t), p.session(t)
		p.moveClock(t, a, "2026-12-31T23:59:59Z")
		a.exec("BEGIN")
		if got := a.want(q, nil, 1, 1); got.Period.Name != "2026" {
			t.Errorf("%+v", got)
		}
		b.exec("BEGIN")
		b.want(q, year(t, q, "2027"), 1, 1)
		b.exec("ROLLBACK")
		a.exec("ROLLBACK")
	})
}

// TestPeriodProcessClock: on SQLite the clock of the process counts.
func TestPeriodProcessClock(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		now := time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)
		q := p.byClock(t, "", now)
		q.Periods.Now = func() time.Time { return now }
		c := p.session(t)
		for _, want := range []string{"2026", "2027", "2027"} {
			c.exec("BEGIN")
			got, err := c.draw(q, nil, 1)
			if err != nil || got.Period.Name != want {
				t.Errorf("%+v, %v, want %s", got, err, want)
			}
			c.exec("COMMIT")
			now = now.Add(time.Second)
		}
		if got, want := p.rows(t, q), "[2026]=2 {year}-{n}, [2027]=3 {year}-{n}"; got != want {
			t.Errorf("the rows are %s, want %s", got, want)
		}
	})
}
