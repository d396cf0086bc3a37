package session

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// These constants bound how often, and for how long, keyfill repeats an operation that the
// engine has rolled back so that another transaction could go on.
const (
	maxAgain     = 10
	againFor     = 10 * time.Second
	firstPause   = 2 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Again counts the attempts of an operation, such as a transaction of keyfill's own, that
// the engine may roll back so that another transaction can go on. The zero value counts
// from the first attempt.
type Again struct {
	tries int
	since time.Time // when the first attempt was refused
}

// Wait reports whether to make another attempt after a transient error, and waits a while
// before it returns true. Attempts after a lock in a shared cache of SQLite, for which the
// engine does not wait itself, are bounded by time alone.
func (a *Again) Wait(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	now := time.Now()
	if a.tries == 0 {
		a.since = now
	}
	a.tries++
	if a.tries > maxAgain && !IsSharedLock(err) || now.Sub(a.since) > againFor {
		return false
	}
	return Pause(ctx, a.tries-1)
}

// Pause waits before a retry, longer after more tries and for a random time, so that two
// sessions that met do not meet again. It returns false if the context ends first.
func Pause(ctx context.Context, tries int) bool {
	wait := min(firstPause<<min(tries, maxAgain), longestPause)
	timer := time.NewTimer(wait/2 + rand.N(wait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// sharedLock is SQLITE_LOCKED_SHAREDCACHE: https://www.sqlite.org/rescode.html.
const sharedLock = 262

// IsSharedLock reports whether err means that another connection, which shares SQLite's
// cache with the connection that failed, has locked the table or the database. SQLite then
// does not wait for busy_timeout.
func IsSharedLock(err error) bool { return sqlcode.Is(err, sharedLock) }

// SendsAgain reports whether to send a statement again that SQLite has refused because of a
// transaction on a connection with the same cache. No other engine has this error number.
// The refused statement has stored nothing. Inside a transaction it is false, since two
// transactions could wait for each other.
func SendsAgain(ctx context.Context, c *Conn, a *Again, err error) bool {
	return c.Tx == Outside && c.server.StatesOnConnection() && IsSharedLock(err) && a.Wait(ctx, err)
}

// ReservesAgain reports whether to send a statement of keyfill's own that reserves numbers
// again, as [SendsAgain] does for statements of the application, but after an error about
// any lock.
func ReservesAgain(ctx context.Context, c *Conn, a *Again, err error) bool {
	return c.Tx == Outside && c.server.StatesOnConnection() && sqlcode.ClassOf(c.server.Dialect(), err) == dialect.ErrorLock && a.Wait(ctx, err)
}
