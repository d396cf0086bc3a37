package keyfillredis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillredis"
	"github.com/keyfill/keyfill/keysource"
)

// cutter stands between clients and a server. When it is armed, the next answer of a script
// is lost with its connection: the server has done what it was asked for. So is one of every
// so many answers, where that is set.
type cutter struct {
	listener net.Listener
	server   string

	mu      sync.Mutex
	armed   bool
	every   int // 0: none but where it is armed
	answers int
	cuts    int
}

func startCutter(t *testing.T, s *testdb.RedisServer) *cutter {
	t.Helper()
	c := &cutter{server: s.Addr()}
	var err error
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			in, err := c.listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { c.serve(in) })
		}
	})
	t.Cleanup(func() {
		_ = c.listener.Close()
		conns.Wait()
	})
	return c
}

// serve carries one connection until either side ends it.
func (c *cutter) serve(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer out.Close()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	})
	both.Go(func() {
		defer in.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := out.Read(buffer)
			if err != nil || c.cut(buffer[:n]) {
				_ = out.Close()
				return
			}
			if _, err := in.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	both.Wait()
}

// cut reports whether an answer is lost: a list, as a script answers with.
func (c *cutter) cut(bytes []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes[0] != '*' {
		return false
	}
	c.answers++
	if !c.armed && (c.every == 0 || c.answers%c.every != 0) {
		return false
	}
	c.armed = false
	c.cuts++
	return true
}

func (c *cutter) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = true
}

// lost returns how many answers were lost.
func (c *cutter) lost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cuts
}

// open opens a store through the cutter.
func (c *cutter) open(t *testing.T) keysource.Store {
	t.Helper()
	s, err := keyfillredis.Driver{}.OpenStore("redis://" + c.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestAnswerLost: the integers of a reservation whose answer was lost are nobody's, the loss
// is an error, and a store that is asked again gives others.
func TestAnswerLost(t *testing.T) {
	c := startCutter(t, testdb.StartRedis(t))
	r := c.open(t).Reserver(state("orders"))
	seen := int64(0)
	gaps := 0
	for range 20 {
		c.arm()
		if got, err := r.Reserve(t.Context(), 10, seen); err == nil {
			t.Fatalf("a reservation whose answer was lost: %+v", got)
		} else if errors.Is(err, keysource.ErrStoreState) {
			t.Fatalf("a lost answer is taken for a state of no use: %v", err)
		}
		got := reserve(t, r, 10, seen)
		switch {
		case got.First < seen:
			t.Fatalf("after %d came %+v", seen, got)
		case seen > 0 && got.First == seen+10:
			gaps++ // what the lost answer had
		case seen > 0 && got.First != seen:
			t.Errorf("after %d came %+v", seen, got)
		}
		seen = got.First + 10
	}
	if n := c.lost(); n != 20 || gaps < 10 {
		t.Errorf("%d answers were lost, which has left %d gaps", n, gaps)
	}
}

// reserve reserves as soon as the store answers.
func reserve(t *testing.T, r keysource.Reserver, n, seen int64) keysource.Reservation {
	t.Helper()
	for {
		got, err := r.Reserve(t.Context(), n, seen)
		if err == nil {
			return got
		}
		if errors.Is(err, keysource.ErrStoreState) || t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSourcesAnswersLost: while one of nine answers is lost, to whatever it was, no source
// makes a key twice, and each goes on.
func TestSourcesAnswersLost(t *testing.T) {
	server := testdb.StartRedis(t)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := startCutter(t, server)
			c.every = 9
			var all seen
			for i := range 2 {
				drawFrom(t, &all, c.open(t), kind, fmt.Sprint("owner", i), 400)
			}
			if c.lost() == 0 {
				t.Error("no answer was lost")
			}
		})
	}
}

// drawFrom draws keys from a source of a kind.
func drawFrom(t *testing.T, all *seen, s keysource.Store, kind, owner string, n int) {
	t.Helper()
	src, err := newSource(s, kind, owner)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		key, err := src.Reserve(t.Context(), 1)
		if err != nil {
			t.Fatalf("after %d keys: %v", all.count(), err)
		}
		all.add(t, key)
	}
	_ = src.Close(context.WithoutCancel(t.Context())) // its answer may be lost, too
}

// twice sends one of so many scripts twice, and tells the second answer, as a client does
// that has not got the first one.
type twice struct {
	every int64
	sent  *atomic.Int64
}

func (twice) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); err == nil && (name == "eval" || name == "evalsha") && w.sent.Add(1)%w.every == 0 {
			err = next(ctx, cmd)
		}
		return err
	}
}

func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestSentTwice: what a script reserves that is sent twice is a gap, and no source makes a key
// twice.
func TestSentTwice(t *testing.T) {
	server := testdb.StartRedis(t)
	open := func(t *testing.T, every int64) keysource.Store {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		client.AddHook(twice{every, new(atomic.Int64)})
		name := "redis-" + rand.Text()
		if err := keyfillredis.Register(name, client); err != nil {
			t.Fatal(err)
		}
		return registered(t, name)
	}
	r := open(t, 1).Reserver(state("orders"))
	low := int64(1)
	for range 5 {
		got := reserve(t, r, 10, 0)
		if got.First < low+10 {
			t.Errorf("below %d nothing was left, and what is sent twice reserves 20: %+v", low, got)
		}
		low = got.First + 10
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			var all seen
			for i := range 3 {
				drawFrom(t, &all, open(t, 3), kind, fmt.Sprint("owner", i), 300)
			}
			other := opened(t, server) // by a client that sends nothing twice
			drawFrom(t, &all, other, kind, "other", 300)
		})
	}
}
