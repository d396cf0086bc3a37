package scope

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Taken are consecutive numbers of a period.
type Taken struct {
	keysource.Reservation // the first number, and the Server, which identifies the row and its server

	Period calendar.Period
	Row    string // the name of the row from which they were reserved

	// Template is the template with which all numbers of the period are written: the one that
	// the process had which drew the first of them, and has committed. It may differ from
	// [Periods].Template until the next period begins.
	Template string
}

// ReservePeriod reserves n ≥ 1 consecutive numbers of a parent in a period. values are the
// values of the columns [Scope].Within, as in [Scope.RowFor]; empty if there are no such
// columns.
//
// given is the period of the row's date. If it is nil, the numbers are of the period in which
// the server's clock stands when the statement begins that reserves them; Taken has it.
//
// On a store of [store.Within] and [store.Joined] the row is locked until the transaction
// ends, and a rollback undoes the reservation. On a store of [store.New] the reservation has
// committed when ReservePeriod returns. A statement that needs several rows must reserve in
// the order of their names.
//
// It returns [store.ErrPeriodClosed] if the period is closed, and keysource.ErrExhausted if it
// has fewer numbers left, both in an [*store.Error] that has the name of the stored counter
// and of the period, and no value. The second one is in an [*OtherTemplate], if the period's
// template is not [Periods].Template. Errors of the connection are the driver's. On PostgreSQL a
// transaction whose snapshot is older than the row (REPEATABLE READ) fails with the engine's
// code 40001, so that it can be begun again.
func (s *Rows) ReservePeriod(ctx context.Context, values []any, given *calendar.Period, n int64) (Taken, error) {
	if n < 1 {
		return Taken{}, keysource.ErrCount
	}
	missing := 0 // how often the row was not there
	for range periodTries {
		d, err := s.drawFrom(ctx, values, given, n)
		if err != nil {
			return Taken{}, err
		}
		if err := s.ensure(ctx, d); err != nil {
			return Taken{}, err
		}
		got, found, err := d.take(ctx)
		if err == nil && (found == foundNothing || found == foundOther) {
			found, err = d.why(ctx, found)
		}
		switch {
		case err != nil:
			return Taken{}, s.store.ToldGone(ctx, s.scope.Name, err)
		case found == foundNumbers:
			return got, nil
		case found == foundClosed:
			return Taken{}, s.scope.closed(d.period)
		case found == foundTooFew:
			return Taken{}, d.tooFew(ctx)
		case found == foundNoRow:
			missing++
			if err := s.makeMissing(ctx, d, missing); err != nil {
				return Taken{}, err
			}
		}
	}
	return Taken{}, errPeriodTries
}

// periodTries is how often a reservation is tried: the clock may go on to the next period
// between two statements, and a row may be missing.
const periodTries = 6

// errPeriodTries is returned after so many tries.
var errPeriodTries = anchor.New("contention", "another process changed the period's row each time before keyfill used it: send the INSERT again")

// draw is one try to reserve numbers.
type draw struct {
	scope   *Scope
	store   *store.Store
	values  []any
	period  calendar.Period
	byClock bool // the period is a guess, which the statement compares with the server's clock
	row     *sequence.Sequence
	n       int64
}

// drawFrom returns a draw from the given period, or from the one in which the clock is
// expected to stand.
func (s *Rows) drawFrom(ctx context.Context, values []any, given *calendar.Period, n int64) (draw, error) {
	d := draw{scope: s.scope, store: s.store, values: values, n: n}
	if given != nil {
		d.period = *given
	} else {
		if err := s.scope.askFirst(ctx); err != nil {
			return d, err
		}
		var err error
		if d.period, err = s.scope.Periods.Expected(); err != nil {
			return d, err
		}
		d.byClock = s.store.Engine.Clock.Now != ""
	}
	d.row = s.scope.periodRow(values, d.period)
	return d, nil
}

// periodRow returns the sequence that names the row of a parent (such as a branch) in a period.
func (q *Scope) periodRow(values []any, p calendar.Period) *sequence.Sequence {
	return &sequence.Sequence{Name: q.PeriodRowFor(values, p.Name), Columns: []store.Column{q.Column}, Bounds: sequence.Bounds{Max: q.Max}}
}

// limit returns the greatest next value from which the draw can reserve.
func (d draw) limit() int64 { return d.row.Greatest() - d.n + 1 }

// found is what a try to reserve has found.
type found uint8

const (
	foundNothing found = iota // no row that fits, for a reason that is not known yet
	foundNumbers
	foundNoRow
	foundClosed
	foundTooFew
	foundOther // a row that fitted when it was locked, and not when it was to be changed
	foundAgain // the row fits, or another period begins: the next try may succeed
)

// arguments returns the arguments of the statements of a draw. parameters is the text that the
// row has, or gets with the period's first number.
func (d draw) arguments(parameters string) engine.Values {
	v := engine.Values{
		Name: d.row.Name, Count: d.n, Floor: int64(1), Limit: d.limit(),
		Old: ParentParameters, Parameters: parameters,
	}
	if d.byClock {
		v.Begin, v.End = d.instants()
	}
	return v
}

// form returns which statements a draw needs.
func (d draw) form() engine.PeriodForm {
	return engine.PeriodForm{ByClock: d.byClock, Writes: d.scope.Periods.Template != ""}
}

// take reserves the numbers of a draw.
func (d draw) take(ctx context.Context) (got Taken, f found, err error) {
	statements := d.store.Engine.Period(d.form())
	if statements.Reserve.Text == "" {
		return d.takeLocked(ctx)
	}
	if got, f, err = d.takeKnown(ctx); err != nil || f == foundNumbers {
		return got, f, err
	}
	if err := d.store.Proof.Prepare(ctx); err != nil {
		return got, foundNothing, err
	}
	answer, err := d.store.Update(ctx, statements.Reserve, d.arguments(d.scope.Periods.parameters()))
	if err != nil || answer == nil {
		return got, foundNothing, err
	}
	next, err := store.Integer(answer[0])
	if err != nil {
		return got, foundNothing, err
	}
	if got, err = d.taken(next-d.n, [3]any(answer[1:])); err == nil && got.Template != "" {
		d.scope.Periods.drawn.add(d.row.Name, store.Text(answer[3]))
	}
	return got, foundNumbers, err
}

// takeKnown reserves the numbers of a draw as take does, if the row's parameters are still
// those that the last draw of this process has left. They hardly ever change, and a statement
// that writes them takes longer. A rollback of the period's first number changes them.
func (d draw) takeKnown(ctx context.Context) (got Taken, f found, err error) {
	known, isKnown := d.scope.Periods.drawn.of(d.row.Name)
	statements := d.store.Engine.Period(engine.PeriodForm{ByClock: d.byClock, Known: true})
	if !isKnown || statements == nil || !d.form().Writes {
		return got, foundNothing, nil
	}
	if err := d.store.Proof.Prepare(ctx); err != nil {
		return got, foundNothing, err
	}
	answer, err := d.store.Update(ctx, statements.Reserve, d.arguments(known))
	if err != nil || answer == nil {
		d.scope.Periods.drawn.remove(d.row.Name)
		return got, foundNothing, err
	}
	next, err := store.Integer(answer[0])
	if err != nil {
		return got, foundNothing, err
	}
	got, err = d.taken(next-d.n, [3]any{answer[1], answer[2], known})
	return got, foundNumbers, err
}

// taken returns the numbers of a draw. beside are the incarnation, the server and the
// parameters of the row.
func (d draw) taken(first int64, beside [3]any) (Taken, error) {
	template, isOne := templateIn(store.Text(beside[2]))
	if !isOne {
		return Taken{}, errParameters
	}
	return Taken{keysource.Reservation{First: first, Server: staterow.Server(beside[0], beside[1])}, d.period, d.row.Name, template}, nil
}

// errParameters is returned if the row of a period was not made by this package.
var errParameters = anchor.New("parameters", "the period's row has other parameters: put back the parameters that keyfill had written")

// takeLocked reserves the numbers of a draw on an engine whose UPDATE returns no values, in
// the transaction that is open, or in one of its own.
func (d draw) takeLocked(ctx context.Context) (got Taken, f found, err error) {
	// Asking for the server takes a connection, of which the pool may have no other one.
	query, err := d.store.Server.PutInto(ctx, d.store.Engine.Period(d.form()).Locked.Text)
	if err != nil {
		return got, foundNothing, err
	}
	if d.store.Inside {
		return d.takeOn(ctx, d.store.Conn, query)
	}
	err = d.store.Conn.Transact(ctx, func(c store.Conn) (err error) {
		got, f, err = d.takeOn(ctx, c, query)
		return err
	})
	return got, f, err
}

// takeOn reserves the numbers of a draw on a connection whose transaction is open: it reads
// the row by a query, which locks it, and then replaces its next value.
func (d draw) takeOn(ctx context.Context, c store.Conn, query string) (got Taken, f found, err error) {
	form, v := d.form(), d.arguments(d.scope.Periods.parameters())
	answer, err := c.Query(ctx, query, d.store.Engine.Period(form).Locked.Bind(v))
	if err != nil || answer == nil {
		return got, foundNothing, err
	}
	next, err := store.Integer(answer[0])
	switch {
	case err != nil:
		return got, foundNothing, err
	case next < 0:
		return got, foundClosed, nil
	case next > d.limit():
		return got, foundTooFew, nil
	}
	if form.Writes = form.Writes && store.Text(answer[3]) == ParentParameters; form.Writes {
		answer[3] = v.Parameters
	}
	if got, err = d.taken(next, [3]any(answer[1:])); err != nil {
		return got, foundNothing, err
	}
	v.Next, v.Old, v.Incarnation = next+d.n, next, store.Text(answer[1])
	swap := d.store.Engine.Period(form).Swap
	if err := d.store.Proof.Prepare(ctx); err != nil {
		return got, foundNothing, err
	}
	switch changed, err := c.Exec(ctx, d.store.Proof.AddTo(swap.Text), swap.Bind(v)); {
	case err != nil:
		return got, foundNothing, err
	case changed > 1:
		return got, foundNothing, store.ErrRows
	case changed == 0:
		return Taken{}, foundOther, nil
	}
	return got, foundNumbers, nil
}

// why finds out why a draw has found no row that fits, or a row that it could not change.
func (d draw) why(ctx context.Context, f found) (found, error) {
	if d.byClock {
		if stays, err := d.stays(ctx); !stays || err != nil {
			return foundAgain, err
		}
	}
	switch {
	case f == foundOther:
		return foundAgain, d.store.Proof.Prove(ctx)
	case d.store.Engine.Rows.ReturnsLastInsertID:
		return foundNoRow, nil // the query that locks the row sees all committed rows
	}
	rows, err := periodRows{d.scope, d.store}.look(ctx, d.row.Name)
	next, isThere := rows[d.row.Name]
	switch {
	case err != nil:
		return foundNothing, err
	case !isThere:
		return foundNoRow, nil
	case next < 0:
		return foundClosed, nil
	case next > d.limit():
		return foundTooFew, nil
	}
	return foundAgain, d.store.Proof.Prove(ctx)
}

// ReservePeriodAbove reserves as ReservePeriod does, for a parent and a period in which a
// number was found in use. It compares the reserved numbers with [Periods].Greatest, and does
// what [Rows.ReserveAbove] does with the remedy. Numbers that cannot be read are not compared.
func (s *Rows) ReservePeriodAbove(ctx context.Context, values []any, given *calendar.Period, n int64, remedy keysource.Remedy) (got Taken, behind bool, err error) {
	// Reserving locks the row before the table is read.
	if got, err = s.ReservePeriod(ctx, values, given, n); err != nil || remedy == keysource.RemedyWarn || s.scope.Periods.Greatest == nil {
		return got, false, err
	}
	greatest, err := s.GreatestInPeriod(ctx, values, got.Period)
	switch {
	case errors.Is(err, store.ErrTextsUnread):
		return got, false, nil // as if there were no Greatest: later numbers may be free
	case err != nil || got.First > greatest:
		return got, false, err
	case remedy != keysource.RemedyAdvance:
		return Taken{}, true, s.scope.behindIn(got.Period)
	case greatest >= s.scope.periodRow(values, got.Period).Greatest():
		return Taken{}, true, s.scope.exhaustedIn(got.Period)
	}
	// The period stays the one in which the clock stood when the row was locked.
	if err = s.RaisePeriod(ctx, values, got.Period, greatest+1); err == nil {
		got, err = s.ReservePeriod(ctx, values, &got.Period, n)
	}
	return got, true, err
}

// GreatestInPeriod returns the greatest number of a parent in a period that is in use, 0 if
// there is none: the greater one of what this transaction sees and what was committed last.
// [Periods].Greatest must be set.
func (s *Rows) GreatestInPeriod(ctx context.Context, values []any, p calendar.Period) (int64, error) {
	q := s.scope
	greatest, err := q.Periods.Greatest(ctx, s.store, values, p)
	if err != nil || q.Latest == nil || !s.store.Inside {
		return greatest, err
	}
	limited, cancel := context.WithTimeout(ctx, latestLimit)
	defer cancel()
	latest, err := q.Periods.Greatest(limited, q.Latest, values, p)
	if err != nil {
		return 0, q.beside(ctx, err)
	}
	return max(greatest, latest), nil
}

// RaisePeriod raises the next number of a parent in a period to next or above, and never
// lowers it. It makes the row if it is missing, and returns [store.ErrPeriodClosed] for a
// closed period. On a store of [store.Within] the row is locked until the transaction ends,
// also if it is not raised.
func (s *Rows) RaisePeriod(ctx context.Context, values []any, p calendar.Period, next int64) error {
	d := draw{scope: s.scope, store: s.store, values: values, period: p, n: 1, row: s.scope.periodRow(values, p)}
	raise := s.store.Engine.RaisePeriod()
	for missing := 1; ; missing++ {
		if err := s.ensure(ctx, d); err != nil {
			return err
		}
		changed, err := s.store.Conn.Exec(ctx, raise.Text, raise.Bind(engine.Values{Name: d.row.Name, Next: next}))
		if err != nil || changed > 0 {
			return s.store.ToldGone(ctx, s.scope.Name, err)
		}
		stored, isThere, err := d.next(ctx)
		switch {
		case err != nil:
			return s.store.ToldGone(ctx, s.scope.Name, err)
		case isThere && stored < 0:
			return s.scope.closed(p)
		case isThere:
			return nil // MySQL counts a row as changed only if a value is another one
		}
		if err := s.makeMissing(ctx, d, missing); err != nil {
			return err
		}
	}
}

// next returns the next value of the row of a draw, as the last commit has left it.
func (d draw) next(ctx context.Context) (next int64, isThere bool, err error) {
	locked := d.store.Engine.Period(engine.PeriodForm{}).Locked
	if locked.Text == "" {
		rows, err := periodRows{d.scope, d.store}.look(ctx, d.row.Name)
		next, isThere = rows[d.row.Name]
		return next, isThere, err
	}
	query, err := d.store.Server.PutInto(ctx, locked.Text)
	if err != nil {
		return 0, false, err
	}
	row, err := d.store.Conn.Query(ctx, query, locked.Bind(engine.Values{Name: d.row.Name}))
	if err != nil || row == nil {
		return 0, false, err
	}
	next, err = store.Integer(row[0])
	return next, true, err
}
