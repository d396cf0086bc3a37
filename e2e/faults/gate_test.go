package faults_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// gate is a proxy on 127.0.0.1 to a server. While it is shut, connections are reset, also
// those that were open, and no other one comes about: the server is lost to its clients.
type gate struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup

	mu   sync.Mutex
	down bool
	open map[net.Conn]bool
}

func newGate(t *testing.T, server string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, server: server, open: map[net.Conn]bool{}}
	g.wg.Go(g.accept)
	t.Cleanup(func() {
		l.Close()
		g.shut()
		g.wg.Wait()
	})
	return g
}

func (g *gate) addr() string { return g.listener.Addr().String() }

// shut resets all connections.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = true
	for c := range g.open {
		reset(c)
	}
}

// unshut lets connections through again.
func (g *gate) unshut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = false
}

// reset ends a connection without what is still unsent.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0) // it may be closed already
	c.Close()
}

func (g *gate) accept() {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", g.server)
		if err != nil {
			reset(client)
			continue
		}
		if !g.admit(client, server) {
			continue
		}
		var once sync.Once
		end := func() { g.leave(client, server) }
		for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
			g.wg.Go(func() {
				_, _ = io.Copy(way[0], way[1]) // it ends when either side does
				once.Do(end)
			})
		}
	}
}

// admit notes a connection with its two ends, and resets both while the gate is shut.
func (g *gate) admit(both ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range both {
		if g.down {
			reset(c)
		} else {
			g.open[c] = true
		}
	}
	return !g.down
}

func (g *gate) leave(both ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range both {
		delete(g.open, c)
		reset(c)
	}
}
