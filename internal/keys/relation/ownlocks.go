package relation

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
)

// ownLockWait is how long a query on a connection of keyfill's own may wait before
// keyfill checks whether the query waits for the locks of the statement's transaction
// on PostgreSQL: the server does not see that as a deadlock.
const ownLockWait = time.Second

// ErrOwnLocks is returned when the transaction holds the locks that a query has waited
// for. From then on the transaction counts as one that has changed tables, and the
// query has to be sent on its connection.
var ErrOwnLocks = anchor.New("held-connection", "the transaction has locked the table or its sequence: insert a row before that, or in a transaction of its own")

// Apart calls f, which queries columns on a connection of keyfill's own, and returns
// its error. If f waits for the transaction of g, Apart cancels f and returns
// ErrOwnLocks. g may be nil.
//
// Most transactions that lock a table show that in their texts: see Altered. Apart
// finds the locks that a function has taken, or a text that was sent on the driver's
// connection.
func Apart(ctx context.Context, g *Session, columns []store.Column, f func(context.Context) error) error {
	if g == nil || g.Tx == session.Outside || g.IsAltered() || g.Tables.Detached {
		return f(ctx)
	}
	held := store.Within(g.Tables.AnyEngine().Dialect, g.Own())
	if held.Engine.Locks.OwnLocks == "" {
		return f(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	timer := time.NewTimer(min(ownLockWait, g.Tables.StoreWait/2))
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	// The query about locks can use the caller's connection, which is idle, since f does
	// not use it.
	locks, err := held.OwnLocks(ctx, columns)
	if err != nil || !locks.Any() {
		return <-done
	}
	cancel()
	if err := <-done; err == nil {
		return nil
	}
	g.Altered.Note()
	return ErrOwnLocks
}
