package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"sync"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

const (
	// poolConns is how many connections a pool has at most: one for the block
	// that somebody waits for, one for the others.
	poolConns = 2

	// poolIdle is the time for which an unused connection is kept.
	poolIdle = 30 * time.Second

	// connectLimit is how long connecting may take. A server that has many clients to take
	// back after a fault needs seconds for each.
	connectLimit = 10 * time.Second
)

// Pool returns a small pool of connections of an application's connector, for
// [New]: at most two, opened when they are needed and closed when they have not
// been for half a minute. Nothing is connected before the first use, and what
// the application does with its own connections, of which there may be one, is
// no hindrance. Whoever made the pool closes it; the connector stays open. Of the
// connector's errors nothing is shown but the engine's code and what the network
// says: the rest may hold the DSN.
//
// On MySQL and MariaDB each connection begins with SET autocommit = 1, since
// the application's DSN may say otherwise, and on a Galera cluster its SELECTs see
// what the other nodes have committed.
func Pool(d *dialect.Dialect, c driver.Connector) *sql.DB {
	l := &lent{connector: c, greetings: engineOf(d).greetings}
	l.open, l.end = context.WithCancel(context.Background())
	db := sql.OpenDB(l)
	db.SetMaxOpenConns(poolConns)
	db.SetMaxIdleConns(poolConns)
	db.SetConnMaxIdleTime(poolIdle)
	return db
}

// lent is a connector that is not closed with its pool. What is waited for may end before
// the server has taken a connection: connecting goes on then, for who asks next. Were it
// given up, a busy server would begin anew with each attempt, and be busy with that.
type lent struct {
	connector driver.Connector
	greetings []string // each connection begins with the first of them that the server takes

	open context.Context // until the pool is closed
	end  context.CancelFunc

	mu   sync.Mutex
	late []*connecting // whose callers have gone
}

// connecting is one connection that is being made.
type connecting struct {
	done chan struct{} // closed when it has ended
	conn driver.Conn
	err  error
}

func (l *lent) Connect(ctx context.Context) (driver.Conn, error) {
	c, late := l.next(ctx)
	for {
		select {
		case <-c.done:
			if c.err == nil || !late {
				return c.conn, c.err
			}
			// What has failed meanwhile says nothing of now.
			c, late = l.next(ctx)
		case <-ctx.Done():
			l.leave(c)
			return nil, sqlcode.Connecting(ctx.Err())
		}
	}
}

// next returns a connection that nobody waits for, or begins with one.
func (l *lent) next(ctx context.Context) (c *connecting, late bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.late) > 0 {
		c, l.late = l.late[0], l.late[1:]
		return c, true
	}
	c = &connecting{done: make(chan struct{})}
	go l.connect(context.WithoutCancel(ctx), c)
	return c, false
}

// leave keeps a connection for who asks next, and closes it where nobody does.
func (l *lent) leave(c *connecting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = append(l.late, c)
	go func() {
		<-c.done
		if c.err == nil {
			select {
			case <-time.After(poolIdle):
			case <-l.open.Done():
			}
		}
		l.mu.Lock()
		i := slices.Index(l.late, c)
		if i >= 0 {
			l.late = slices.Delete(l.late, i, i+1)
		}
		l.mu.Unlock()
		if i >= 0 && c.err == nil {
			_ = c.conn.Close() // it was never used
		}
	}()
}

// connect is the goroutine that makes a connection.
func (l *lent) connect(ctx context.Context, c *connecting) {
	defer close(c.done)
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	defer context.AfterFunc(l.open, cancel)()
	c.conn, c.err = l.greeted(ctx)
}

// greeted makes a connection and greets the server.
func (l *lent) greeted(ctx context.Context) (driver.Conn, error) {
	c, err := l.connector.Connect(ctx)
	if err != nil {
		return nil, sqlcode.Connecting(err)
	}
	for _, greeting := range l.greetings {
		if _, err = dbconn.Exec(ctx, c, greeting, nil); err == nil || isBroken(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		// The error of the statement is the cause of any that follows.
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (l *lent) Driver() driver.Driver { return l.connector.Driver() }

// Close ends what is being made, and leaves the connector open. The pool calls it.
func (l *lent) Close() error {
	l.end()
	return nil
}
