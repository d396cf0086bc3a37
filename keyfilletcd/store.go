package keyfilletcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// store is the way to the states in one cluster. It connects at its first use, and asks one
// member until that leaves a question without an answer. A client of all members asks by
// turns, and would ask a silent one for the 13 seconds that it takes to find it broken.
type store struct {
	config clientv3.Config // but for the member
	prefix string

	ended context.Context // when the store is closed
	close context.CancelFunc
	seen  watermark

	random *rand.Rand // of pauses, and of the order of what is tried

	mu       sync.Mutex  // guards what follows; never held while etcd is asked
	asked    int         // the member that is asked
	dialling []*dialling // of each member; nil: there was none, or it has failed
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
	s := &store{config: c, prefix: prefix, random: rand.New(chance{}), dialling: make([]*dialling, len(c.Endpoints))}
	s.ended, s.close = context.WithCancel(context.Background())
	s.config.Context = s.ended
	if len(c.Endpoints) > 0 {
		s.asked = s.random.IntN(len(c.Endpoints))
	}
	return s
}

// client returns the client of the member that is asked, which the first caller makes.
func (s *store) client(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	member := s.asked
	d := s.dialling[member]
	if d == nil {
		d = &dialling{done: make(chan struct{})}
		s.dialling[member] = d
		go s.dial(member, d)
	}
	s.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		s.leave(member)
		return nil, ctx.Err()
	}
}

// dial is the goroutine of one attempt. After an attempt that failed the next caller
// begins one with another member.
func (s *store) dial(member int, d *dialling) {
	defer close(d.done)
	config := s.config
	config.Endpoints = s.config.Endpoints[member : member+1]
	conn, err := connect(config, member)
	d.conn, d.err = conn, meaning(err)
	s.mu.Lock()
	closed := s.closed
	if err != nil && !closed {
		s.dialling[member] = nil
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		s.leave(member)
	case closed:
		_ = conn.close() // its context has ended
		d.conn, d.err = nil, errClosed
	}
}

// leave makes another member the one that is asked, if it is this one.
func (s *store) leave(member int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == member {
		s.asked = (member + 1) % len(s.dialling)
	}
}

// meaning returns what an error of a client means, and leaves the member unless that is what
// the cluster says, or the caller has gone.
func (s *store) meaning(c *connection, err error) error {
	err = c.reached(meaning(err))
	if err != nil && !isLost(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, keysource.ErrStoreState) {
		s.leave(c.member)
	}
	return err
}

// Close ends the connections. The states stay, and so do leases, until they run out.
func (s *store) Close() error {
	s.mu.Lock()
	s.closed = true
	all := slices.Clone(s.dialling)
	clear(s.dialling)
	s.mu.Unlock()
	s.close()
	for _, d := range all {
		if d == nil {
			continue
		}
		<-d.done
		if d.conn != nil {
			_ = d.conn.close() // it says that its context has ended
		}
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
