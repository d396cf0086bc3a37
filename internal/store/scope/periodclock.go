package scope

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
)

// instant is the form of a time in an argument. The first and the last one are those that
// all engines have.
const (
	instant      = "2006-01-02 15:04:05"
	firstInstant = "0001-01-01 00:00:00"
	lastInstant  = "9999-12-31 23:59:59"
)

// instants returns the bounds of a period as arguments of a statement that compares the
// clock.
func (s *Rows) instants(p calendar.Period) (begin, end string) {
	begin, end = p.Begin.Format(instant), p.End.Format(instant)
	if p.Begin.Year() < 1 {
		begin = firstInstant
	}
	if p.End.Year() > 9999 {
		end = lastInstant
	}
	zone := s.store.Engine.Clock.Zone
	return begin + zone, end + zone
}

// askClock reports whether the server's clock still stands in the period of a draw. It
// remembers the difference from the clock of the process, for the next draw.
func (s *Rows) askClock(ctx context.Context, d draw) (stays bool, err error) {
	row, err := s.store.Conn.Query(ctx, "SELECT "+s.store.Engine.Clock.Text+s.store.Engine.Expressions.Dual, nil)
	if err != nil {
		return false, err
	}
	if row == nil {
		return false, errClock
	}
	at, err := time.Parse(instant+".999999", store.Text(row[0]))
	if err != nil {
		return false, errClock
	}
	p := s.scope.Periods
	p.ahead.Store(int64(at.Sub(p.now())))
	return d.period.Has(at), nil
}

// errClock is returned if the server does not say what time it is.
var errClock = anchor.New("answer", "the time of the server's clock cannot be read: let a column say the period")
