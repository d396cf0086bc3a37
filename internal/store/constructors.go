package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// New returns the store of the database that db connects to. Each reservation is a
// transaction of its own. The store does not close the pool.
func New(d *dialect.Dialect, db *sql.DB) *Store { return NewRandom(d, db, rand.Int64N) }

// NewRandom is [New] with the random numbers from 0 to n-1 by which the store waits before it
// tries again. The function must be safe for concurrent use.
func NewRandom(d *dialect.Dialect, db *sql.DB, random func(n int64) int64) *Store {
	e := engine.Of(d)
	p := pool{db, d, random, e.BindsTexts}
	r := newStore(d, p)
	if e.Path.Holders != "" {
		r = newStore(d, &emptyPath{pool: p, holders: e.Path.Holders})
	}
	r.Pooled, r.Random = true, random
	return r
}

// On returns the store as one connection sees it, on which no transaction is open. Each
// reservation has committed when the method returns without an error. The store is valid
// until the connection is closed.
func On(d *dialect.Dialect, c driver.Conn) *Store {
	return onConn(d, driverConn{c})
}

// Within returns the store as one connection sees it inside the transaction
// that is open on it. A reservation commits with the transaction, so that its
// integers must not be used outside of it. An error of a statement is the
// transaction's: PostgreSQL has then aborted it.
func Within(d *dialect.Dialect, c driver.Conn) *Store {
	return withinConn(d, c)
}

func onConn(d *dialect.Dialect, c Conn) *Store {
	r := newStore(d, c)
	// What belongs to a transaction, or stays in one file, needs no identity;
	// and a question that the engine cannot answer would abort the
	// transaction.
	r.Server.Know(noServer)
	return r
}

func withinConn(d *dialect.Dialect, c driver.Conn) *Store {
	r := onConn(d, openTx{driverConn{c}})
	r.Inside = true
	return r
}

// Prove returns nil if a transaction is open, for a store of [Joined], and [ErrEnded] if
// none is. It is nil if the engine has no way to find out.
func (s *Store) Prove(ctx context.Context) error { return s.Proof.Prove(ctx) }

// By returns the store of s on a connection of the application, on which no transaction is
// open.
func By(s *Store, c driver.Conn) *Store { return s.on(driverConn{c}) }
