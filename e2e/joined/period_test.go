package joined_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/scope"
	"github.com/keyfill/keyfill/keysource"
)

// periodEngines are the engines on which numbers by period are tried.
var periodEngines = slices.Concat([]harness.Engine{harness.SQLiteFile}, harness.MySQLEngines, harness.PostgresModes)

// periods is a database in which numbers of each year are drawn.
type periods struct {
	*harness.Scratch
	own *store.Store // on connections of keyfill's own
}

// periodsOf makes the tables.
func periodsOf(t *testing.T, s *harness.Scratch) *periods {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE invoices (id BIGINT PRIMARY KEY, number VARCHAR(40), branch VARCHAR(20))")
	p := &periods{s, harness.StoreOf(t, s)}
	if err := schema.Of(p.own).Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// numbering returns the numbering as one process has it.
func (p *periods) numbering(t *testing.T, template string, within ...string) *scope.Scope {
	t.Helper()
	c, err := calendar.New(calendar.Year, "", "")
	if err != nil {
		t.Fatal(err)
	}
	q := &scope.Scope{
		Name: "invoices.number", Column: store.Column{Table: "invoices", Name: "number"}, Within: within,
		Periods: &scope.Periods{Calendar: c, Template: template, Column: "issued_on"},
	}
	if p.Server != nil {
		q.Latest = p.own
	}
	return q
}

// year returns the period of a year.
func year(t testing.TB, q *scope.Scope, name string) *calendar.Period {
	t.Helper()
	p, err := q.Periods.Calendar.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// session is a connection of the application.
type session struct {
	t    testing.TB
	conn driver.Conn
	at   *store.Store // in the open transaction
}

// session opens a connection.
func (p *periods) session(t testing.TB) *session {
	t.Helper()
	conn, err := p.Connector.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &session{t, conn, store.Within(p.Dialect, conn)}
}

// exec executes statements.
func (s *session) exec(queries ...string) {
	s.t.Helper()
	for _, query := range queries {
		if err := s.try(query); err != nil {
			s.t.Fatalf("%s: %v", query, err)
		}
	}
}

// try executes a statement.
func (s *session) try(query string) error {
	_, err := s.at.Conn.Exec(context.Background(), query, nil)
	return err
}

// draw reserves n numbers in the open transaction.
func (s *session) draw(q *scope.Scope, given *calendar.Period, n int64, values ...any) (scope.Taken, error) {
	return scope.New(s.at, q).ReservePeriod(context.Background(), values, given, n)
}

// want draws n numbers, and compares the first.
func (s *session) want(q *scope.Scope, given *calendar.Period, n, first int64, values ...any) scope.Taken {
	s.t.Helper()
	got, err := s.draw(q, given, n, values...)
	if err != nil || got.First != first {
		s.t.Fatalf("draw: %+v, %v; want %d", got, err, first)
	}
	return got
}

// rows returns the rows of periods: the names without the state's, next values and templates.
func (p *periods) rows(t *testing.T, q *scope.Scope) string {
	t.Helper()
	var all []string
	err := scope.New(p.own, q).EachPeriod(t.Context(), func(r scope.PeriodRow) error {
		closed := map[bool]string{true: "closed "}[r.Closed]
		all = append(all, fmt.Sprintf("%s%s=%d%s", closed, strings.TrimPrefix(r.Name, q.Name), r.Next, strings.TrimSuffix(" "+r.Template, " ")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, ", ")
}

// TestPeriod: numbers begin with 1 in each period and for each parent, and go back with
// their transaction. The rows of the next periods are made beforehand, where there is a
// connection for that.
func TestPeriod(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.numbering(t, "INV-{year}-{n:05}", "branch")
		in2025, in2026 := year(t, q, "2025"), year(t, q, "2026")
		c := p.session(t)
		c.exec("BEGIN")
		c.want(q, in2025, 2, 1, "north")
		c.want(q, in2025, 1, 3, "north")
		c.want(q, in2026, 1, 1, "north")
		c.want(q, in2025, 1, 1, "it's")
		c.exec("COMMIT", "BEGIN")
		c.want(q, in2025, 5, 4, "north")
		c.want(q, in2025, 5, 1, "south")
		c.exec("ROLLBACK", "BEGIN")
		got := c.want(q, in2025, 1, 4, "north")
		c.exec("COMMIT")
		if got.Row != "invoices.number['north',2025]" || got.Period != *in2025 || got.Server == "" {
			t.Errorf("%+v", got)
		}
		const template = " INV-{year}-{n:05}"
		want := "['it''s',2025]=2" + template + ", ['it''s',2026]=1, ['north',2025]=5" + template + ", ['north',2026]=2" + template + ", ['north',2027]=1, ['south',2025]=1, ['south',2026]=1"
		if p.Server == nil {
			want = "['it''s',2025]=2" + template + ", ['north',2025]=5" + template + ", ['north',2026]=2" + template
		}
		if got := p.rows(t, q); got != want {
			t.Errorf("the rows are\n%s, want\n%s", got, want)
		}
		for _, r := range harness.IntegersOf(t, s.Raw, "SELECT COUNT(*) FROM keyfill_sequences WHERE table_name = '' AND column_name = '' AND parameters LIKE 'scope of one parent%'") {
			if n := strings.Count(want, "="); r != int64(n) {
				t.Errorf("%d rows have the form of a parent's, want %d", r, n)
			}
		}
	})
}

// TestPeriodTemplate: all numbers of a period are written with the template that the process
// had which drew the first of them and has committed.
func TestPeriodTemplate(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		old, new := p.numbering(t, "A-{year}-{n}"), p.numbering(t, `B"{year}\{n}`)
		in2025, in2026 := year(t, old, "2025"), year(t, old, "2026")
		a, b := p.session(t), p.session(t)
		wrote := func(got scope.Taken, want string) {
			t.Helper()
			if got.Template != want {
				t.Errorf("%d is written with %q, want %q", got.First, got.Template, want)
			}
		}
		a.exec("BEGIN")
		wrote(a.want(old, in2025, 1, 1), old.Periods.Template)
		wrote(a.want(new, in2025, 1, 2), old.Periods.Template)
		a.exec("ROLLBACK")
		b.exec("BEGIN")
		wrote(b.want(new, in2025, 1, 1), new.Periods.Template)
		b.exec("COMMIT")
		a.exec("BEGIN")
		wrote(a.want(old, in2025, 1, 2), new.Periods.Template)
		wrote(a.want(old, in2026, 1, 1), old.Periods.Template)
		a.exec("COMMIT")
		b.exec("BEGIN")
		wrote(b.want(new, in2026, 1, 2), old.Periods.Template)
		b.exec("COMMIT")
		plain := p.numbering(t, "")
		a.exec("BEGIN")
		wrote(a.want(plain, in2026, 1, 3), old.Periods.Template)
		a.exec("COMMIT")
	})
}

// TestPeriodFirstTemplate: two transactions with different templates draw the first number
// of a period at once; one waits for the other, and its template is the one that counts if
// the other is rolled back.
func TestPeriodFirstTemplate(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		old, new := p.numbering(t, "A{n}"), p.numbering(t, "B{n}")
		for i, end := range []string{"ROLLBACK", "COMMIT"} {
			in := year(t, old, fmt.Sprint(2025+10*i))
			a, b := p.session(t), p.session(t)
			a.exec("BEGIN")
			b.exec("BEGIN")
			a.want(old, in, 1, 1)
			done := make(chan scope.Taken, 1)
			go func() {
				got, err := b.draw(new, in, 1)
				if err != nil {
					t.Error(err)
				}
				done <- got
			}()
			p.waitForLock(t)
			a.exec(end)
			got := <-done
			b.exec("COMMIT")
			want := scope.Taken{Reservation: keysource.Reservation{First: 1}, Template: "B{n}"}
			if end == "COMMIT" {
				want = scope.Taken{Reservation: keysource.Reservation{First: 2}, Template: "A{n}"}
			}
			if got.First != want.First || got.Template != want.Template {
				t.Errorf("%s: %+v, want %+v", end, got, want)
			}
		}
	})
}

// waitForLock waits until a session waits for a lock.
func (p *periods) waitForLock(t testing.TB) {
	t.Helper()
	// Only a session that waits is seen to execute the query that locks. innodb_trx, which says
	// more, shows old states while it is read often.
	query := "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command <> 'Sleep' AND id <> CONNECTION_ID() AND info LIKE '%FOR UPDATE'"
	if p.IsPostgres() {
		query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	}
	deadline := time.Now().Add(harness.Limit)
	for harness.CountInt(t, p.Raw, query) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no session waits for a lock")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestPeriodFirstAtOnce: transactions that need the first numbers of periods at the same time
// do not fail, under READ COMMITTED, and on MariaDB under REPEATABLE READ too. Their numbers
// have no gap and no double.
func TestPeriodFirstAtOnce(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		levels := []string{"READ COMMITTED", "REPEATABLE READ"}
		if p.IsPostgres() {
			levels = levels[:1]
		}
		begin := []string{"BEGIN"}
		for round, level := range levels {
			if p.Server != nil {
				begin = []string{"SET TRANSACTION ISOLATION LEVEL " + level, "BEGIN"}
			}
			if p.IsPostgres() {
				begin = []string{"BEGIN ISOLATION LEVEL " + level}
			}
			const processes, years = 6, 8
			var mu sync.Mutex
			drawn := map[string][]int64{}
			var all sync.WaitGroup
			for range processes {
				q := p.numbering(t, "{year}-{n}", "branch") // each process has its own memory
				c := p.session(t)
				all.Go(func() {
					for n := range years {
						in := year(t, q, fmt.Sprint(2000+20*round+n))
						if err := c.tryAll(begin...); err != nil {
							t.Error(err)
							return
						}
						got, err := c.draw(q, in, 1, "north")
						if err == nil {
							err = c.try("COMMIT")
						}
						if err != nil {
							t.Errorf("%s: %v", level, err)
							return
						}
						mu.Lock()
						drawn[in.Name] = append(drawn[in.Name], got.First)
						mu.Unlock()
					}
				})
			}
			all.Wait()
			for name, numbers := range drawn {
				slices.Sort(numbers)
				if !slices.Equal(numbers, harness.UpTo(processes)) {
					t.Errorf("%s: the numbers of %s are %d", level, name, numbers)
				}
			}
			if len(drawn) != years {
				t.Errorf("%s: numbers of %d years, want %d", level, len(drawn), years)
			}
		}
	})
}

// tryAll executes statements.
func (s *session) tryAll(queries ...string) error {
	for _, query := range queries {
		if err := s.try(query); err != nil {
			return err
		}
	}
	return nil
}

// TestPeriodSnapshot: under REPEATABLE READ a transaction whose snapshot is older than the
// row of a period fails on PostgreSQL with 40001, for which programs begin transactions
// again; with a row that is older it does not fail. On MariaDB it never does.
func TestPeriodSnapshot(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.numbering(t, "{year}-{n}")
		begin := []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "BEGIN", "SELECT COUNT(*) FROM keyfill_sequences"}
		if p.IsPostgres() {
			begin = []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT COUNT(*) FROM keyfill_sequences"}
		}
		c := p.session(t)
		c.exec(begin...)
		got, err := c.draw(q, year(t, q, "2025"), 1)
		if p.IsPostgres() {
			if err == nil || !strings.Contains(err.Error(), "40001") && !strings.Contains(err.Error(), "could not serialize") {
				t.Errorf("a row younger than the snapshot: %+v, %v", got, err)
			}
		} else if err != nil || got.First != 1 {
			t.Errorf("a row younger than the snapshot: %+v, %v", got, err)
		}
		c.exec("ROLLBACK")
		for _, name := range []string{"2025", "2026"} { // the second one was made beforehand
			c.exec(begin...)
			c.want(q, year(t, q, name), 1, 1)
			c.exec("ROLLBACK")
		}
	})
}

// TestPeriodAlone: numbers that are drawn outside of transactions, one at a time, are
// committed at once.
func TestPeriodAlone(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		const processes, each = 4, 25
		var mu sync.Mutex
		var numbers []int64
		var all sync.WaitGroup
		for range processes {
			q := p.numbering(t, "{year}-{n}")
			in := year(t, q, "2025")
			rows := scope.New(p.own, q)
			all.Go(func() {
				for range each {
					got, err := rows.ReservePeriod(context.Background(), nil, in, 1)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					numbers = append(numbers, got.First)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		slices.Sort(numbers)
		if !slices.Equal(numbers, harness.UpTo(processes*each)) {
			t.Errorf("the numbers are %d", numbers)
		}
	})
}

// TestPeriodGreatest: a new row begins above the greatest number in use, a row that was
// deleted too; a number in use is found again, and the row raised above it.
func TestPeriodGreatest(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.numbering(t, "{year}-{n}", "branch")
		asked := 0
		inUse := int64(41)
		q.Periods.Greatest = func(_ context.Context, _ *store.Store, values []any, in calendar.Period) (int64, error) {
			asked++
			if in.Name != "2025" || values[0] != "north" {
				return 0, nil
			}
			return inUse, nil
		}
		in := year(t, q, "2025")
		c := p.session(t)
		c.exec("BEGIN")
		c.want(q, in, 1, 42, "north")
		c.want(q, in, 1, 1, "south")
		c.exec("COMMIT")
		before := asked
		c.exec("BEGIN")
		c.want(q, in, 1, 43, "north")
		c.exec("COMMIT")
		if asked != before {
			t.Error("the greatest number is asked for although the row is there")
		}
		harness.Exec(t, s.Raw, "DELETE FROM keyfill_sequences")
		inUse = 43
		c.exec("BEGIN")
		c.want(q, in, 1, 44, "north")
		inUse = 100
		rows := scope.New(c.at, q)
		if got, behind, err := rows.ReservePeriodAbove(t.Context(), []any{"north"}, in, 1, keysource.RemedyError); !errors.Is(err, keysource.ErrStoreBehind) || !behind || got.First != 0 {
			t.Errorf("%+v, %t, %v", got, behind, err)
		}
		if got, behind, err := rows.ReservePeriodAbove(t.Context(), []any{"north"}, in, 1, keysource.RemedyWarn); err != nil || behind || got.First != 46 {
			t.Errorf("%+v, %t, %v", got, behind, err)
		}
		if got, behind, err := rows.ReservePeriodAbove(t.Context(), []any{"north"}, in, 2, keysource.RemedyAdvance); err != nil || !behind || got.First != 101 {
			t.Errorf("%+v, %t, %v", got, behind, err)
		}
		if got, behind, err := rows.ReservePeriodAbove(t.Context(), []any{"north"}, in, 1, keysource.RemedyAdvance); err != nil || behind || got.First != 103 {
			t.Errorf("%+v, %t, %v", got, behind, err)
		}
		for _, next := range []int64{500, 200} { // a row is never lowered
			if err := rows.RaisePeriod(t.Context(), []any{"north"}, *in, next); err != nil {
				t.Fatal(err)
			}
		}
		c.want(q, in, 1, 500, "north")
		if err := rows.RaisePeriod(t.Context(), []any{"new"}, *in, 7); err != nil {
			t.Fatal(err)
		}
		c.want(q, in, 1, 7, "new")
		c.exec("COMMIT")
		q.Max = 501
		c.exec("BEGIN")
		c.want(q, in, 1, 501, "north")
		if _, err := c.draw(q, in, 1, "north"); !errors.Is(err, keysource.ErrExhausted) {
			t.Errorf("after the last number: %v", err)
		}
		c.exec("ROLLBACK")
	})
}
