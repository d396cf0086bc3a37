package store

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Store runs statements in one database, where [New], [On], [Within] or [Joined] says,
// and tells what their errors mean (refusal.go). Each type that keeps something in the
// database holds one. A Store of [New] is safe for concurrent use; a Store of [On] or
// [Within] is not, as its connection is not.
type Store struct {
	dialect *dialect.Dialect
	engine  *engine
	conn    conn
	server  *serverIdentity
	found   *found // of a pool; others share none
	random  random

	pooled bool // conn is ours, not the application's
	inside bool // in a transaction that is not ours

	// proof proves that the transaction is open; nil where nothing is to be proven.
	proof *prover
}

// random returns a number from 0 to n-1, as rand.Int64N does. It is safe for concurrent use.
type random func(n int64) int64

func newStore(d *dialect.Dialect, c conn) *Store {
	e := engineOf(d)
	return &Store{dialect: d, engine: e, conn: c, server: &serverIdentity{engine: e, conn: c}, found: new(found), random: rand.Int64N}
}

// on returns the same store on another way to its connection.
func (r *Store) on(c conn) *Store {
	other := *r
	other.conn, other.server, other.proof = c, r.server.on(c), r.proof.on(c)
	return &other
}

// within returns the store of a transaction of our own.
func (r *Store) within(c conn) *Store {
	other := r.on(c)
	other.inside, other.proof = true, nil
	return other
}

// update runs an UPDATE and returns its answer once it has committed, nil where
// no row fits. Within a transaction of the application it commits with that.
func (r *Store) update(ctx context.Context, u update, v values) ([]any, error) {
	if u.into != nil {
		return r.updateInto(ctx, u, v)
	}
	query, err := r.server.in(ctx, u.text)
	if err != nil {
		return nil, err
	}
	return r.conn.query(ctx, r.proof.behind(query), u.bind(v))
}

// updateInto runs an update of an engine that gives the answer in arguments.
func (r *Store) updateInto(ctx context.Context, u update, v values) ([]any, error) {
	integers, texts := make([]int64, len(u.into)), make([]string, len(u.into))
	args := u.bind(v)
	for i, k := range u.into {
		if k == integer {
			args = append(args, sql.Out{Dest: &integers[i]})
		} else {
			args = append(args, sql.Out{Dest: &texts[i]})
		}
	}
	n, err := r.conn.exec(ctx, u.text, args)
	if err != nil || n == 0 {
		return nil, err
	}
	if n > 1 {
		return nil, ErrRows
	}
	row := make([]any, len(u.into))
	for i, k := range u.into {
		if k == integer {
			row[i] = integers[i]
		} else {
			row[i] = texts[i]
		}
	}
	return row, nil
}

// probe reads a table of keyfill's.
func (r *Store) probe(ctx context.Context, table string) error {
	_, err := r.conn.query(ctx, probeText(table), nil)
	return err
}

// probeAll reads all tables of keyfill's at once.
func (r *Store) probeAll(ctx context.Context) error {
	_, err := r.conn.query(ctx, "SELECT s.updated_at, w.updated_at, o.updated_at FROM keyfill_sequences s, keyfill_workers w, keyfill_series o WHERE 1 = 0", nil)
	return err
}

// canRead reports whether a table of keyfill's is there, and the user may read it. The error
// of a query says neither where it may have another answer the next time: a lock that was
// waited for in vain, a connection that broke.
func (r *Store) canRead(ctx context.Context, table string) (bool, error) {
	err := r.probe(ctx, table)
	if err == nil {
		return true, nil
	}
	err = r.judge(ctx, ErrTables, err, probeText(table), nil)
	if errors.Is(err, ErrTables) || errors.Is(err, ErrRights) {
		return false, nil
	}
	return false, err
}

func probeText(table string) string { return "SELECT updated_at FROM " + table + " WHERE 1 = 0" }

// literal returns a text as it is written into a statement.
func (r *Store) literal(text string) string {
	if r.dialect.Lexis.BackslashEscapes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return r.engine.quote + strings.ReplaceAll(text, "'", "''") + "'"
}
