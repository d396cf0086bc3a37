package store

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// Store executes statements in one database, on the pool or connection that was given
// to [New], [On], [Within] or [Joined], and interprets their errors (refusal.go). Each
// type that keeps something in the database has one. A Store of [New] is safe for
// concurrent use; a Store of [On] or [Within] is not, since its connection is not.
type Store struct {
	Dialect *dialect.Dialect
	Engine  *engine.Engine
	Conn    Conn
	Server  *ServerIdentity
	Found   *Found // shared by all stores of a pool, as Peers
	Peers   *Peers
	Random  Random

	Pooled bool // Conn belongs to the store, not to the application
	Inside bool // a transaction that the store has not begun is open

	// Proof proves that the transaction on the connection is still open; nil if nothing has
	// to be proven.
	Proof *Prover
}

// Random returns a number from 0 to n-1, as rand.Int64N does. It is safe for concurrent use.
type Random func(n int64) int64

func newStore(d *dialect.Dialect, c Conn) *Store {
	e := engine.Of(d)
	return &Store{Dialect: d, Engine: e, Conn: c, Server: &ServerIdentity{engine: e, conn: c}, Found: new(Found), Peers: new(Peers), Random: rand.Int64N}
}

// on returns a copy of the store that executes its statements on c.
func (s *Store) on(c Conn) *Store {
	other := *s
	other.Conn, other.Server, other.Proof = c, s.Server.on(c), s.Proof.on(c)
	return &other
}

// InTransaction returns a copy of the store for c, on which a transaction of the store
// itself is open.
func (s *Store) InTransaction(c Conn) *Store {
	other := s.on(c)
	other.Inside, other.Proof = true, nil
	return other
}

// Update executes an UPDATE of one row and returns the values that it has stored, after
// it has committed; nil if it found no row. Within a transaction of the application it
// commits with the transaction.
func (s *Store) Update(ctx context.Context, u engine.Update, v engine.Values) ([]any, error) {
	if u.Into != nil {
		return s.updateInto(ctx, u, v)
	}
	query, err := s.Server.PutInto(ctx, u.Text)
	if err != nil {
		return nil, err
	}
	return s.Conn.Query(ctx, s.Proof.AddTo(query), u.Bind(v))
}

// updateInto executes an UPDATE for an engine that returns the values in arguments.
func (s *Store) updateInto(ctx context.Context, u engine.Update, v engine.Values) ([]any, error) {
	integers, texts := make([]int64, len(u.Into)), make([]string, len(u.Into))
	args := u.Bind(v)
	for i, k := range u.Into {
		if k == engine.IntegerKind {
			args = append(args, sql.Out{Dest: &integers[i]})
		} else {
			args = append(args, sql.Out{Dest: &texts[i]})
		}
	}
	n, err := s.Conn.Exec(ctx, u.Text, args)
	if err != nil || n == 0 {
		return nil, err
	}
	if n > 1 {
		return nil, ErrRows
	}
	row := make([]any, len(u.Into))
	for i, k := range u.Into {
		if k == engine.IntegerKind {
			row[i] = integers[i]
		} else {
			row[i] = texts[i]
		}
	}
	return row, nil
}

// Probe reads one of keyfill's tables, and returns the error if that fails.
func (s *Store) Probe(ctx context.Context, table string) error {
	_, err := s.Conn.Query(ctx, ProbeText(table), nil)
	return err
}

// ProbeAll reads all of keyfill's tables in one query, and returns the error if that
// fails.
func (s *Store) ProbeAll(ctx context.Context) error {
	_, err := s.Conn.Query(ctx, "SELECT s.updated_at, w.updated_at, o.updated_at FROM keyfill_sequences s, keyfill_workers w, keyfill_series o WHERE 1 = 0", nil)
	return err
}

// CanRead reports whether one of keyfill's tables exists and the user may read it. It
// returns an error if the query may succeed the next time: a lock wait that timed out,
// a connection that broke.
func (s *Store) CanRead(ctx context.Context, table string) (bool, error) {
	err := s.Probe(ctx, table)
	if err == nil {
		return true, nil
	}
	err = s.Judge(ctx, ErrTables, err, ProbeText(table), nil)
	if errors.Is(err, ErrTables) || errors.Is(err, ErrRights) {
		return false, nil
	}
	return false, err
}

// ProbeText returns a query that reads one of keyfill's tables, but none of its rows.
func ProbeText(table string) string { return "SELECT updated_at FROM " + table + " WHERE 1 = 0" }

// Literal returns text as a literal for a statement.
func (s *Store) Literal(text string) string {
	if s.Dialect.Lexis.BackslashEscapes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return s.Engine.Expressions.Quote + strings.ReplaceAll(text, "'", "''") + "'"
}
