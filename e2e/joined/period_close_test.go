package joined_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// TestPeriodClose: a closed period gives no number until it is opened again, and then goes on
// where it stood.
func TestPeriodClose(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.numbering(t, "{n}")
		q.Start = 100
		rows := scope.New(p.own, q)
		in2024, in2025 := year(t, q, "2024"), year(t, q, "2025")
		turn := func(f func(context.Context, calendar.Period) (int, error), in calendar.Period, want int) {
			t.Helper()
			if n, err := f(t.Context(), in); n != want || err != nil {
				t.Fatalf("%s: %d, %v, want %d", in.Name, n, err, want)
			}
		}
		c := p.session(t)
		refused := func(in *calendar.Period) {
			t.Helper()
			c.exec("BEGIN")
			_, err := c.draw(q, in, 1)
			var e *store.Error
			if !errors.Is(err, store.ErrPeriodClosed) || !errors.As(err, &e) || e.Name != q.Name || !strings.Contains(err.Error(), in.Name) {
				t.Errorf("a draw: %v", err)
			}
			if err := scope.New(c.at, q).RaisePeriod(t.Context(), nil, *in, 1000); !errors.Is(err, store.ErrPeriodClosed) {
				t.Errorf("a raise: %v", err)
			}
			c.exec("ROLLBACK")
			if _, err := rows.ReservePeriod(t.Context(), nil, in, 1); !errors.Is(err, store.ErrPeriodClosed) {
				t.Errorf("a draw outside of transactions: %v", err)
			}
		}
		c.exec("BEGIN")
		c.want(q, in2025, 2, 100)
		c.exec("COMMIT")
		turn(rows.ClosePeriod, *in2025, 1)
		turn(rows.ClosePeriod, *in2025, 0)
		refused(in2025)
		turn(rows.ClosePeriod, *in2024, 1) // never used
		turn(rows.ClosePeriod, *in2024, 0)
		refused(in2024)
		if got := p.rows(t, q); !strings.HasPrefix(got, "closed [2024]=100, closed [2025]=102 {n}") {
			t.Errorf("the rows are %s", got)
		}
		turn(rows.ReopenPeriod, *in2025, 1)
		turn(rows.ReopenPeriod, *in2025, 0)
		turn(rows.ReopenPeriod, *in2024, 1)
		turn(rows.ReopenPeriod, *year(t, q, "2001"), 0)
		c.exec("BEGIN")
		c.want(q, in2025, 1, 102)
		c.want(q, in2024, 1, 100)
		c.exec("COMMIT")
	})
}

// TestPeriodCloseParents: closing a period closes it for all parents, with long values and
// without a row too.
func TestPeriodCloseParents(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.numbering(t, "{n}", "branch")
		rows := scope.New(p.own, q)
		long := strings.Repeat("x,2024]", 40)
		in2024, in2025 := year(t, q, "2024"), year(t, q, "2025")
		c := p.session(t)
		c.exec("BEGIN")
		for _, branch := range []string{"a", "2025", long} {
			c.want(q, in2024, 1, 1, branch)
			c.want(q, in2025, 3, 1, branch)
		}
		c.exec("COMMIT")
		if n, err := rows.ClosePeriod(t.Context(), *in2025); n != 4 || err != nil {
			t.Fatal(n, err)
		}
		c.exec("BEGIN")
		for _, branch := range []string{"a", "2025", long, "new"} {
			if _, err := c.draw(q, in2025, 1, branch); !errors.Is(err, store.ErrPeriodClosed) {
				t.Errorf("%.10s: %v", branch, err)
			}
		}
		c.want(q, in2024, 1, 2, "a")
		c.want(q, in2024, 1, 2, long)
		c.want(q, in2024, 1, 1, "new")
		c.exec("COMMIT")
		if n, err := rows.ReopenPeriod(t.Context(), *in2025); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		c.exec("BEGIN")
		c.want(q, in2025, 1, 4, "a")
		c.want(q, in2025, 1, 4, long)
		c.want(q, in2025, 1, 1, "new")
		c.want(q, in2025, 1, 1, "newer")
		c.exec("COMMIT")
	})
}

// TestPeriodCloseWaits: closing a period waits for transactions that have drawn from it, and
// these commit.
func TestPeriodCloseWaits(t *testing.T) {
	t.Parallel()
	harness.Each(t, serverEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.numbering(t, "{n}")
		in := year(t, q, "2025")
		c := p.session(t)
		c.exec("BEGIN")
		c.want(q, in, 1, 1)
		done := make(chan error, 1)
		go func() {
			_, err := scope.New(p.own, q).ClosePeriod(context.Background(), *in)
			done <- err
		}()
		c.want(q, in, 1, 2)
		select {
		case err := <-done:
			t.Fatalf("the period was closed in the middle of a transaction: %v", err)
		default:
		}
		c.exec("COMMIT")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := p.rows(t, q); !strings.HasPrefix(got, "closed [2025]=3") {
			t.Errorf("the rows are %s", got)
		}
	})
}

// TestPeriodCloseMeanwhile: a period that is closed while processes begin to number new
// parents in it is closed for all of them.
func TestPeriodCloseMeanwhile(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		for round := range 3 {
			var begun atomic.Int64
			var all sync.WaitGroup
			in := year(t, p.numbering(t, ""), fmt.Sprint(2000+10*round))
			for process := range 3 {
				q := p.numbering(t, "{n}", "branch")
				c := p.session(t)
				all.Go(func() {
					for n := range 15 {
						begun.Add(1)
						err := c.try("BEGIN")
						if err == nil {
							_, err = c.draw(q, in, 1, fmt.Sprintf("branch %d %d", process, n))
						}
						if end := c.try("COMMIT"); err == nil {
							err = end
						}
						if err != nil && !errors.Is(err, store.ErrPeriodClosed) {
							t.Error(err)
							return
						}
					}
				})
			}
			for begun.Load() < 10 {
				if _, err := p.own.CanRead(t.Context(), "keyfill_sequences"); err != nil {
					t.Fatal(err)
				}
			}
			q := p.numbering(t, "{n}", "branch")
			if _, err := scope.New(p.own, q).ClosePeriod(t.Context(), *in); err != nil {
				t.Error(err)
			}
			all.Wait()
			closed := 0
			err := scope.New(p.own, q).EachPeriod(t.Context(), func(r scope.PeriodRow) error {
				if r.Period.Name == in.Name {
					if closed++; !r.Closed {
						t.Errorf("%s is open", r.Name)
					}
				}
				return nil
			})
			if err != nil || closed == 0 {
				t.Errorf("%d rows, %v", closed, err)
			}
		}
	})
}

// TestPeriodPages: EachPeriod returns all rows, in pages, and no others.
func TestPeriodPages(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		q := p.numbering(t, "{n}", "branch")
		const rows = 2300
		var values []string
		for n := range rows {
			values = append(values, fmt.Sprintf("('invoices.number[''%05d'',2025]', 7, '', '', 'scope of one parent \"{n}\"', 'i', %s)", n, p.now()))
		}
		for _, other := range []string{"invoices.number", "invoices.number[7]", "invoices.numbers[2025]", "invoices.number]", "invoices.number[''x'',2025", "invoices"} {
			values = append(values, fmt.Sprintf("('%s', 7, '', '', 'scope of one parent', 'i', %s)", other, p.now()))
		}
		harness.Exec(t, s.Raw, "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES "+strings.Join(values, ", "))
		n, last := 0, ""
		err := scope.New(p.own, q).EachPeriod(t.Context(), func(r scope.PeriodRow) error {
			n++
			if r.Name <= last || r.Parent != fmt.Sprintf("'%05d'", n-1) || r.Next != 7 || r.Closed || r.Template != "{n}" {
				t.Errorf("after %s: %+v", last, r)
			}
			last = r.Name
			return nil
		})
		if n != rows || err != nil {
			t.Errorf("%d rows, %v, want %d", n, err, rows)
		}
		stop := errors.New("stop")
		if err := scope.New(p.own, q).EachPeriod(t.Context(), func(scope.PeriodRow) error { return stop }); err != stop {
			t.Errorf("%v, want the function's error", err)
		}
	})
}

// now is the engine's time, as keyfill_sequences has it.
func (p *periods) now() string { return p.own.Engine.Expressions.Now }
