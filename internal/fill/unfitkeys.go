package fill

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// noteUnfit finds out whether a statement has failed since a key column does not take the
// keys of its source: the engine, or the driver, has refused the statement, and the catalog
// says that the column has another type. The catalog of a table with integers was asked
// before; of others it is asked here for the first time.
func noteUnfit(ctx context.Context, x *execution, err error) {
	if x.kept || x.plan.ByFunction() || !mayBeUnfit(x, err) || ctx.Err() != nil {
		return
	}
	f := unfitFacts(ctx, x)
	t := keys.TableOf(&x.plan.Inserts[0])
	for i, d := range x.plan.Draws {
		if d.Insert == 0 && x.holes.Counts[i] > 0 && d.Key < len(f.Unfit) && f.Unfit[d.Key] != nil {
			x.fate.unfit = true
			keys.NoteUnfit(ctx, x.conn.DB.DrawingFor(&x.conn.Conn, t, d.Key), f.Unfit[d.Key])
		}
	}
}

// mayBeUnfit reports whether an error may be about the type of a value. A driver that
// encodes values by the column's type, as pgx does, refuses one without the engine.
func mayBeUnfit(x *execution, err error) bool {
	var network net.Error
	switch {
	case err == nil, isBadConn(err), x.fate.gone != nil, x.fate.undone:
		return false
	case sqlcode.Answered(err):
		class := sqlcode.ClassOf(x.plan.Dialect(), err)
		return class == dialect.ErrorOther || class == dialect.ErrorRefused
	}
	return !errors.As(err, &network) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// unfitFacts returns what the catalog tells of the rows of the execution's table. Where it
// has told that a column does not take its keys, it is asked again after a while: the
// column may have been mended.
func unfitFacts(ctx context.Context, x *execution) *keys.RowFacts {
	gate := keys.TableOf(&x.plan.Inserts[0]).GateOf(&x.conn.Conn)
	f := gate.Rows.Load()
	if f != nil && f.IsUnfit() && time.Now().UnixNano() >= gate.UnfitUntil.Load() {
		gate.Rows.CompareAndSwap(f, nil)
		f = nil
	}
	if f != nil {
		return f
	}
	f = readRowFacts(ctx, x, foundPatience, askedAgain)
	if f.IsUnfit() {
		gate.UnfitUntil.Store(time.Now().Add(askedAgain).UnixNano())
	}
	return f
}
