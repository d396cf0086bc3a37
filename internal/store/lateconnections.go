package store

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/sqlcode"
)

const (
	// connectLimit is how long an attempt to connect may take. A server that accepts many
	// clients again after a fault needs seconds for each.
	connectLimit = 10 * time.Second

	// connectAgain is how long to wait for a connection before another attempt begins
	// beside the first one, which may never be answered.
	connectAgain = 3 * time.Second

	// connectMost is how many attempts to connect run at once. A driver may go on with an
	// attempt whose time is over.
	connectMost = 6

	// connectKept is how long a connection is kept that was made too late for its caller.
	connectKept = 2 * time.Second
)

// lateConns makes connections. If a caller's context ends before its connection is
// made, the attempt goes on, and the next caller gets the connection. Otherwise a
// server that is slow to accept many clients would begin anew with every attempt of
// every client, and stay busy with that. It is safe for concurrent use.
type lateConns struct {
	dial func(context.Context) (driver.Conn, error)
	open context.Context // canceled by close
	end  context.CancelFunc

	mu      sync.Mutex
	waiting []*connWaiter // in order of arrival
	making  []*connecting // the attempts that are running, the oldest first
	ready   []*readyConn  // connections made too late, the oldest first
}

// connWaiter is a call of connect that waits. It receives its result on done, once.
type connWaiter struct {
	since time.Time
	done  chan connMade // has room for one result
}

type connMade struct {
	conn driver.Conn
	err  error
}

// connecting is an attempt to make a connection.
type connecting struct{ since time.Time }

// readyConn is a connection that was made and that no call waits for.
type readyConn struct {
	conn  driver.Conn
	timer *time.Timer // closes the connection
}

func newLateConns(dial func(context.Context) (driver.Conn, error)) *lateConns {
	l := &lateConns{dial: dial}
	l.open, l.end = context.WithCancel(context.Background())
	return l
}

// connect returns a connection. If the context ends first, the error wraps the
// context's error.
func (l *lateConns) connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, sqlcode.Connecting(err)
	}
	l.mu.Lock()
	if len(l.ready) > 0 {
		r := l.ready[0]
		l.ready = l.ready[1:]
		l.mu.Unlock()
		r.timer.Stop()
		return r.conn, nil
	}
	w := &connWaiter{since: time.Now(), done: make(chan connMade, 1)}
	l.waiting = append(l.waiting, w)
	l.cover(ctx)
	l.mu.Unlock()
	select {
	case m := <-w.done:
		return m.conn, m.err
	case <-ctx.Done():
		l.leave(w)
		return nil, sqlcode.Connecting(ctx.Err())
	}
}

// cover begins another attempt to connect if fewer attempts are running than calls
// wait. An attempt that takes too long is not counted, but at most connectMost run at
// once. The caller holds mu.
func (l *lateConns) cover(ctx context.Context) {
	coming := 0
	for _, c := range l.making {
		if time.Since(c.since) < connectAgain {
			coming++
		}
	}
	if coming < len(l.waiting) && len(l.making) < connectMost {
		c := &connecting{since: time.Now()}
		l.making = append(l.making, c)
		go l.run(context.WithoutCancel(ctx), c)
	}
}

// leave removes w after its context ended.
func (l *lateConns) leave(w *connWaiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	if m := <-w.done; m.err == nil {
		l.hand(m.conn)
	}
}

// run makes a connection; it is a goroutine of its own.
func (l *lateConns) run(ctx context.Context, c *connecting) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	stop := context.AfterFunc(l.open, cancel)
	defer stop()
	// If this attempt takes too long, another one begins.
	again := time.AfterFunc(connectAgain, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.cover(ctx)
	})
	defer again.Stop()
	conn, err := l.dial(ctx)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.making = slices.DeleteFunc(l.making, func(o *connecting) bool { return o == c })
	if err == nil {
		l.hand(conn)
		return
	}
	// An error of this attempt fails only a waiter that arrived before the attempt began.
	if len(l.waiting) > 0 && !l.waiting[0].since.After(c.since) {
		l.first().done <- connMade{err: err}
	}
	l.cover(ctx)
}

// first removes and returns the longest waiter. The caller holds mu.
func (l *lateConns) first() (w *connWaiter) {
	w, l.waiting = l.waiting[0], l.waiting[1:]
	return w
}

// hand gives a connection to the longest waiter. If none waits, it keeps the connection
// for a while. The caller holds mu.
func (l *lateConns) hand(conn driver.Conn) {
	if len(l.waiting) > 0 { // even after close: the pool itself checks whether it was closed
		l.first().done <- connMade{conn: conn}
		return
	}
	if l.open.Err() != nil {
		_ = conn.Close() // the connection was never used
		return
	}
	r := &readyConn{conn: conn}
	r.timer = time.AfterFunc(connectKept, func() { l.drop(r) })
	l.ready = append(l.ready, r)
}

// drop closes a connection that no call has asked for in time.
func (l *lateConns) drop(r *readyConn) {
	l.mu.Lock()
	i := slices.Index(l.ready, r)
	if i >= 0 {
		l.ready = slices.Delete(l.ready, i, i+1)
	}
	l.mu.Unlock()
	if i >= 0 {
		_ = r.conn.Close()
	}
}

// close cancels the attempts to connect, and closes the connections that no call has
// asked for.
func (l *lateConns) close() {
	l.end()
	l.mu.Lock()
	ready := l.ready
	l.ready = nil
	l.mu.Unlock()
	for _, r := range ready {
		r.timer.Stop()
		_ = r.conn.Close()
	}
}
