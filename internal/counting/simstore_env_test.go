package counting_test

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"sync"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store"
)

// The databases of the simulation. In half of the worlds an UPDATE answers with what it has
// stored; in the others rows are read, and replaced where they are as they were.
var (
	simPostgreSQL = simdb.New(dialect.PostgreSQL())
	simMariaDB    = simdb.New(dialect.MariaDB())
	simSQLite     = simdb.New(dialect.SQLite())
)

// The tables of the store, and the column that the keys go to.
const (
	seqTable    = "keyfill_sequences"
	serTable    = "keyfill_series"
	workerTable = "keyfill_workers"
)

var simColumns = []store.Column{{Table: "orders", Name: "id"}}

// simDBOf returns the database of a world.
func simDBOf(w *sim.World) *simdb.DB {
	if w.Seed>>2%2 == 0 {
		return simPostgreSQL
	}
	return simMariaDB
}

// mutate is what a mutant does to the way to the store; zero: nothing.
type mutate struct {
	db   *simdb.DB // whose statements edit knows; nil: each world's
	edit func(text string) string
	wire func(*sim.Conn)
}

// simStores are the stores of one life of a process, over pools of their own. They must not
// be used before the life's Open has returned, but for the one that is opened directly.
type simStores struct {
	client *simdb.Client
	random func(n int64) int64

	mu    sync.Mutex
	pools []*sql.DB
}

func newSimStores(p *sim.Process, m mutate) *simStores {
	db := m.db
	if db == nil {
		db = simDBOf(p.World)
	}
	r := rand.New(rand.NewPCG(p.World.Seed, uint64(p.Number)<<32|uint64(p.Life)))
	var mu sync.Mutex
	return &simStores{
		client: &simdb.Client{DB: db, Process: p, Edit: m.edit, Wire: m.wire},
		random: func(n int64) int64 { mu.Lock(); defer mu.Unlock(); return r.Int64N(n) },
	}
}

// network returns the store at the end of a network.
func (s *simStores) network() *store.Store {
	d := s.client.DB.Dialect()
	pool := store.Pool(d, s.client.Connector())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pools = append(s.pools, pool)
	return store.NewRandom(d, pool, s.random)
}

// directly calls open with the store as it is when nothing else happens: what a process has
// done before the first fault.
func (s *simStores) directly(open func(*store.Store) error) error {
	d := s.client.DB.Dialect()
	pool := store.Pool(d, s.client.Direct())
	defer pool.Close()
	return open(store.New(d, pool))
}

// close closes all pools.
func (s *simStores) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pool := range s.pools {
		_ = pool.Close()
	}
}

// turns lets one call at a time use a connection, so that at most one waits for the pool,
// which goes on with any of its waiters.
type turns chan struct{}

func (c turns) do(ctx context.Context, f func() error) error {
	select {
	case c <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c }()
	return f()
}
