package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/keysource"
)

// procedureCall reserves by the procedure of a sequence.
type procedureCall struct{ row *sequenceRow }

// reserve is [Store.Reserve]. Fewer than n of the integers may be up to the
// sequence's limit.
func (p procedureCall) reserve(ctx context.Context, n int64) (keysource.Reservation, error) {
	q, r := p.row.q, p.row.store
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
	return p.row.store.server.in(ctx, fmt.Sprintf(p.row.store.engine.call, p.row.q.Procedure))
}

// once calls the procedure and returns its answer once it has committed.
func (p procedureCall) once(ctx context.Context, n int64) (answer []any, err error) {
	r := p.row.store
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
	q, r := p.row.q, p.row.store
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
