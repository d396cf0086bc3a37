package fill

import (
	"context"
	"database/sql/driver"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// How often, and for how long, a transaction of ours that the engine ended is made
// again.
const (
	maxAgain     = 10
	againFor     = 10 * time.Second
	firstPause   = 2 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// take draws the keys of an execution, in the transaction that they belong to.
// Where the engine has ended one of ours for the sake of others, it is made
// again.
func (x *execution) take(ctx context.Context) error {
	if !x.joining.any {
		return x.drawProven(ctx)
	}
	panics := true
	defer x.conn.giveUp(&panics)
	err := x.takeJoined(ctx)
	panics = false
	return err
}

// giveUp is deferred while a transaction of ours may be open. Where the driver
// panics, nobody would end that one, and the application may go on with the
// connection.
func (g *Conn) giveUp(panics *bool) {
	if *panics {
		g.MarkUnknown()
		g.MarkUnusable()
	}
}

// takeJoined is take for keys that belong to transactions.
func (x *execution) takeJoined(ctx context.Context) error {
	for {
		err := x.join(ctx)
		if err != nil {
			if x.conn.Tx == session.Outside && x.again(ctx, err) {
				continue
			}
			return err
		}
		if err = x.drawProven(ctx); err == nil {
			return nil
		}
		ours := x.own != nil
		err = x.unlessEnded(err)
		x.drawing = true
		err = x.leave(ctx, err)
		x.drawing = false
		if !ours || !x.again(ctx, err) {
			return err
		}
	}
}

// drawProven draws the keys of an execution. Those that belong to its transaction
// are drawn in one that is open until the INSERT.
func (x *execution) drawProven(ctx context.Context) error {
	if err := x.proveBefore(ctx); err != nil {
		return err
	}
	if err := x.raiseBefore(ctx); err != nil {
		return err
	}
	var drawn [][]driver.Value
	if x.plan.Counts() {
		drawn = x.keys // for the count
	}
	var room *keys.Room
	if x.keys == nil {
		room = &x.room // those of an attempt before are kept until there are others
	}
	drawn, err := keys.Draw(ctx, x.plan, x.args, x.holes, x.rows, drawn, x.conn, room)
	if err != nil {
		return err
	}
	if err := x.proveBehind(ctx); err != nil {
		return err
	}
	x.keys = drawn
	return nil
}

// within sends an execution's statement, and again with new keys where the engine
// has ended a transaction of ours for the sake of others. whole is as for attempt.
func within[T any](ctx context.Context, x *execution, whole bool, send func() (T, error)) (T, error) {
	if !x.joining.any {
		return attempt(ctx, x, whole, send)
	}
	panics := true
	defer x.conn.giveUp(&panics)
	answer, err := withinJoined(ctx, x, whole, send)
	panics = false
	return answer, err
}

// withinJoined is within for keys that belong to transactions.
func withinJoined[T any](ctx context.Context, x *execution, whole bool, send func() (T, error)) (T, error) {
	for {
		answer, err := attempt(ctx, x, whole, send)
		if err == nil && whole {
			err = x.raiseStored(ctx)
		}
		err = x.unlessEnded(err)
		if res, isResult := any(answer).(driver.Result); err == nil && whole && isResult && x.own != nil {
			if err = x.commit(ctx, res); !x.conn.DB.IsUndone(err) || x.reads() {
				return answer, err
			}
		}
		switch {
		case err == nil, x.own == nil && !x.committed, !x.transient(err), x.reads():
			return answer, err
		}
		if err = x.leave(ctx, err); !x.again(ctx, err) {
			return answer, err
		}
		x.committed = false
		if err := x.take(ctx); err != nil {
			x.undone = true // the keys of the attempt before are those it has
			return answer, err
		}
		x.place()
	}
}

// commit commits a transaction of ours, after it was asked what it has stored. The
// nodes of a cluster certify a transaction then, and one that came second is undone:
// committed says that it has ended, whatever came of it.
func (x *execution) commit(ctx context.Context, res driver.Result) error {
	x.settle(ctx, res)
	if x.gone != nil {
		return x.gone // nothing is left to commit
	}
	x.committed = true
	return x.leave(ctx, nil)
}

// reads reports whether an argument is read as it is sent, so that nothing would be
// left of it the second time: a LOB of Oracle.
func (x *execution) reads() bool {
	return slices.ContainsFunc(x.args, func(arg driver.NamedValue) bool {
		_, is := arg.Value.(io.Reader)
		return is
	})
}

// again reports whether the transaction of an execution, which is undone and was
// ours, is to be made again after an error. It waits a while first: those who met
// would meet again.
func (x *execution) again(ctx context.Context, err error) bool {
	if !x.transient(err) || ctx.Err() != nil {
		return false
	}
	now := time.Now()
	if x.tries == 0 {
		x.since = now
	}
	x.tries++
	if x.tries > maxAgain || now.Sub(x.since) > againFor {
		return false
	}
	pause := min(firstPause<<(x.tries-1), longestPause)
	timer := time.NewTimer(pause/2 + rand.N(pause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// transient reports whether an error of the engine ends a transaction that may
// succeed when it is made again.
func (x *execution) transient(err error) bool {
	return err == errEnded || sqlcode.ClassOf(x.plan.Dialect(), err).Transient()
}
