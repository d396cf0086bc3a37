package relation

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
)

// ownLockWait is how long a question on a connection of our own has been waited for in a
// transaction of PostgreSQL, when the transaction is asked whether it is the one that the
// question waits for: the server sees no deadlock.
const ownLockWait = time.Second

// ErrOwnLocks is returned when the transaction holds the locks that a question has waited
// for. From then on it counts as one that has changed tables, and the question has to be
// asked on its own connection.
var ErrOwnLocks = anchor.New("held-connection", "the transaction has locked the table or its sequence: insert a row before that, or in a transaction of its own")

// Apart runs f, which asks on a connection of our own for something about columns, and
// returns its error. g may be nil. Where f waits for the transaction of g, apart cancels
// it and returns errOwnLocks.
//
// Most transactions that lock a table tell by their texts: see Altered. A function that
// does, or a text that was sent on the driver's connection, is found here.
func Apart(ctx context.Context, g *Session, columns []store.Column, f func(context.Context) error) error {
	if g == nil || g.Tx == session.Outside || g.IsAltered() || g.Tables.Detached {
		return f(ctx)
	}
	d := g.Tables.AnyEngine().Dialect
	if d.Family != dialect.FamilyPostgreSQL {
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
	// The caller's connection is at rest: f does not use it.
	locks, err := store.Within(d, g.Own()).OwnLocks(ctx, columns)
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
