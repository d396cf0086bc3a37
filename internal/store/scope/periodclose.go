package scope

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// ClosePeriod closes a period: from then on ReservePeriod returns [store.ErrPeriodClosed] for
// it, in all processes, for parents that have no row yet too. It returns how many rows it has
// closed, 0 if the period was closed before. A period without a row gets one, which is
// closed.
//
// ClosePeriod waits for transactions that have drawn from the period. If it fails, a part of
// the rows may be closed: it can be called again. The store is one of [store.New], and keeps
// no transaction open.
func (s *Rows) ClosePeriod(ctx context.Context, p calendar.Period) (closed int, err error) {
	// The row of the period itself comes first. A process that makes the row of a parent looks
	// at it after it has made the row; so either that process sees that the period is closed,
	// or its row is found below.
	name := s.scope.PeriodRowFor(nil, p.Name)
	rows := periodRows{s.scope, s.store}
	known, err := rows.look(ctx, name)
	if err != nil {
		return 0, s.failed(err)
	}
	_, isThere := known[name]
	if !isThere {
		if err := rows.makeOne(ctx, nil, p, true); err != nil {
			return 0, s.failed(err)
		}
	}
	// Another process may have made the row meanwhile, which is open then.
	if closed, err = rows.turn(ctx, name, false); err != nil {
		return 0, s.failed(err)
	}
	if !isThere {
		closed = 1
	}
	parents, err := s.turnParents(ctx, p, false)
	return closed + parents, err
}

// ReopenPeriod opens a period that was closed by mistake: numbers go on where they stood. It
// returns how many rows it has opened, 0 if the period was not closed.
func (s *Rows) ReopenPeriod(ctx context.Context, p calendar.Period) (opened int, err error) {
	if opened, err = (periodRows{s.scope, s.store}).turn(ctx, s.scope.PeriodRowFor(nil, p.Name), true); err != nil {
		return 0, s.failed(err)
	}
	parents, err := s.turnParents(ctx, p, true)
	return opened + parents, err
}

// turnParents closes or opens the rows of all parents in a period, and returns how many it
// has changed.
func (s *Rows) turnParents(ctx context.Context, p calendar.Period, open bool) (turned int, err error) {
	if len(s.scope.Within) == 0 {
		return 0, nil
	}
	err = s.EachPeriod(ctx, func(r PeriodRow) error {
		if r.Parent == "" || r.Period.Name != p.Name || r.Closed != open {
			return nil
		}
		n, err := periodRows{s.scope, s.store}.turn(ctx, r.Name, open)
		turned += n
		return s.failed(err)
	})
	return turned, err
}

// turn closes or opens a row, and returns 1 if it has changed it.
func (r periodRows) turn(ctx context.Context, name string, open bool) (int, error) {
	turn := r.at.Engine.TurnPeriod(open)
	n, err := r.at.Conn.Exec(ctx, turn.Text, turn.Bind(engine.Values{Name: name}))
	return int(n), err
}

// pageOfRows is how many rows EachPeriod reads at once.
const pageOfRows = 1000

// EachPeriod calls f for each row of a period of the numbering, in the order of the rows'
// names, until f returns an error, which EachPeriod returns. It reads a page of rows at a
// time, so that f may use the store; a row that is made meanwhile may be left out.
func (s *Rows) EachPeriod(ctx context.Context, f func(PeriodRow) error) error {
	page := s.store.Engine.PageOf(s.store.Dialect, pageOfRows)
	after, end := s.scope.Name+"[", s.scope.Name+"]" // all names with "[" after the state's lie between
	for {
		all, err := s.store.Conn.Rows(ctx, page.Text, page.Bind(engine.Values{Name: after, Binding: end}))
		if err != nil {
			return s.failed(err)
		}
		for _, row := range all {
			after = store.Text(row[0])
			next, err := store.Integer(row[1])
			if err != nil {
				return s.failed(err)
			}
			r, isOne := s.scope.ReadPeriodRow(after, next, store.Text(row[2]))
			if !isOne {
				continue
			}
			if err := f(r); err != nil {
				return err
			}
		}
		if len(all) < pageOfRows {
			return nil
		}
	}
}

// failed returns the error of a statement of a command; nil if err is nil.
func (s *Rows) failed(err error) error {
	if err == nil {
		return nil
	}
	return s.store.Failed(s.scope.Name, err)
}

// closed returns the error of a closed period.
func (q *Scope) closed(p calendar.Period) *store.Error {
	return q.state().Fail(store.ErrPeriodClosed, "%s gives no more numbers: write a later date, or open it by keyfill period reopen", p.Name)
}

// OtherTemplate is the error of a period that has too few numbers left up to [Scope].Max, and
// whose texts have another template than [Periods].Template. They may show greater numbers.
type OtherTemplate struct {
	Template string
	Err      error
}

func (e *OtherTemplate) Error() string { return e.Err.Error() }
func (e *OtherTemplate) Unwrap() error { return e.Err }

// tooFew returns the error of a draw from a period that has too few numbers left.
func (d draw) tooFew(ctx context.Context) error {
	exhausted := d.scope.exhaustedIn(d.period)
	own := d.scope.Periods.Template
	if own == "" {
		return exhausted
	}
	template, err := periodRows{d.scope, d.store}.template(ctx, d.row.Name)
	switch {
	case err != nil:
		return d.store.ToldGone(ctx, d.scope.Name, err)
	case template == "" || template == own:
		return exhausted
	}
	return &OtherTemplate{template, exhausted}
}

// template returns the template in a row; empty without one.
func (r periodRows) template(ctx context.Context, name string) (string, error) {
	page := r.at.Engine.PageOf(r.at.Dialect, pageOfRows)
	before, after := strings.TrimSuffix(name, "]"), name+"]"
	all, err := r.at.Conn.Rows(ctx, page.Text, page.Bind(engine.Values{Name: before, Binding: after}))
	for _, row := range all {
		if store.Text(row[0]) == name {
			template, _ := templateIn(store.Text(row[2]))
			return template, err
		}
	}
	return "", err
}

// exhaustedIn returns the error of a period that has too few numbers left.
func (q *Scope) exhaustedIn(p calendar.Period) *store.Error {
	state := q.state()
	if q.Periods.Template != "" {
		return state.Fail(keysource.ErrExhausted, "%s has no number left up to the limit of %d: give {n} more digits in format, from the next period on", p.Name, state.Greatest())
	}
	return state.Fail(keysource.ErrExhausted, "%s has no number left up to the limit of %d: make the column wider and raise max_bits", p.Name, state.Greatest())
}

// behindIn returns the error of a period whose next number is not above the greatest number
// in the table.
func (q *Scope) behindIn(p calendar.Period) *store.Error {
	return q.state().Fail(keysource.ErrStoreBehind, "the next number of %s is not above the greatest one in the table: raise next_value in its row of keyfill_sequences, or say on_behind: advance", p.Name)
}

// state returns the sequence that errors name.
func (q *Scope) state() *sequence.Sequence {
	return &sequence.Sequence{Name: q.Name, Columns: []store.Column{q.Column}, Bounds: sequence.Bounds{Max: q.Max}}
}
