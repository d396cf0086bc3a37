package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// New returns a store in the database that db connects to. Each reservation of integers
// is a transaction of its own. The caller closes db.
func New(d *dialect.Dialect, db *sql.DB) *Store { return NewRandom(d, db, rand.Int64N) }

// NewRandom returns a store as [New] does, with a function for random numbers from 0 to
// n-1, which the store uses to choose how long it waits before it tries again. The
// function must be safe for concurrent use.
func NewRandom(d *dialect.Dialect, db *sql.DB, random func(n int64) int64) *Store {
	e := engine.Of(d)
	p := pool{db, d, random, toPrimary(d, writerFor(e, db))}
	r := newStore(d, p)
	if e.Path.Holders != "" {
		r = newStore(d, &emptyPath{pool: p, holders: e.Path.Holders})
	}
	r.Pooled, r.Random = true, random
	return r
}

// On returns a store that uses connection c, on which no transaction is open. Each
// reservation has been committed when its method returns without an error. The store is
// valid until the connection is closed.
func On(d *dialect.Dialect, c driver.Conn) *Store {
	return onConn(d, driverConn{c})
}

// Within returns a store that uses connection c inside the transaction that is open on
// it. A reservation is committed with that transaction, so its integers must not be
// used outside of it. A failed statement fails the transaction too: PostgreSQL aborts
// it.
func Within(d *dialect.Dialect, c driver.Conn) *Store {
	r := onConn(d, openTx{driverConn{c}})
	r.Inside = true
	return r
}

func onConn(d *dialect.Dialect, c Conn) *Store {
	r := newStore(d, c)
	// The server's identity is not asked for: state that belongs to a transaction, or is
	// in one file, needs none, and a query that the engine refuses would abort the
	// transaction.
	r.Server.Know(noServer)
	return r
}

// Prove returns nil if a transaction is open on the connection of the store, which [Joined]
// has returned, and [ErrEnded] if none is open. It also returns nil if the engine has no
// way to find out.
func (s *Store) Prove(ctx context.Context) error { return s.Proof.Prove(ctx) }

// By returns a copy of the store s that uses connection c of the application, on which
// no transaction is open.
func By(s *Store, c driver.Conn) *Store { return s.on(driverConn{c}) }
