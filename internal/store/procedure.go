package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// ReserveProcedure is the [Sequence].Procedure that [ProcedureDDL] creates: it
// reserves in keyfill_sequences. One of any other name is the application's own.
//
// Either is called with two arguments, a name and how many consecutive integers
// are asked for, and answers with one row of one integer, the first of them:
//
//	PostgreSQL       SELECT name($1, $2)             a function
//	MySQL, MariaDB   CALL name(?, ?)                 a procedure that ends in a SELECT
//	SQL Server       EXEC name @p1, @p2              a procedure that ends in a SELECT
//	Oracle           SELECT name(:1, :2) FROM dual   a function with an autonomous transaction
//
// SQLite has none. The name is the Name of the [Sequence], or the Row of its
// [KeyTable], which is then only looked at. On MySQL, MariaDB and SQL Server the
// call stands in a transaction of its own, so that a procedure with an UPDATE and
// a SELECT after it is right as it is. What a procedure reserves beyond the
// sequence's Max is a gap.
//
// The shipped one refuses fewer than 1, and a name without a row. Its caller has
// to be able to execute it and to read keyfill_sequences, not to change it.
const ReserveProcedure = "keyfill_reserve"

// ProcedureDDL returns the statements that create [ReserveProcedure], or put it in
// the place of an older one; none for SQLite. Each is to be run by itself, and has
// semicolons inside: in SQL Server it must be alone in its batch.
func ProcedureDDL(d *dialect.Dialect) []string {
	e := engineOf(d)
	switch {
	case e.procedure == "":
		return nil
	case e.dropProcedure != "":
		return []string{e.dropProcedure, e.procedure}
	}
	return []string{e.procedure}
}

// ensureProcedure creates the procedure where it is not there. Several processes
// may call it at once.
func (s *Store) ensureProcedure(ctx context.Context) error {
	there := func() bool {
		row, err := s.conn.query(ctx, s.engine.findProcedure, nil)
		return err == nil && row != nil && row[0] != nil
	}
	switch {
	case s.inside:
		return ErrTransaction
	case there():
		return nil
	}
	if _, err := s.conn.exec(ctx, s.engine.procedure, nil); err != nil && !there() {
		return s.failed(ReserveProcedure, err)
	}
	return nil
}

// call reserves by the sequence's procedure. Fewer than n of the integers may be
// up to the sequence's limit.
func (s *Store) call(ctx context.Context, q *Sequence, f *rowStatements, n int64) (keysource.Reservation, error) {
	if s.inside && s.engine.callCommits {
		return keysource.Reservation{}, fmt.Errorf("%w: sequence %q: what a procedure of %s reserves is not undone with the transaction: reserve by statements there",
			keysource.ErrOptions, q.Name, s.dialect.Title)
	}
	if err := s.Prove(ctx); err != nil {
		return keysource.Reservation{}, err
	}
	answer, err := s.callOnce(ctx, q, n)
	if err != nil {
		return keysource.Reservation{}, s.whyNoCall(ctx, q, f, n, err)
	}
	tellsServer := strings.Contains(s.engine.call, "{server}")
	if len(answer) > 1 && !tellsServer {
		return keysource.Reservation{}, q.fail(ErrProcedure, "it has answered with %d columns", len(answer))
	}
	if answer == nil || answer[0] == nil {
		return keysource.Reservation{}, q.fail(ErrProcedure, "it has answered with no integer; is there a row for %q?", q.callName())
	}
	first, err := toInteger(answer[0])
	if err != nil {
		return keysource.Reservation{}, q.fail(ErrProcedure, "its answer is not an integer")
	}
	if first < 1 {
		return keysource.Reservation{}, q.fail(ErrProcedure, "its answer is below 1; does it count from there, or answer with the last one?")
	}
	if limit := q.limitOf(f); first > limit {
		return keysource.Reservation{}, q.exhausted(f, first)
	}
	got := keysource.Reservation{First: first}
	if len(answer) > 1 {
		got.Server = serverOf("", answer[1])
	} else if got.Server, err = s.serverAfter(ctx); err != nil {
		return keysource.Reservation{}, s.failed(q.Name, err)
	}
	return got, nil
}

// callName is the procedure's first argument.
func (q *Sequence) callName() string {
	if q.Table != nil && q.Table.Key != "" {
		return q.Table.Row
	}
	return q.Name
}

// callText returns the call of the sequence's procedure.
func (s *Store) callText(ctx context.Context, q *Sequence) (string, error) {
	return s.withServer(ctx, fmt.Sprintf(s.engine.call, q.Procedure))
}

// callOnce calls the procedure and returns its answer once it has committed.
func (s *Store) callOnce(ctx context.Context, q *Sequence, n int64) (answer []any, err error) {
	query, err := s.callText(ctx, q)
	if err != nil {
		return nil, err
	}
	args := []any{q.callName(), n}
	if !s.engine.callNeedsTransaction {
		return s.conn.query(ctx, query, args)
	}
	err = s.conn.transact(ctx, func(c conn) (err error) {
		answer, err = c.query(ctx, query, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// whyNoCall returns the error of a call that has failed. It says what is wrong
// with the row, if that can be found, or else with the procedure.
func (s *Store) whyNoCall(ctx context.Context, q *Sequence, f *rowStatements, n int64, failed error) error {
	if errors.Is(failed, ErrRows) {
		return q.fail(ErrProcedure, "it has answered with more than one row")
	}
	if isBroken(failed) || isRolledBack(s.dialect, failed) || ctx.Err() != nil || s.inside && !s.engine.sturdy {
		return s.failed(q.Name, failed)
	}
	if q.readable() {
		row, err := s.state(ctx, q, f)
		if err == nil {
			err = s.unfit(ctx, q, f, row, n, 1)
		}
		var e *Error
		if errors.As(err, &e) {
			return e
		}
	}
	query, err := s.callText(ctx, q)
	if err != nil {
		return s.failed(q.Name, failed)
	}
	return s.failed(q.Name, s.judge(ctx, ErrProcedure, failed, query, []any{q.callName(), n}))
}

// readable reports whether the row that a procedure changes is known.
func (q *Sequence) readable() bool { return q.Table != nil || q.Procedure == ReserveProcedure }

// advanceByCall raises the next value by reserving all integers below it. What
// others reserve meanwhile makes it rise further.
func (s *Store) advanceByCall(ctx context.Context, q *Sequence, f *rowStatements, next int64) error {
	if limit := q.limitOf(f); next > limit+1 {
		return q.exhausted(f, 0)
	}
	var at int64
	if q.readable() {
		row, err := s.state(ctx, q, f)
		if err == nil {
			err = s.unfit(ctx, q, f, row, 0, 1)
		}
		if err != nil {
			return err
		}
		at = row.next
	} else {
		got, err := s.call(ctx, q, f, 1)
		if err != nil {
			return err
		}
		at = got.First + 1
	}
	if at >= next {
		return nil
	}
	_, err := s.call(ctx, q, f, next-at)
	return err
}

// serverAfter returns the server as a Reservation has it, for an answer that
// could not say: asked after it, so that another server is not taken for the one
// before.
func (s *Store) serverAfter(ctx context.Context) (string, error) {
	expression, err := s.knowServer(ctx)
	if err != nil || expression == noServer {
		return serverOf("", ""), err
	}
	row, err := s.conn.query(ctx, "SELECT "+expression+s.engine.dual, nil)
	if err != nil {
		return "", err
	}
	if row == nil {
		return serverOf("", ""), nil
	}
	return serverOf("", row[0]), nil
}

// procedureWords stand in the texts of all engines.
const (
	procedureCount = "keyfill_reserve: the count must be an integer of at least 1"
	procedureRow   = "keyfill_reserve: not one row of that name in keyfill_sequences"
)

// withWords puts the messages into the text of a procedure.
func withWords(text string) string {
	return strings.NewReplacer("{count}", procedureCount, "{row}", procedureRow).Replace(text)
}
