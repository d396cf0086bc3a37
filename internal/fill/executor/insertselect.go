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

// An INSERT whose rows come from a query needs as many keys as the query has rows. The
// rows are counted first, and that many keys are reserved. Other sessions may add or
// remove rows before the INSERT: with fewer rows some keys are a gap; with more rows
// the statement itself provokes an error of the engine. Then everything is done again.

// maxCounts is how often the rows are counted for one execution.
const maxCounts = 3

// errRowsGrew is returned when an execution had more rows to insert than were counted,
// three times in a row.
var errRowsGrew = anchor.New("rows", "the INSERT's query had more rows than keyfill counted, three times: send the INSERT in a transaction that keeps other sessions from adding rows, or again")

// rowsSavepoint is the name of the savepoint that keyfill sets before it counts the rows
// of a query. No application uses the name.
const rowsSavepoint = "keyfill_rows"

// InsertSelect executes statements with an INSERT whose rows come from a query. The rows
// are counted, the keys are drawn for that many, and the engine numbers the rows.
type InsertSelect struct {
	X      *execution.Execution
	counts int  // how often the rows were counted
	saved  bool // keyfill's savepoint (rowsSavepoint) is set
}

// Exec sends the statement. If its query has more rows than were counted, the rows are
// counted again.
func (s *InsertSelect) Exec(ctx context.Context, via execution.Sender) (driver.Result, error) {
	return sendCounted(ctx, s, true, func() (driver.Result, error) {
		if countsByRows(s.X) {
			// A prepared INSERT … RETURNING that fails, as with too many rows, hangs in Exec of
			// go-sql-driver/mysql 1.10.1.
			res, _, err := execByQuery(ctx, via, s.X)
			return res, err
		}
		return via.SendExec(ctx, s.X)
	})
}

// Query does what Exec does, for a statement that returns rows.
func (s *InsertSelect) Query(ctx context.Context, via execution.Sender) (driver.Rows, error) {
	rows, err := sendCounted(ctx, s, false, func() (driver.Rows, error) {
		rows, err := via.SendQuery(ctx, s.X)
		if err == nil && countsByRows(s.X) {
			// MariaDB reports too many rows only when the rows are read.
			return readWhole(s.X.Conn, rows, func(_ []resultSet, err error) error { return err })
		}
		return rows, err
	})
	return raiseAfterRows(ctx, &s.X.Follows, rows, err)
}

// lost reports whether, after an error, the transaction can only be rolled back as a
// whole, with keyfill's savepoint.
func (s *InsertSelect) lost(err error) bool {
	if err == nil || !s.saved || !s.X.Plan.Dialect.ErrorsAbort || !sqlcode.Answered(err) {
		return false
	}
	s.saved = false
	return true
}

// toSavepoint rolls back to keyfill's savepoint, which stays set.
func (s *InsertSelect) toSavepoint(ctx context.Context) error {
	// The rollback must run even if the caller's context has ended.
	return s.X.Conn.ExecSavepoint(context.WithoutCancel(ctx), s.X.Plan.Dialect.Transactions.Undo, rowsSavepoint)
}

// release releases keyfill's savepoint, if it is set.
func (s *InsertSelect) release(ctx context.Context) error {
	if !s.saved {
		return nil
	}
	s.saved = false
	t := &s.X.Plan.Dialect.Transactions
	return s.X.Conn.ExecSavepoint(context.WithoutCancel(ctx), cmp.Or(t.Release, t.Probe), rowsSavepoint)
}

// giveUp releases keyfill's savepoint if err is not nil, and returns err. s may be nil.
func (s *InsertSelect) giveUp(ctx context.Context, err error) error {
	if s != nil && err != nil {
		_ = s.release(ctx) // err is the error to return
	}
	return err
}

// sendCounted sends an execution's statement, and sends it again if it had more rows
// than were counted. whole reports that the answer has no rows left to read, so that
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
			return answer, err // database/sql prepares the statement, and sends it again
		case !grown && s.lost(err):
			return answer, err
		case !grown, aborts && inside && !whole:
			_ = s.release(ctx) // the first error is the one to return
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

// refill counts the rows again and draws keys for them. If that fails, the execution is
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
