package stores_test

import (
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between processes and a server. It lets nothing through while it is dark, as
// a network that is cut, and counts the round trips of its connections.
type proxy struct {
	listener net.Listener
	server   string
	sees     func(*counter, []byte) // what counts for the protocol of the connections

	trips atomic.Int64 // of all connections so far

	mu   sync.Mutex // guards what follows
	lit  chan struct{}
	open map[net.Conn]net.Conn // the client's side, and the server's once there is one
	wg   sync.WaitGroup
}

// startProxy starts a proxy, whose connections count by counter.asked or counter.framed.
func startProxy(t *testing.T, server string, sees func(*counter, []byte)) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server, sees: sees, lit: make(chan struct{}), open: map[net.Conn]net.Conn{}}
	close(p.lit)
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.light()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// dark lets nothing through from now on, in either direction. Connections are accepted, and
// get no answer.
func (p *proxy) dark() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lit = make(chan struct{})
}

// light ends the darkness: what was held back goes on.
func (p *proxy) light() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.lit:
	default:
		close(p.lit)
	}
}

// gate is closed while the proxy lets things through.
func (p *proxy) gate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lit
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for client, server := range p.open {
		reset(client)
		if server != nil {
			reset(server)
		}
	}
}

// reset closes a connection without what is still unsent.
func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.set(client, nil)
		p.wg.Go(func() { p.serve(client) })
	}
}

// set notes a connection, so that it is cut with the others.
func (p *proxy) set(client, server net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[client] = server
}

func (p *proxy) serve(client net.Conn) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, client)
	}()
	defer reset(client)
	<-p.gate()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer reset(server)
	p.set(client, server)
	c := &counter{trips: &p.trips}
	c.answered.Store(true)
	var both sync.WaitGroup
	both.Go(func() {
		defer reset(server)
		p.copy(server, client, func(b []byte) { p.sees(c, b) })
	})
	both.Go(func() {
		defer reset(client)
		p.copy(client, server, func([]byte) { c.answered.Store(true) })
	})
	both.Wait()
}

// copy copies until an error. What it has read waits while it is dark.
func (p *proxy) copy(to, from net.Conn, sees func([]byte)) {
	b := make([]byte, 1<<14)
	for {
		n, err := from.Read(b)
		if n > 0 {
			sees(b[:n])
			<-p.gate()
		}
		if _, writeErr := to.Write(b[:n]); writeErr != nil || err != nil {
			return
		}
	}
}

// counter counts the round trips of one connection.
type counter struct {
	trips    *atomic.Int64
	answered atomic.Bool // the server has sent something since the client's last words

	begun bool   // of HTTP/2: the client has sent something
	head  []byte // of HTTP/2: what is not a whole head of a frame yet
	skip  int    // of HTTP/2: how much of a frame is still to come
}

// asked counts what a client sends after the server has answered: of the protocols that
// databases and Redis speak, one round trip.
func (c *counter) asked([]byte) {
	if c.answered.Swap(false) {
		c.trips.Add(1)
	}
}

// preface is how many bytes a client of HTTP/2 sends before its first frame.
const preface = 24

// framed counts the calls of gRPC: each begins with a frame of headers. See RFC 9113, 4.1.
func (c *counter) framed(b []byte) {
	if !c.begun {
		c.begun, c.skip = true, preface
	}
	for len(b) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			b, c.skip = b[n:], c.skip-n
			continue
		}
		const size = 9 // of a head
		n := min(size-len(c.head), len(b))
		c.head, b = append(c.head, b[:n]...), b[n:]
		if len(c.head) < size {
			return
		}
		if kind := c.head[3]; kind == 1 {
			c.trips.Add(1)
		}
		c.skip = int(binary.BigEndian.Uint32([]byte{0, c.head[0], c.head[1], c.head[2]}))
		c.head = c.head[:0]
	}
}
