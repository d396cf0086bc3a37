package fill

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/keys"
)

// unknownRows describes tables that the catalog has not shown.
var unknownRows = new(keys.RowFacts)

// rowFacts returns what is known of the rows of the execution's table. It asks the
// catalog once; if that fails, nothing is known, and it is asked again after a while.
func (x *execution) rowFacts(ctx context.Context) *keys.RowFacts {
	t := keys.TableOf(&x.plan.Inserts[0])
	return readRowFacts(ctx, x, asidePatience, &t.GateOf(&x.conn.Conn).RowsPausedUntil, keys.RecheckPause)
}

// triggerFacts is execution.rowFacts for an INSERT whose answer proves all but what a trigger has
// done. It waits for less and asks again later: a pool may have no connection to spare
// for keyfill.
func triggerFacts(ctx context.Context, x *execution) *keys.RowFacts {
	t := keys.TableOf(&x.plan.Inserts[0])
	return readRowFacts(ctx, x, foundPatience, &t.GateOf(&x.conn.Conn).TriggersPausedUntil, askedAgain)
}

func readRowFacts(ctx context.Context, x *execution, patience time.Duration, pausedUntil *atomic.Int64, pause time.Duration) *keys.RowFacts {
	gate := keys.TableOf(&x.plan.Inserts[0]).GateOf(&x.conn.Conn)
	if f := gate.Rows.Load(); f != nil {
		return f
	}
	if time.Now().UnixNano() < pausedUntil.Load() {
		return unknownRows
	}
	f, err := askRowFacts(ctx, x, patience)
	if err != nil {
		pausedUntil.Store(time.Now().Add(pause).UnixNano())
		return unknownRows
	}
	gate.Rows.Store(f)
	return f
}

// askRowFacts asks the catalog.
func askRowFacts(ctx context.Context, x *execution, patience time.Duration) (*keys.RowFacts, error) {
	c, t := x.conn, keys.TableOf(&x.plan.Inserts[0])
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	d := c.DB.AnyEngine().Dialect
	found, err := c.DB.CatalogTable(ctx, &c.Conn, d, t.Rule.Schema, t.Rule.Name)
	if x.noteAsked(ctx, err); err != nil {
		return nil, err
	}
	return keys.NewRowFacts(d, t, found), nil
}

// asidePatience is how long a statement that has succeeded waits for what is
// asked about it.
const asidePatience = 10 * time.Second

// aside returns the context of questions about a statement that has succeeded: a
// caller whose time is up just then is not to lose the connection for them.
func aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), asidePatience)
}

// askedAgain is after how long a table whose rows could not be read is asked again.
const askedAgain = time.Minute

// noteAsked handles the error of a question about a statement that has succeeded: where
// the transaction has ended by then, the statement has failed.
func (x *execution) noteAsked(ctx context.Context, err error) {
	if x.fate.gone == nil {
		x.fate.gone = undoneBehind(ctx, x.conn, err)
	}
}
