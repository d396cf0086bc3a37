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

// cutter stands between clients and a server. When it is armed, the next answer of the
// server is lost with its connection: the server has done what it was asked for. So is one
// of every so many answers, where that is set.
type cutter struct {
	listener net.Listener
	server   *Server

	mu       sync.Mutex
	armed    bool
	every    int // 0: none but where it is armed
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

// serve carries one connection until either side ends it.
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

// cut reports whether an answer is lost.
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

// testAnswerLost: the integers of a reservation whose answer was lost are given to no
// source, the loss is an error, and a store that is asked again gives others.
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

// testAnswersLost: while one of nine answers is lost, whatever its question was, no source
// makes a key twice, and each goes on.
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
