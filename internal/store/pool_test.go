package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
)

// slowConnector is a server that needs a time for each connection.
type slowConnector struct {
	fake  *fake
	takes time.Duration
	err   error // it answers the first time with this one
	lost  bool  // it never answers the first time

	asked, given, closed, ended atomic.Int64
}

func (c *slowConnector) Connect(ctx context.Context) (driver.Conn, error) {
	first := c.asked.Add(1) == 1
	takes := c.takes
	if first && c.lost {
		takes = time.Hour
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		c.ended.Add(1)
		return nil, ctx.Err()
	}
	if first && c.err != nil {
		return nil, c.err
	}
	c.given.Add(1)
	return &countedConn{strengths[2].make(c.fake), &c.closed}, nil
}

func (c *slowConnector) Driver() driver.Driver { return nil }

// countedConn counts that it is closed, once.
type countedConn struct {
	driver.Conn
	closed *atomic.Int64
}

func (c *countedConn) Close() error {
	c.closed.Add(1)
	return c.Conn.Close()
}

// TestSlowConnections: a connection that takes longer than an attempt is used by a later one,
// so that a server that is slow to take connections is not asked for more and more of them.
func TestSlowConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &slowConnector{fake: &fake{}, takes: 2500 * time.Millisecond}
		db := store.Pool(dialect.PostgreSQL(), c)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for try := 1; ; try++ {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					conn, err := db.Conn(ctx)
					cancel()
					if err == nil {
						if try != 3 {
							t.Errorf("try %d has a connection, want try 3", try)
						}
						time.Sleep(time.Second)
						_ = conn.Close()
						return
					}
					if !errors.Is(err, context.DeadlineExceeded) || try > 10 {
						t.Errorf("try %d: %v", try, err)
						return
					}
				}
			})
		}
		group.Wait()
		if asked, given := c.asked.Load(), c.given.Load(); asked != 2 || given != 2 {
			t.Errorf("%d connections were asked for and %d made, want 2", asked, given)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if n := c.closed.Load(); n != 2 {
			t.Errorf("%d connections were closed, want 2", n)
		}
	})
}

// TestLateConnections: what nobody waits for any more is closed after a while, or with the
// pool, and an error of it is nobody's.
func TestLateConnections(t *testing.T) {
	try := func(t *testing.T, c *slowConnector, d time.Duration) (close func() error, err error) {
		db := store.Pool(dialect.PostgreSQL(), c)
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return db.Close, db.PingContext(ctx)
	}
	t.Run("not wanted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fake{}, takes: 2 * time.Second}
			end, err := try(t, c, time.Second)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			time.Sleep(2 * time.Second)
			if n := c.closed.Load(); n != 0 {
				t.Errorf("%d were closed at once", n)
			}
			time.Sleep(time.Minute)
			if n := c.closed.Load(); n != 1 {
				t.Errorf("%d were closed after a minute, want 1", n)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("pool closed", func(t *testing.T) {
		for _, takes := range []time.Duration{2 * time.Second, 6 * time.Second} { // at 4 it is made, or not
			synctest.Test(t, func(t *testing.T) {
				c := &slowConnector{fake: &fake{}, takes: takes}
				end, err := try(t, c, time.Second)
				if err == nil {
					t.Error("no error")
				}
				time.Sleep(3 * time.Second)
				if err := end(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if c.closed.Load() != c.given.Load() || c.given.Load()+c.ended.Load() != 1 {
					t.Errorf("%d were made, %d given up and %d closed", c.given.Load(), c.ended.Load(), c.closed.Load())
				}
			})
		}
	})
	t.Run("silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fake{}, takes: time.Hour}
			end, _ := try(t, c, time.Second)
			time.Sleep(11 * time.Second)
			if n := c.ended.Load(); n != 1 {
				t.Errorf("%d were given up, want 1", n)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fake{}, lost: true}
			db := store.Pool(dialect.PostgreSQL(), c)
			began := time.Now()
			for {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := db.PingContext(ctx)
				cancel()
				if err == nil {
					break
				}
			}
			if took := time.Since(began); took != 3*time.Second || c.asked.Load() != 2 {
				t.Errorf("connected after %v, and asked for %d, want 2 and the second one after 3s", took, c.asked.Load())
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if c.ended.Load() != 1 || c.closed.Load() != 1 {
				t.Errorf("%d were given up and %d closed, want 1 and 1", c.ended.Load(), c.closed.Load())
			}
		})
	})
	t.Run("failed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fake{}, takes: 2 * time.Second, err: errors.New("no")}
			db := store.Pool(dialect.PostgreSQL(), c)
			defer db.Close()
			ping := func(d time.Duration) error {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				defer cancel()
				return db.PingContext(ctx)
			}
			if err := ping(time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if err := ping(5 * time.Second); err != nil || c.asked.Load() != 2 {
				t.Errorf("%v, after %d attempts to connect", err, c.asked.Load())
			}
		})
	})
}
