package keyfilletcd

import (
	"context"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill/keysource"
)

// store gives access to the states (the stored counters) in one cluster of etcd. It
// connects at its first use, and sends requests to one member until that member does not
// answer: see [store.ask].
type store struct {
	config clientv3.Config // the configuration, except the member's address
	prefix string

	ended context.Context // a context that ends when the store is closed
	close context.CancelFunc
	seen  watermark

	random *rand.Rand // for the lengths of pauses and the order of members

	mu      sync.Mutex // guards the fields below; not held during a request to etcd
	asked   int        // the index of the member to which requests are sent
	members []member
	closed  bool
}

var _ keysource.Store = (*store)(nil)

func newStore(c clientv3.Config, prefix string) *store {
	s := &store{config: c, prefix: prefix, random: rand.New(chance{}), members: make([]member, len(c.Endpoints))}
	s.ended, s.close = context.WithCancel(context.Background())
	s.config.Context = s.ended
	if len(c.Endpoints) > 0 {
		s.asked = s.random.IntN(len(c.Endpoints))
	}
	return s
}

// Close ends the connections. The states (stored counters) stay in etcd, and leases stay
// until they expire.
func (s *store) Close() error {
	s.mu.Lock()
	s.closed = true
	all := slices.Clone(s.members)
	clear(s.members)
	s.mu.Unlock()
	s.close()
	for _, m := range all {
		d := m.dialling
		if d == nil {
			continue
		}
		<-d.done
		if d.conn != nil {
			_ = d.conn.close() // an error of close only says that the client's context has ended
		}
	}
	return nil
}

// Reserver returns the access to the state (a stored counter) of a sequence.
func (s *store) Reserver(st keysource.State) keysource.Reserver {
	return &numbers{counter: s.counter(st, "sequence"), counts: s.key("counts", st.Name) + "/"}
}

// Series returns one owner's access to the series (ranges of integers) of a state.
func (s *store) Series(st keysource.State, o keysource.SeriesOwner) keysource.SeriesStore {
	return newSeries(s, st, o)
}

// Marker returns the access to the mark (the time up to which a worker may make keys) of
// one worker.
func (s *store) Marker(st keysource.State, worker int64, owner string) keysource.Marker {
	return &marker{cell: s.cell("marks", st.Name, strconv.FormatInt(worker, 10)), state: st, owner: owner}
}

// key returns the key in a folder that is made of parts, each of which is escaped.
func (s *store) key(folder string, parts ...string) string {
	key := s.prefix + folder
	for _, part := range parts {
		key += "/" + url.PathEscape(part)
	}
	return key
}
