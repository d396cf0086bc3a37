package e2e_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// cutter is a proxy on 127.0.0.1 that resets each connection after some bytes
// in one direction, wherever in a message that is.
type cutter struct {
	listener    net.Listener
	server      string
	conns, cuts atomic.Int64
	healed      atomic.Bool
	wg          sync.WaitGroup
}

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cutter{listener: l, server: server}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *cutter) addr() string { return p.listener.Addr().String() }

// heal ends the cuts of connections that are opened from now on, and of those
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
		for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
			p.wg.Go(func() {
				p.copy(way[1], way[0], 1000+rand.IntN(12_000))
				once.Do(end)
			})
		}
	}
}

// copy copies until an error, or until so many bytes have gone by.
func (p *cutter) copy(to io.Writer, from io.Reader, bytes int) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		cut := n > bytes && !p.healed.Load()
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
