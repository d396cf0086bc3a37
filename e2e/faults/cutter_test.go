package faults_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cutter is a proxy on 127.0.0.1 that resets each connection after some bytes
// in one direction, wherever in a message that is; or one that lets answers come
// late.
type cutter struct {
	listener    net.Listener
	server      string
	conns, cuts atomic.Int64
	healed      atomic.Bool
	late        func() time.Duration // of an answer; nil: it cuts
	wg          sync.WaitGroup
}

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	return newProxy(t, &cutter{server: server})
}

// newLate returns a proxy whose answers come late.
func newLate(t *testing.T, server string, late func() time.Duration) *cutter {
	t.Helper()
	return newProxy(t, &cutter{server: server, late: late})
}

func newProxy(t *testing.T, p *cutter) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.listener = l
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *cutter) addr() string { return p.listener.Addr().String() }

// heal ends the faults of connections that are opened from now on, and of those
// that are open.
func (p *cutter) heal() { p.healed.Store(true) }

func (p *cutter) accept() {
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
		p.conns.Add(1)
		var once sync.Once
		end := func() {
			// Without what is still unsent: a reset.
			_ = client.(*net.TCPConn).SetLinger(0)
			_ = server.(*net.TCPConn).SetLinger(0)
			client.Close()
			server.Close()
		}
		p.wg.Go(func() {
			p.copy(server, client, nil)
			once.Do(end)
		})
		p.wg.Go(func() {
			p.copy(client, server, p.late)
			once.Do(end)
		})
	}
}

// copy copies until an error, or until a random number of bytes has passed. late says how
// long each part waits; nil: not.
func (p *cutter) copy(to io.Writer, from io.Reader, late func() time.Duration) {
	b := make([]byte, 4096)
	bytes := 1000 + rand.IntN(12_000)
	for {
		n, err := from.Read(b)
		cut := p.late == nil && n > bytes && !p.healed.Load()
		if late != nil && !p.healed.Load() {
			time.Sleep(late())
		}
		if cut {
			n = bytes
			p.cuts.Add(1)
		}
		if _, writeErr := to.Write(b[:n]); writeErr != nil || err != nil || cut {
			return
		}
		bytes = max(bytes-n, 0)
	}
}
