package sequence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
)

// procedureCall reserves by calling the procedure of a sequence.
type procedureCall struct{ row *Row }

// take reserves n integers as [Reserve] does. Some of them may be above the sequence's
// limit.
func (p procedureCall) take(ctx context.Context, n int64) (keysource.Reservation, error) {
	q, r := p.row.q, p.row.store
	if r.Inside && r.Engine.Procedures.CallCommits {
		return keysource.Reservation{}, fmt.Errorf("%w: sequence %q: what a procedure of %s reserves is not undone with the transaction: reserve by statements there",
			keysource.ErrOptions, q.Name, r.Dialect.Title)
	}
	if err := r.Proof.Prove(ctx); err != nil {
		return keysource.Reservation{}, err
	}
	answer, err := p.once(ctx, n)
	if err != nil {
		return keysource.Reservation{}, p.why(ctx, n, err)
	}
	tellsServer := strings.Contains(r.Engine.Procedures.Call, "{server}")
	if len(answer) > 1 && !tellsServer {
		return keysource.Reservation{}, q.Fail(store.ErrProcedure, "it has answered with %d columns", len(answer))
	}
	if answer == nil || answer[0] == nil {
		return keysource.Reservation{}, q.Fail(store.ErrProcedure, "it has answered with no integer; is there a row for %q?", q.callName())
	}
	first, err := store.Integer(answer[0])
	if err != nil {
		return keysource.Reservation{}, q.Fail(store.ErrProcedure, "its answer is not an integer")
	}
	if first < 1 {
		return keysource.Reservation{}, q.Fail(store.ErrProcedure, "its answer is below 1; does it count from there, or answer with the last one?")
	}
	if q.Table == nil && q.readable() {
		// The procedure does not know an end that the row may have got. An end that is set
		// later lies above the reserved integers.
		stored, err := p.row.Read(ctx)
		if err != nil {
			return keysource.Reservation{}, err
		}
		if stored != nil {
			q.Remember(stored)
		}
	}
	if limit := p.row.Limit(); first > limit || q.End() > 0 && first > limit-n+1 {
		return keysource.Reservation{}, p.row.Exhausted(first)
	}
	got := keysource.Reservation{First: first}
	if len(answer) > 1 {
		got.Server = store.ServerOf("", answer[1])
	} else if got.Server, err = r.Server.After(ctx); err != nil {
		return keysource.Reservation{}, r.Failed(q.Name, err)
	}
	return got, nil
}

// text returns the statement that calls the procedure.
func (p procedureCall) text(ctx context.Context) (string, error) {
	return p.row.store.Server.PutInto(ctx, fmt.Sprintf(p.row.store.Engine.Procedures.Call, p.row.q.Procedure))
}

// once calls the procedure and returns its answer after the call has committed.
func (p procedureCall) once(ctx context.Context, n int64) (answer []any, err error) {
	r := p.row.store
	query, err := p.text(ctx)
	if err != nil {
		return nil, err
	}
	args := []any{p.row.q.callName(), n}
	if !r.Engine.Procedures.CallNeedsTransaction {
		return r.Conn.Query(ctx, query, args)
	}
	err = r.Conn.Transact(ctx, func(c store.Conn) (err error) {
		answer, err = c.Query(ctx, query, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// why returns the error of a call that has failed. It describes the fault of the row if
// that can be found, and otherwise the fault of the procedure.
func (p procedureCall) why(ctx context.Context, n int64, failed error) error {
	q, r := p.row.q, p.row.store
	if errors.Is(failed, store.ErrRows) {
		return q.Fail(store.ErrProcedure, "it has answered with more than one row")
	}
	if store.IsBroken(failed) || store.IsRolledBack(r.Dialect, failed) || ctx.Err() != nil || r.Inside && !r.Engine.ErrorsKeepTransaction {
		return r.Failed(q.Name, failed)
	}
	if q.readable() {
		stored, err := p.row.Read(ctx)
		if err == nil {
			err = p.row.unfit(ctx, stored, n, 1)
		}
		var e *store.Error
		if errors.As(err, &e) {
			return e
		}
	}
	query, err := p.text(ctx)
	if err != nil {
		return r.Failed(q.Name, failed)
	}
	return r.Failed(q.Name, r.Judge(ctx, store.ErrProcedure, failed, query, []any{q.callName(), n}))
}

// advance raises the next value by reserving all integers below next. If other processes
// reserve meanwhile, the value rises further.
func (p procedureCall) advance(ctx context.Context, next int64) error {
	if next > p.row.Limit()+1 {
		return p.row.Exhausted(0)
	}
	var at int64
	if p.row.q.readable() {
		stored, err := p.row.Read(ctx)
		if err == nil {
			err = p.row.unfit(ctx, stored, 0, 1)
		}
		if err != nil {
			return err
		}
		at = stored.Next
	} else {
		got, err := p.take(ctx, 1)
		if err != nil {
			return err
		}
		at = got.First + 1
	}
	if at >= next {
		return nil
	}
	_, err := p.take(ctx, next-at)
	return err
}
