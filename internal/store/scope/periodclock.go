package scope

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
)

// instant is the form of a time in an argument. The first and the last one are those that
// all engines have.
const (
	instant      = "2006-01-02 15:04:05"
	firstInstant = "0001-01-01 00:00:00"
	lastInstant  = "9999-12-31 23:59:59"
)

// instants returns the bounds of the draw's period as arguments of a statement that compares
// the clock.
func (d draw) instants() (begin, end string) {
	begin, end = d.period.Begin.Format(instant), d.period.End.Format(instant)
	if d.period.Begin.Year() < 1 {
		begin = firstInstant
	}
	if d.period.End.Year() > 9999 {
		end = lastInstant
	}
	zone := d.store.Engine.Clock.Zone
	return begin + zone, end + zone
}

// stays reports whether the server's clock still stands in the period of a draw.
func (d draw) stays(ctx context.Context) (bool, error) {
	at, err := d.scope.askClock(ctx, d.store)
	return d.period.Has(at), err
}

// Clock returns the time of the server's clock; on SQLite, of the clock of the process.
func Clock(ctx context.Context, s *Rows) (time.Time, error) {
	if s.store.Engine.Clock.Now == "" {
		return s.scope.Periods.now(), nil
	}
	at, err := s.scope.askClock(ctx, s.store)
	return at, s.failed(err)
}

// askClock returns the time of the server's clock. It remembers the difference from the clock
// of the process, for the next draw.
func (q *Scope) askClock(ctx context.Context, on *store.Store) (time.Time, error) {
	row, err := on.Conn.Query(ctx, "SELECT "+on.Engine.Clock.Text+on.Engine.Expressions.Dual, nil)
	if err != nil {
		return time.Time{}, err
	}
	if row == nil {
		return time.Time{}, errClock
	}
	at, err := time.Parse(instant+".999999", store.Text(row[0]))
	if err != nil {
		return time.Time{}, errClock
	}
	q.Periods.ahead.Store(int64(at.Sub(q.Periods.now())))
	q.Periods.asked.Store(true)
	return at, nil
}

// askFirst asks for the time of the server's clock before the first draw by the clock, so
// that no row is made for the period of a process's clock that is wrong.
func (q *Scope) askFirst(ctx context.Context) error {
	if q.Latest == nil || q.Latest.Engine.Clock.Now == "" || q.Periods.asked.Load() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, latestLimit)
	defer cancel()
	if _, err := q.askClock(limited, q.Latest); err != nil {
		return q.beside(ctx, err)
	}
	return nil
}

// errClock is returned if the server does not say what time it is.
var errClock = anchor.New("answer", "the time of the server's clock cannot be read: let a column say the period")
