package outcome

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// unknownRows has no facts. It is used for tables that the catalog does not show.
var unknownRows = new(table.RowFacts)

// RowFactsOf returns the facts about the rows of the execution's table. It queries the
// catalog once. If that fails, it returns no facts, and queries again after a while.
func RowFactsOf(ctx context.Context, x *execution.Execution) *table.RowFacts {
	t := table.Of(&x.Plan.Inserts[0])
	return readRowFacts(ctx, x, execution.AsidePatience, &x.Conn.GateOf(t).RowsPausedUntil, table.RecheckPause)
}

// triggerFacts returns the facts that RowFactsOf returns, for an INSERT whose answer
// proves everything except the effects of a trigger. It waits less long than RowFactsOf,
// and tries again later: a pool may have no connection left for keyfill.
func triggerFacts(ctx context.Context, x *execution.Execution) *table.RowFacts {
	t := table.Of(&x.Plan.Inserts[0])
	return readRowFacts(ctx, x, execution.FoundPatience, &x.Conn.GateOf(t).TriggersPausedUntil, execution.AskedAgain)
}

func readRowFacts(ctx context.Context, x *execution.Execution, patience time.Duration, pausedUntil *atomic.Int64, pause time.Duration) *table.RowFacts {
	gate := x.Conn.GateOf(table.Of(&x.Plan.Inserts[0]))
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

// askRowFacts queries the catalog for the facts about the rows of the execution's table.
func askRowFacts(ctx context.Context, x *execution.Execution, patience time.Duration) (*table.RowFacts, error) {
	c, t := x.Conn, table.Of(&x.Plan.Inserts[0])
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	d := c.DB.AnyEngine().Dialect
	found, err := c.DB.CatalogTable(ctx, &c.Session, d, t.Rule.Schema, t.Rule.Name)
	if NoteAsked(ctx, x, err); err != nil {
		return nil, err
	}
	return table.NewRowFacts(d, t, found), nil
}

// NoteAsked handles the error of a query about a statement that has succeeded. If the
// transaction has ended since, the statement counts as failed.
func NoteAsked(ctx context.Context, x *execution.Execution, err error) {
	if x.Fate.Gone == nil {
		x.Fate.Gone = UndoneAfter(ctx, x.Conn, err)
	}
}
