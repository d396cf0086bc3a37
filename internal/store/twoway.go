package store

import (
	"context"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Peers records what a query that was sent anyway has shown of other servers that write
// into keyfill's tables: see [engine.TwoWay]. It is safe for concurrent use.
type Peers struct{ none atomic.Bool }

// Note records that no other server writes into the tables, if hint, the value of
// [engine.TwoWay].Hint, says so.
func (p *Peers) Note(hint any) {
	if n, err := Integer(hint); err == nil && n == 0 {
		p.none.Store(true)
	}
}

// AreNone reports whether it was shown that no other server writes into the tables.
func (p *Peers) AreNone() bool { return p.none.Load() }

// TwoWay returns a sign in words that another server writes into keyfill's tables too, and
// replicates with this one; it is empty if there is none. The error is the server's own if
// the user may not ask.
func TwoWay(ctx context.Context, s *Store) (sign string, err error) {
	for _, query := range s.Engine.TwoWay.Signs {
		var row []any
		row, err = s.Conn.Query(ctx, query, nil)
		switch {
		case err == nil && row != nil && row[0] != nil:
			return Text(row[0]), nil
		case err == nil:
			return "", nil
		case ctx.Err() != nil, IsBroken(err), sqlcode.ClassOf(s.Dialect, err) == dialect.ErrorNoRight:
			return "", err
		}
	}
	return "", err
}
