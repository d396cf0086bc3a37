package storetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

// cutter forwards connections from clients to a server. When it is armed, it drops the
// server's next answer and the connection, after the server has done what was asked. If
// every is n, it also drops each nth answer.
type cutter struct {
	listener net.Listener
	server   *Server

	mu       sync.Mutex
	armed    bool
	every    int // n means that each nth answer is dropped, 0 that answers are only dropped when armed
	answered int
	cuts     int
}

func startCutter(t *testing.T, s *Server) *cutter {
	t.Helper()
	c := &cutter{server: s}
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

// serve forwards one connection until either side ends it.
func (c *cutter) serve(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", c.server.Addr)
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

// cut reports whether to drop the bytes, which may hold an answer.
func (c *cutter) cut(bytes []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.server.Answers(bytes) {
		return false
	}
	c.answered++
	if !c.armed && (c.every == 0 || c.answered%c.every != 0) {
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
	s := c.server.open(t, c.listener.Addr().String())
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// testAnswerLost checks that the integers of a reservation whose answer was lost are given
// to no source, that the loss is an error, and that the store gives other integers when it
// is asked again.
func testAnswerLost(t *testing.T, o Options) {
	c := startCutter(t, o.Server)
	st, _ := state(1)
	r := c.open(t).Reserver(st)
	seen := int64(0)
	gaps := 0
	for range 20 {
		c.arm()
		if got, err := r.Reserve(t.Context(), 10, seen); err == nil {
			t.Fatalf("a reservation whose answer was lost: %+v", got)
		} else if errors.Is(err, keysource.ErrStoreState) {
			t.Fatalf("a lost answer is taken for a state of no use: %v", err)
		}
		got := Await(t, r, 10, seen)
		switch {
		case got.First < seen:
			t.Fatalf("after %d came %+v", seen, got)
		case seen > 0 && got.First == seen+10:
			gaps++ // the integers of the lost answer are a gap
		case seen > 0 && got.First != seen:
			t.Errorf("after %d came %+v", seen, got)
		}
		seen = got.First + 10
	}
	if n := c.lost(); n != 20 || gaps < 10 {
		t.Errorf("%d answers were lost, which has left %d gaps", n, gaps)
	}
}

// testAnswersLost checks that no source makes a key twice, and that each goes on, while one
// of nine answers is lost, whatever its request was.
func testAnswersLost(t *testing.T, o Options) {
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := startCutter(t, o.Server)
			c.every = 9
			src := SourceOptions{Kind: kind, Name: name("orders"), Lease: o.Lease}
			var all Seen
			for i := range 2 {
				src.Owner = fmt.Sprint("owner", i)
				src.Draw(t, &all, c.open(t), 400)
			}
			if c.lost() == 0 {
				t.Error("no answer was lost")
			}
		})
	}
}
