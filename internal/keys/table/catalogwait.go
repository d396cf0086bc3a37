package table

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
)

// AskCatalog queries the catalog through q, on a connection of keyfill's own, or on the
// one that lent returns if the server accepts no more connections. lent may be nil or
// return nil. If neither works, AskCatalog tries again until wait (the policy's store_wait) is over. It formats the driver's
// error into a new one, since a driver.ErrBadConn would make database/sql throw away
// the application's connection. If the error is nil, the caller may read what ask has
// set.
func AskCatalog(ctx context.Context, d *dialect.Dialect, wait time.Duration, q catalog.Querier, lent func() driver.Conn, ask func(context.Context, catalog.Querier) error) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var answered error // the server's last answer, which says more than that the time is over
	for pause := firstCatalogPause; ; pause = min(2*pause, longestCatalogPause) {
		err := Within(limited, func(ctx context.Context) error { return ask(ctx, q) })
		if lent != nil && IsFull(err) {
			// A driver may close a connection whose context has ended, so this query is not
			// limited by wait.
			if c := lent(); c != nil {
				if err := ask(ctx, catalog.Conn(c)); err == nil || errors.Is(err, catalog.ErrNoTable) {
					return err
				}
			}
			lent = nil // ask on this connection only once
		}
		switch class := sqlcode.ClassOf(d, err); {
		case err == nil, errors.Is(err, catalog.ErrNoTable):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case class.Final():
			return fmt.Errorf("%w: the catalog cannot be read: %v", keysource.ErrStoreState, err)
		case limited.Err() == nil:
			answered = err
			if class == dialect.ErrorPassing && isPausing(limited, pause) {
				continue
			}
		}
		return notRead(cmp.Or(answered, err))
	}
}

// IsFull reports whether a server has refused a connection because it accepts no more
// of them.
func IsFull(err error) bool {
	var connecting *sqlcode.ConnectError
	return errors.As(err, &connecting) && connecting.Code.Limit == sqlcode.LimitConnection
}

// errSharedSession is returned if the server answers, but its answer shows that a pooler
// gives the session to several clients.
var errSharedSession = anchor.New("store-down", "a pooler gave the session statements of other clients: let the driver prepare none, as docs/pool.md says")

// sharedSession is the error of a session that a pooler gives to several clients. The
// caller treats it as a store that is down.
type sharedSession struct{ answer error }

func (e *sharedSession) Error() string { return errSharedSession.Error() + ": " + e.answer.Error() }

func (e *sharedSession) Unwrap() []error { return []error{errSharedSession, keysource.ErrStoreDown} }

// notRead returns the error for a catalog that has not answered in time.
func notRead(cause error) error {
	if code, ok := sqlcode.Of(cause); ok && code.State == duplicatePrepared {
		return &sharedSession{cause}
	}
	return fmt.Errorf("%w: the catalog cannot be read: %v", keysource.ErrStoreDown, cause)
}

// Within calls ask, and returns soon after ctx ends even if ask does not: lib/pq waits
// until the server answers its cancel request, and a pooler without free connections
// may answer that after minutes.
func Within(ctx context.Context, ask func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- ask(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // the server's answer says more than the context's error
		return err
	case <-time.After(answerGrace):
		return ctx.Err()
	}
}

// duplicatePrepared is the SQLSTATE duplicate_prepared_statement: PostgreSQL 18
// documentation, appendix A.
const duplicatePrepared = "42P05"

// answerGrace is how long Within waits for an answer after ctx has ended: a driver that
// has noticed the end answers at once.
const answerGrace = 200 * time.Millisecond

// The pauses before the catalog is queried again.
const (
	firstCatalogPause   = 2 * time.Millisecond
	longestCatalogPause = 200 * time.Millisecond
)

// isPausing waits for the pause, and reports whether the context has not ended
// meanwhile.
func isPausing(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
