package executor

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// An INSERT whose rows come from a query takes as many keys as the query has rows. They
// are counted first, and that many keys are reserved. Other writers may add or remove
// rows before the INSERT: with fewer rows some keys are a gap; a row too many is an error
// of the engine, which the statement itself provokes. Then everything is done again.

// maxCounts is how often the rows are counted for one execution.
const maxCounts = 3

// errRowsGrew is returned when an execution had more rows to insert than were counted,
// three times.
var errRowsGrew = anchor.New("rows", "its query had more rows than counted, three times: send it in a transaction that keeps others from adding rows, or again")

// rowsSavepoint is the name of keyfill's savepoint, which no application uses.
const rowsSavepoint = "keyfill_rows"

// InsertSelect executes statements with an INSERT whose rows come from a query. The rows
// are counted, the keys are drawn for that many, and the engine numbers the rows.
type InsertSelect struct {
	X      *execution.Execution
	counts int  // how often the rows were counted
	saved  bool // our savepoint (rowsSavepoint) is set
}

// Exec counts the rows, and sends the statement.
func (s *InsertSelect) Exec(ctx context.Context, via execution.Sender) (driver.Result, error) {
	return sendCounted(ctx, s, true, func() (driver.Result, error) {
		if countsByRows(s.X) {
			// A prepared INSERT … RETURNING that fails, as with a row too many, hangs in Exec of
			// go-sql-driver/mysql 1.10.1.
			res, _, err := execByQuery(ctx, via, s.X)
			return res, err
		}
		return via.SendExec(ctx, s.X)
	})
}

// Query is Exec for a statement that gives rows.
func (s *InsertSelect) Query(ctx context.Context, via execution.Sender) (driver.Rows, error) {
	rows, err := sendCounted(ctx, s, false, func() (driver.Rows, error) {
		rows, err := via.SendQuery(ctx, s.X)
		if err == nil && countsByRows(s.X) {
			// MariaDB reports a row too many when the rows are read.
			return readWhole(s.X.Conn, rows, func(_ []resultSet, err error) error { return err })
		}
		return rows, err
	})
	return raiseAfterRows(ctx, &s.X.Follows, rows, err)
}

// lost reports whether after an error the transaction can only be rolled back, our
// savepoint included.
func (s *InsertSelect) lost(err error) bool {
	if err == nil || !s.saved || !s.X.Plan.Dialect.ErrorsAbort || !sqlcode.Answered(err) {
		return false
	}
	s.saved = false
	return true
}

// toSavepoint rolls back to our savepoint, which stays.
func (s *InsertSelect) toSavepoint(ctx context.Context) error {
	// The rollback has to run, even if the caller's context has ended.
	return s.X.Conn.ExecSavepoint(context.WithoutCancel(ctx), s.X.Plan.Dialect.Transactions.Undo, rowsSavepoint)
}

// release releases our savepoint.
func (s *InsertSelect) release(ctx context.Context) error {
	if !s.saved {
		return nil
	}
	s.saved = false
	t := &s.X.Plan.Dialect.Transactions
	return s.X.Conn.ExecSavepoint(context.WithoutCancel(ctx), cmp.Or(t.Release, t.Probe), rowsSavepoint)
}

// giveUp returns err after it has released our savepoint, if there is an error and a
// savepoint: nil has none.
func (s *InsertSelect) giveUp(ctx context.Context, err error) error {
	if s != nil && err != nil {
		_ = s.release(ctx) // the first error is the one to know
	}
	return err
}

// sendCounted sends an execution's statement, and again when it had more rows than were
// counted. whole reports that the answer has no rows that are still to be read, so that
// another statement can be sent after it.
func sendCounted[T any](ctx context.Context, s *InsertSelect, whole bool, send func() (T, error)) (T, error) {
	var none T
	if s.X.Plan.CountsBeside() {
		return sendText(ctx, s, send)
	}
	aborts := s.X.Plan.Dialect.ErrorsAbort
	inside := s.saved
	if !whole {
		if err := s.release(ctx); err != nil {
			return none, err
		}
	}
	for {
		answer, err := send()
		grown := s.outgrown(err)
		switch {
		case err == nil:
			return answer, s.release(ctx)
		case err == driver.ErrSkip:
			return answer, err // it is sent again, prepared
		case !grown && s.lost(err):
			return answer, err
		case !grown, aborts && inside && !whole:
			_ = s.release(ctx) // the first error is the one to know
			return answer, err
		case aborts && inside:
			if err := s.toSavepoint(ctx); err != nil {
				return none, err
			}
		}
		if s.counts == maxCounts {
			first := s.X.Plan.Counted()[0]
			reason := miscounted(ctx, s.X, first, errRowsGrew)
			_ = s.release(ctx)
			return none, grewError(s.X, first, reason, err)
		}
		if err := s.refill(ctx); err != nil {
			_ = s.release(ctx)
			return none, err
		}
	}
}

// outgrown reports whether a statement failed because its query had more rows
// than were counted.
func (s *InsertSelect) outgrown(err error) bool {
	code, ok := sqlcode.Of(err)
	n := &s.X.Plan.Dialect.Numbering
	return ok && code.State == n.FailState && code.Number == n.FailNumber &&
		strings.Contains(strings.ToLower(err.Error()), n.Failure)
}

// refill counts the rows anew and draws keys for them. If that fails, the execution is
// unchanged.
func (s *InsertSelect) refill(ctx context.Context) error {
	rows, drawn := s.X.Drawn.Rows, s.X.Drawn.Keys
	s.X.Drawn.Keys = slices.Clone(drawn)
	err := s.countRows(ctx)
	var anew [][]driver.Value
	if err == nil {
		anew, err = keys.Draw(ctx, s.X.Plan, s.X.Args, s.X.Holes, s.X.Drawn.Rows, s.X.Drawn.Keys, s.X.Conn, nil)
	}
	if err != nil {
		s.X.Drawn.Rows, s.X.Drawn.Keys = rows, drawn
		return err
	}
	s.X.Drawn.Keys = anew
	Place(s.X)
	return nil
}
