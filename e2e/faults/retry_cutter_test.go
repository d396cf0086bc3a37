package faults_test

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// cut is what a cutter does when a COMMIT comes by.
type cut int

const (
	cutNever  cut = iota
	cutBefore     // the server does not get it
	cutRaced      // the server may get it, and learns at once that the client is gone
	cutBehind     // the server gets it, and its answer is lost
	cutAnswer     // the same, once the answer is there
	cutLate       // the client is cut first, and the server gets it a while later
	cuts          // of these the tests choose by chance

	cutHeld // the client is cut, and the server, which never gets it, a while later
)

// commitCutter is a proxy on 127.0.0.1 that cuts connections at a COMMIT.
type commitCutter struct {
	listener net.Listener
	server   string
	decide   func() (how cut, late time.Duration)
	wg       sync.WaitGroup
}

func newCommitCutter(t *testing.T, server string, decide func() (cut, time.Duration)) *commitCutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &commitCutter{listener: l, server: server, decide: decide}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.wg.Wait()
	})
	return p
}

// dsn returns a DSN of an engine's server by way of the cutter.
func (p *commitCutter) dsn(e harness.Engine, dsn string) string {
	return strings.Replace(dsn, e.Server.Addr(), p.listener.Addr().String(), 1)
}

func (p *commitCutter) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		c := &cutting{client: client.(*net.TCPConn), server: server.(*net.TCPConn), decide: p.decide, answered: make(chan struct{})}
		p.wg.Go(c.up)
		p.wg.Go(c.down)
	}
}

// cutting is one connection through a cutter.
type cutting struct {
	client, server *net.TCPConn
	decide         func() (cut, time.Duration)
	answered       chan struct{} // closed when the server has answered a COMMIT, or is gone
	once           sync.Once
	mu             sync.Mutex
	holds          bool // answers are not passed on
}

// isCommit reports whether the last of the messages that a driver has sent is a COMMIT, and
// no other statement with the word in it.
func isCommit(sent []byte) bool {
	word := []byte("COMMIT")
	return len(sent) <= 64 && bytes.HasSuffix(bytes.TrimSuffix(bytes.ToUpper(sent), []byte{0}), word)
}

// settled is for how long a server is left alone with a COMMIT whose client is gone.
const settled = 200 * time.Millisecond

func (c *cutting) up() {
	defer reset(c.server)
	defer reset(c.client)
	b := make([]byte, 64<<10)
	for {
		n, err := c.client.Read(b)
		if err != nil {
			return
		}
		how, late := cutNever, time.Duration(0)
		if isCommit(b[:n]) {
			how, late = c.decide()
		}
		if how == cutBefore {
			return
		}
		c.mu.Lock()
		c.holds = how != cutNever
		c.mu.Unlock()
		if how == cutLate || how == cutHeld {
			reset(c.client)
			time.Sleep(late)
		}
		if how == cutHeld {
			return
		}
		if _, err := c.server.Write(b[:n]); err != nil || how == cutRaced {
			return
		}
		switch how {
		case cutBehind:
			reset(c.client)
			c.await(settled)
			return
		case cutAnswer, cutLate:
			c.await(harness.Limit)
			return
		}
	}
}

// await waits for the server's answer.
func (c *cutting) await(limit time.Duration) {
	select {
	case <-c.answered:
	case <-time.After(limit):
	}
}

func (c *cutting) down() {
	defer c.once.Do(func() { close(c.answered) })
	b := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(b)
		c.mu.Lock()
		holds := c.holds
		c.mu.Unlock()
		switch {
		case holds:
			return
		case err != nil:
			reset(c.client)
			return
		}
		if _, err := c.client.Write(b[:n]); err != nil {
			return
		}
	}
}
