package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// slowConnector is a server that needs a time for each connection.
type slowConnector struct {
	fake  *fakedb.DB
	takes time.Duration
	errs  map[int64]error // by the number of the connection, from 1 on
	lost  bool            // it never answers the first time
	deaf  bool            // it does not look at the context

	asked, given, closed, ended atomic.Int64
}

func (c *slowConnector) Connect(ctx context.Context) (driver.Conn, error) {
	number := c.asked.Add(1)
	takes := c.takes
	if number == 1 && c.lost {
		takes = time.Hour
	}
	if c.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		c.ended.Add(1)
		return nil, ctx.Err()
	}
	if err := c.errs[number]; err != nil {
		return nil, err
	}
	c.given.Add(1)
	return &countedConn{fakedb.Strengths[2].Make(c.fake), &c.closed}, nil
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
		c := &slowConnector{fake: &fakedb.DB{}, takes: 2500 * time.Millisecond}
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

// TestLateConnections: a connection that no call waits for any more is closed after a
// while, or with the pool, and its error is dropped.
func TestLateConnections(t *testing.T) {
	try := func(t *testing.T, c *slowConnector, d time.Duration) (close func() error, err error) {
		db := store.Pool(dialect.PostgreSQL(), c)
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return db.Close, db.PingContext(ctx)
	}
	t.Run("not wanted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fakedb.DB{}, takes: 2 * time.Second}
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
		for _, test := range []struct {
			takes        time.Duration
			given, ended int64
		}{
			{takes: 2 * time.Second, given: 1}, // made when the pool is closed, after four seconds
			{takes: 6 * time.Second, ended: 1},
		} {
			synctest.Test(t, func(t *testing.T) {
				c := &slowConnector{fake: &fakedb.DB{}, takes: test.takes}
				end, err := try(t, c, time.Second)
				if err == nil {
					t.Error("no error")
				}
				time.Sleep(3 * time.Second)
				if err := end(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if c.given.Load() != test.given || c.ended.Load() != test.ended || c.closed.Load() != test.given {
					t.Errorf("%v: %d were made, %d given up and %d closed, want %+v",
						test.takes, c.given.Load(), c.ended.Load(), c.closed.Load(), test)
				}
			})
		}
	})
	t.Run("pool closed while somebody waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fakedb.DB{}, takes: 2 * time.Second, deaf: true}
			db := store.Pool(dialect.PostgreSQL(), c)
			answer := make(chan error, 1)
			go func() { answer <- db.PingContext(context.Background()) }()
			time.Sleep(time.Second)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
			select {
			case <-answer:
			default:
				t.Fatal("no answer")
			}
			synctest.Wait()
			if c.given.Load() != 1 || c.closed.Load() != 1 {
				t.Errorf("%d were made and %d closed, want 1 and 1", c.given.Load(), c.closed.Load())
			}
		})
	})
	t.Run("silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fakedb.DB{}, takes: time.Hour}
			end, _ := try(t, c, time.Second)
			time.Sleep(8 * time.Second)
			if n := c.ended.Load(); n != 0 {
				t.Errorf("%d were given up after nine seconds, want 0", n)
			}
			time.Sleep(2 * time.Second)
			if n := c.ended.Load(); n != 1 {
				t.Errorf("%d were given up after eleven seconds, want 1", n)
			}
			if err := end(); err != nil {
				t.Error(err)
			}
		})
	})
	for _, attempt := range []time.Duration{time.Second, 8 * time.Second} {
		t.Run("lost, attempts of "+attempt.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &slowConnector{fake: &fakedb.DB{}, lost: true}
				db := store.Pool(dialect.PostgreSQL(), c)
				began := time.Now()
				for {
					ctx, cancel := context.WithTimeout(t.Context(), attempt)
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
	}
	t.Run("failed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fakedb.DB{}, takes: 2 * time.Second, errs: map[int64]error{1: errors.New("no")}}
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
	// The first attempt to connect is silent. The second one, which is begun beside it,
	// answers one of two callers with its error, and the other one is not left with silence.
	t.Run("failed beside a silent one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fakedb.DB{}, lost: true, errs: map[int64]error{2: errors.New("no")}}
			db := store.Pool(dialect.PostgreSQL(), c)
			defer db.Close()
			began := time.Now()
			var group sync.WaitGroup
			var failed atomic.Int64
			for range 2 {
				group.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
					defer cancel()
					if err := db.PingContext(ctx); errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("after %v: %v", time.Since(began), err)
					} else if err != nil {
						failed.Add(1)
					}
				})
			}
			group.Wait()
			if took := time.Since(began); failed.Load() != 1 || took > 3*time.Second {
				t.Errorf("%d failed, and the last one was answered after %v, want 1 and 3s", failed.Load(), took)
			}
		})
	})
	t.Run("deaf and silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &slowConnector{fake: &fakedb.DB{}, takes: time.Hour, deaf: true}
			db := store.Pool(dialect.PostgreSQL(), c)
			for range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if err := db.PingContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
				cancel()
			}
			if n := c.asked.Load(); n != 6 {
				t.Errorf("%d connections were asked for that nothing ends, want 6", n)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if c.closed.Load() != c.given.Load() {
				t.Errorf("%d were made and %d closed", c.given.Load(), c.closed.Load())
			}
		})
	})
}

// TestGreeting: a connection on which autocommit cannot be turned on is not used.
func TestGreeting(t *testing.T) {
	closed := 0
	f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
		if strings.HasPrefix(query, "SET") {
			return fakedb.Reply{Err: fakedb.ErrRefused}
		}
		return fakedb.EngineAnswers(dialect.MySQL())(query)
	}}
	db := store.Pool(dialect.MySQL(), fakedb.Connector(f, func(f *fakedb.DB) driver.Conn { return closing{fakedb.BareConn{F: f}, &closed} }))
	defer db.Close()
	if _, err := sequence.Reserve(context.Background(), store.New(dialect.MySQL(), db), fakedb.Orders, 1, 0); !errors.Is(err, fakedb.ErrRefused) {
		t.Errorf("%v, want %v", err, fakedb.ErrRefused)
	}
	if log := f.Lines(); closed == 0 || closed != strings.Count(log, "connect") || strings.Contains(log, "UPDATE") {
		t.Errorf("%d connections are closed, want all; it sends\n%s", closed, log)
	}
}

// closing counts how often it is closed.
type closing struct {
	fakedb.BareConn
	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }
