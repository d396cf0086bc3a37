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

// procedureCall reserves by the procedure of a sequence.
type procedureCall struct{ row *sequenceRow }

// reserve is [Store.Reserve]. Fewer than n of the integers may be up to the
// sequence's limit.
func (p procedureCall) reserve(ctx context.Context, n int64) (keysource.Reservation, error) {
	q, r := p.row.q, p.row.run
	if r.inside && r.engine.callCommits {
		return keysource.Reservation{}, fmt.Errorf("%w: sequence %q: what a procedure of %s reserves is not undone with the transaction: reserve by statements there",
			keysource.ErrOptions, q.Name, r.dialect.Title)
	}
	if err := r.proof.prove(ctx); err != nil {
		return keysource.Reservation{}, err
	}
	answer, err := p.once(ctx, n)
	if err != nil {
		return keysource.Reservation{}, p.why(ctx, n, err)
	}
	tellsServer := strings.Contains(r.engine.call, "{server}")
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
	if q.Table == nil && q.readable() {
		// The procedure knows of no end that the row may have got. One that is not there
		// yet comes only above what was reserved.
		stored, err := p.row.read(ctx)
		if err != nil {
			return keysource.Reservation{}, err
		}
		if stored != nil {
			q.remember(stored)
		}
	}
	if limit := p.row.limit(); first > limit || q.end() > 0 && first > limit-n+1 {
		return keysource.Reservation{}, p.row.exhausted(first)
	}
	got := keysource.Reservation{First: first}
	if len(answer) > 1 {
		got.Server = serverOf("", answer[1])
	} else if got.Server, err = r.server.after(ctx); err != nil {
		return keysource.Reservation{}, r.failed(q.Name, err)
	}
	return got, nil
}

// text returns the call.
func (p procedureCall) text(ctx context.Context) (string, error) {
	return p.row.run.server.in(ctx, fmt.Sprintf(p.row.run.engine.call, p.row.q.Procedure))
}

// once calls the procedure and returns its answer once it has committed.
func (p procedureCall) once(ctx context.Context, n int64) (answer []any, err error) {
	r := p.row.run
	query, err := p.text(ctx)
	if err != nil {
		return nil, err
	}
	args := []any{p.row.q.callName(), n}
	if !r.engine.callNeedsTransaction {
		return r.conn.query(ctx, query, args)
	}
	err = r.conn.transact(ctx, func(c conn) (err error) {
		answer, err = c.query(ctx, query, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// why returns the error of a call that has failed. It says what is wrong with the
// row, if that can be found, or else with the procedure.
func (p procedureCall) why(ctx context.Context, n int64, failed error) error {
	q, r := p.row.q, p.row.run
	if errors.Is(failed, ErrRows) {
		return q.fail(ErrProcedure, "it has answered with more than one row")
	}
	if isBroken(failed) || isRolledBack(r.dialect, failed) || ctx.Err() != nil || r.inside && !r.engine.sturdy {
		return r.failed(q.Name, failed)
	}
	if q.readable() {
		stored, err := p.row.read(ctx)
		if err == nil {
			err = p.row.unfit(ctx, stored, n, 1)
		}
		var e *Error
		if errors.As(err, &e) {
			return e
		}
	}
	query, err := p.text(ctx)
	if err != nil {
		return r.failed(q.Name, failed)
	}
	return r.failed(q.Name, r.judge(ctx, ErrProcedure, failed, query, []any{q.callName(), n}))
}

// advance raises the next value by reserving all integers below it. What others
// reserve meanwhile makes it rise further.
func (p procedureCall) advance(ctx context.Context, next int64) error {
	if next > p.row.limit()+1 {
		return p.row.exhausted(0)
	}
	var at int64
	if p.row.q.readable() {
		stored, err := p.row.read(ctx)
		if err == nil {
			err = p.row.unfit(ctx, stored, 0, 1)
		}
		if err != nil {
			return err
		}
		at = stored.next
	} else {
		got, err := p.reserve(ctx, 1)
		if err != nil {
			return err
		}
		at = got.First + 1
	}
	if at >= next {
		return nil
	}
	_, err := p.reserve(ctx, next-at)
	return err
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
