package scope

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// EnsurePeriod makes the row of a parent in a period and in the next period, if they are
// missing, on [Scope].Latest; it sends nothing if this process knows that they exist. A nil
// period is the one in which the clock is expected to stand. ReservePeriod does this itself;
// a caller does it beforehand to watch over what is sent on the other connection. On an
// engine without such a connection (SQLite) EnsurePeriod does nothing.
func (s *Rows) EnsurePeriod(ctx context.Context, values []any, given *calendar.Period) error {
	d, err := s.drawFrom(ctx, values, given, 1)
	if err != nil {
		return err
	}
	return s.ensure(ctx, d)
}

// KnowsPeriod reports whether EnsurePeriod would send nothing.
func (s *Rows) KnowsPeriod(values []any, given *calendar.Period) bool {
	p := s.scope.Periods
	if s.scope.Latest == nil {
		return true
	}
	if given == nil {
		current, err := p.Expected()
		if err != nil || !p.asked.Load() {
			return false
		}
		given = &current
	}
	return p.made.has(s.scope.PeriodRowFor(values, given.Name))
}

// ensure makes the rows for a draw as EnsurePeriod does.
func (s *Rows) ensure(ctx context.Context, d draw) error {
	q := s.scope
	if q.Latest == nil || q.Periods.made.has(d.row.Name) {
		return nil
	}
	periods := []calendar.Period{d.period}
	if next, err := q.Periods.Calendar.Next(d.period); err == nil { // no period follows the year 9999
		periods = append(periods, next)
	}
	limited, cancel := context.WithTimeout(ctx, latestLimit)
	defer cancel()
	err := periodRows{q, q.Latest}.make(limited, d.values, periods...)
	if err != nil && ctx.Err() == nil {
		// An INSERT waits for a transaction that has drawn from the row meanwhile, which is no
		// reason to fail.
		limited, cancel := context.WithTimeout(ctx, latestLimit)
		defer cancel()
		if rows, again := (periodRows{q, q.Latest}).look(limited, d.row.Name); again == nil && len(rows) > 0 {
			return nil
		}
	}
	if err != nil {
		return q.beside(ctx, err)
	}
	q.Periods.made.add(d.row.Name, "")
	return nil
}

// beside returns the error of a statement on [Scope].Latest.
func (q *Scope) beside(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failed := q.Latest.Failed(q.Name, err)
	if errors.Is(failed, keysource.ErrStoreState) {
		return failed // a refusal, such as a missing right
	}
	return fmt.Errorf("%w: the rows of a period are made beside the transaction: look for a lock, or a limit of connections: %w", keysource.ErrStoreDown, failed)
}

// makeMissing makes the row of a draw that has not found it, for the given time, although it
// was made before: it was deleted, or a transaction of PostgreSQL does not see it.
//
// The row is made on [Scope].Latest, by the next call of ensure, and if that does not help in
// the transaction. There PostgreSQL fails the transaction if the row exists, with the code for
// a transaction that has to be begun again. On MariaDB and MySQL the row is made in the
// transaction at once: it has locked the gap where the row would be, for which an INSERT of
// another connection would wait.
func (s *Rows) makeMissing(ctx context.Context, d draw, missing int) error {
	made := &s.scope.Periods.made
	switch {
	case missing > makeTries:
		return s.store.Failed(s.scope.Name, staterow.ErrRemoved)
	case missing == 1 && s.scope.Latest != nil && !s.store.Engine.Locks.LocksGaps:
		made.remove(d.row.Name)
		return nil
	}
	if err := (periodRows{s.scope, s.store}).make(ctx, d.values, d.period); err != nil {
		return s.store.ToldGone(ctx, s.scope.Name, err)
	}
	// If ensure looked for the row, it would not see it, and wait for this transaction.
	made.add(d.row.Name, "")
	return nil
}

// makeTries is how often a row is made that is not found afterwards.
const makeTries = 3

// periodRows makes and changes rows of periods on a store, which may be [Scope].Latest.
type periodRows struct {
	scope *Scope
	at    *store.Store
}

// make makes the rows of a parent in several periods, as far as they are missing.
func (r periodRows) make(ctx context.Context, values []any, periods ...calendar.Period) error {
	var names []string
	for _, p := range periods {
		names = append(names, r.scope.PeriodRowFor(values, p.Name))
		if len(values) > 0 {
			names = append(names, r.scope.PeriodRowFor(nil, p.Name))
		}
	}
	// An INSERT of a row that exists would wait for a transaction that has drawn from it, also
	// if it is this one.
	rows, err := r.look(ctx, names...)
	if err != nil {
		return err
	}
	var made []calendar.Period
	for _, p := range periods {
		if _, isThere := rows[r.scope.PeriodRowFor(values, p.Name)]; isThere {
			continue
		}
		isClosed := len(values) > 0 && rows[r.scope.PeriodRowFor(nil, p.Name)] < 0
		if err := r.makeOne(ctx, values, p, isClosed); err != nil {
			return err
		}
		if len(values) > 0 && !isClosed {
			made = append(made, p)
		}
	}
	return r.closeMade(ctx, values, made)
}

// makeOne makes the row of a parent in a period, which may be closed.
func (r periodRows) makeOne(ctx context.Context, values []any, p calendar.Period, isClosed bool) error {
	first, err := r.first(ctx, values, p)
	if err != nil {
		return err
	}
	if isClosed {
		first = -first
	}
	v := engine.Values{Name: r.scope.PeriodRowFor(values, p.Name), Next: first, Table: "", Column: "", Parameters: ParentParameters}
	_, err = r.at.Conn.Exec(ctx, r.at.Engine.Rows.Make.Text, r.at.Engine.Rows.Make.Bind(v))
	return err
}

// closeMade closes rows that have just been made if their periods were closed before the rows
// were committed, by a process that did not see them: see ClosePeriod.
func (r periodRows) closeMade(ctx context.Context, values []any, made []calendar.Period) error {
	if len(made) == 0 {
		return nil
	}
	var closings []string
	for _, p := range made {
		closings = append(closings, r.scope.PeriodRowFor(nil, p.Name))
	}
	rows, err := r.look(ctx, closings...)
	for i, p := range made {
		if err == nil && rows[closings[i]] < 0 {
			_, err = r.turn(ctx, r.scope.PeriodRowFor(values, p.Name), false)
		}
	}
	return err
}

// first returns the first number of a parent in a period whose row is missing.
func (r periodRows) first(ctx context.Context, values []any, p calendar.Period) (int64, error) {
	first := max(r.scope.Start, 1)
	if r.scope.Periods.Greatest == nil || len(values) != len(r.scope.Within) {
		return first, nil
	}
	greatest, err := r.scope.Periods.Greatest(ctx, r.at, values, p)
	return max(first, min(greatest, store.MaxReserved)+1), err
}

// look returns the next values of the rows called so, as far as they exist. It waits for no
// lock.
func (r periodRows) look(ctx context.Context, names ...string) (map[string]int64, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	all, err := r.at.Conn.Rows(ctx, r.at.Engine.LookFor(len(names)), args)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]int64, len(all))
	for _, row := range all {
		if rows[store.Text(row[0])], err = store.Integer(row[1]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
