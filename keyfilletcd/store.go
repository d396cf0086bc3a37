package keyfilletcd

import (
	"context"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// store is the way to the states in one cluster. It connects at its first use.
type store struct {
	config clientv3.Config
	prefix string

	ended context.Context // when the store is closed
	close context.CancelFunc
	seen  watermark

	random *rand.Rand // of pauses, and of the order of what is tried

	mu       sync.Mutex // guards what follows; never held while etcd is asked
	dialling *dialling
	closed   bool
}

var _ keysource.Store = (*store)(nil)

// dialling is one attempt to make a client, which asks for a token where there is a user.
type dialling struct {
	done chan struct{} // closed when it has ended
	conn *connection
	err  error
}

func newStore(c clientv3.Config, prefix string) *store {
	s := &store{config: c, prefix: prefix, random: rand.New(chance{})}
	s.ended, s.close = context.WithCancel(context.Background())
	s.config.Context = s.ended
	return s
}

// client returns the client, which the first caller makes.
func (s *store) client(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	d := s.dialling
	if d == nil {
		d = &dialling{done: make(chan struct{})}
		s.dialling = d
		go s.dial(d)
	}
	s.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dial is the goroutine of one attempt. After an attempt that failed the next caller
// begins another one.
func (s *store) dial(d *dialling) {
	defer close(d.done)
	conn, err := connect(s.config)
	d.conn, d.err = conn, meaning(err)
	s.mu.Lock()
	closed := s.closed
	if err != nil {
		s.dialling = nil
	}
	s.mu.Unlock()
	if closed && err == nil {
		_ = conn.close() // its context has ended
		d.conn, d.err = nil, errClosed
	}
}

// Close ends the connections. The states stay, and so do leases, until they run out.
func (s *store) Close() error {
	s.mu.Lock()
	d := s.dialling
	s.closed, s.dialling = true, nil
	s.mu.Unlock()
	s.close()
	if d == nil {
		return nil
	}
	<-d.done
	if d.conn != nil {
		_ = d.conn.close() // it says that its context has ended
	}
	return nil
}

// Reserver returns the state of a sequence.
func (s *store) Reserver(st keysource.State) keysource.Reserver {
	return &numbers{counter: s.counter(st, "sequence"), counts: s.key("counts", st.Name) + "/"}
}

// Series returns the series of one owner.
func (s *store) Series(st keysource.State, o keysource.SeriesOwner) keysource.SeriesStore {
	return newSeries(s, st, o)
}

// Marker returns the mark of one worker.
func (s *store) Marker(st keysource.State, worker int64, owner string) keysource.Marker {
	return &marker{cell: s.cell("marks", st.Name, strconv.FormatInt(worker, 10)), state: st, owner: owner}
}

// key returns the key of parts, each of which is escaped.
func (s *store) key(folder string, parts ...string) string {
	key := s.prefix + folder
	for _, part := range parts {
		key += "/" + url.PathEscape(part)
	}
	return key
}
