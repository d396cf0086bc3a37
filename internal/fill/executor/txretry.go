package executor

import (
	"context"
	"database/sql/driver"
	"io"
	"slices"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// take draws the keys of an execution, in the transaction to which they belong. If the
// engine has rolled back a transaction that keyfill has begun, in favour of another
// one, take begins it again.
func (t *Transactional) take(ctx context.Context) (err error) {
	panics := true
	defer giveUp(t.X.Conn, &panics)
	for again := true; again; {
		if err = t.join(ctx); err != nil {
			again = t.X.Conn.Tx == session.Outside && t.again(ctx, err)
			continue
		}
		if err = t.drawProven(ctx); err == nil {
			break
		}
		ours := t.own != nil
		t.drawing = true
		err = t.Leave(ctx, t.unlessEnded(err))
		t.drawing = false
		again = ours && (t.forgot(err) || t.remakes(err) || t.again(ctx, err))
	}
	panics = false
	return err
}

// giveUp is deferred while a transaction may be open that keyfill has begun. If the
// driver panics, that transaction would stay open, and the application might go on with
// the connection; giveUp marks the connection as unusable.
func giveUp(c *execution.Conn, panics *bool) {
	if *panics {
		c.MarkUnknown()
		c.MarkUnusable()
	}
}

// forgot reports, once, whether a transaction that keyfill has begun has failed because the
// server has discarded the prepared statements. The texts that are sent after that are
// written in another way, so that they are prepared anew.
func (t *Transactional) forgot(err error) bool {
	if t.forgotten || !session.IsForgotten(err) {
		return false
	}
	t.forgotten = true
	return true
}

// remakes reports, once, whether a transaction that keyfill has begun has failed because
// keyfill's tables are missing. The tables are created before the next transaction.
func (t *Transactional) remakes(err error) bool {
	if t.remade || !relation.IsGone(err) {
		return false
	}
	t.remade = true
	return true
}

// drawProven draws the keys of an execution. Keys that belong to its transaction are
// drawn in a transaction that is proven to stay open until the INSERT.
func (t *Transactional) drawProven(ctx context.Context) error {
	if err := t.X.Conn.ProveBefore(ctx, t.own != nil); err != nil {
		return err
	}
	if len(t.X.Follows.Before) > 0 {
		if err := t.X.Follows.RaiseBefore(ctx); err != nil {
			return err
		}
	}
	if t.within != nil {
		if err := t.within.count(ctx); err != nil {
			return err
		}
	}
	drawn, err := draw(ctx, t.X)
	if err != nil {
		return err
	}
	if err := t.X.Conn.ProveAfter(ctx); err != nil {
		return err
	}
	t.X.Drawn.Keys = drawn
	return nil
}

// sendJoined sends an execution's statement, and sends it again with new keys if the
// engine has rolled back a transaction that keyfill has begun, in favour of another one.
// whole reports that the answer has no rows left to read.
func sendJoined[T any](ctx context.Context, t *Transactional, whole bool, send func() (T, error)) (T, error) {
	panics := true
	defer giveUp(t.X.Conn, &panics)
	answer, err := sendAgain(ctx, t, whole, send)
	panics = false
	return answer, err
}

// sendAgain does what sendJoined does, without the handling of a panic.
func sendAgain[T any](ctx context.Context, t *Transactional, whole bool, send func() (T, error)) (T, error) {
	once := send
	if t.counted != nil {
		once = func() (T, error) { return sendCounted(ctx, t.counted, whole, send) }
	}
	for {
		answer, err := once()
		if err == nil && whole && len(t.X.Follows.Stored) > 0 {
			err = RaiseStored(ctx, &t.X.Follows)
		}
		res, isResult := any(answer).(driver.Result)
		isResult = isResult && whole
		if err == nil && isResult && t.within != nil {
			err = t.within.check(ctx, res)
		}
		if err != nil {
			err = t.unlessEnded(err)
		}
		if err != nil && t.within != nil {
			if t.within.again(err) {
				t.within.sendsAgain = true
				err = t.Leave(ctx, err)
				if t.within.sendsAgain = false; t.X.Conn.Tx == session.Unknown {
					return answer, err
				}
				t.within.blame(ctx)
				if err := t.take(ctx); err != nil {
					return answer, err
				}
				Place(t.X)
				continue
			}
			err = t.within.told(ctx, err)
		}
		if err == nil && isResult && t.own != nil {
			if err = t.commit(ctx, res); err == nil || !t.X.Conn.DB.IsUndone(err) || t.reads() {
				return answer, err
			}
		}
		switch {
		case err == nil, t.own == nil && !t.committed, !t.transient(err), t.reads():
			return answer, err
		}
		if err = t.Leave(ctx, err); !t.again(ctx, err) {
			return answer, err
		}
		t.committed = false
		if err := t.take(ctx); err != nil {
			t.X.Fate.Undone = true // the execution still has the keys of the earlier attempt, which a rollback has returned
			return answer, err
		}
		Place(t.X)
	}
}

// commit commits the transaction that keyfill has begun, after the queries about its
// rows. The nodes of a cluster check a transaction then, and roll back the later one of
// two that conflict. The field committed is set, whether the commit succeeds or not.
func (t *Transactional) commit(ctx context.Context, res driver.Result) error {
	t.Ask(ctx, res)
	if t.X.Fate.Gone != nil {
		return t.X.Fate.Gone // nothing is left to commit
	}
	t.committed = true
	return t.Leave(ctx, nil)
}

// reads reports whether an argument is read while it is sent, like a LOB of Oracle, so
// that it cannot be sent a second time.
func (t *Transactional) reads() bool {
	return slices.ContainsFunc(t.X.Args, func(arg driver.NamedValue) bool {
		_, is := arg.Value.(io.Reader)
		return is
	})
}

// again reports whether an execution's transaction, which keyfill has begun and which
// is rolled back, must be repeated after err. It waits first, since transactions that
// conflicted could conflict again at once.
func (t *Transactional) again(ctx context.Context, err error) bool {
	return t.transient(err) && t.tries.Wait(ctx, err)
}

// transient reports whether an error of the engine has ended a transaction that may
// succeed when it is repeated.
func (t *Transactional) transient(err error) bool {
	return err == outcome.ErrEnded || sqlcode.ClassOf(t.X.Plan.Dialect, err).Transient()
}
