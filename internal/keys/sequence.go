package keys

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// blockSequence gives the numbers of a row in a store, which are reserved block by block.
type blockSequence struct {
	source *keysource.Sequence
	row    *connRow // where the row lives on the connection of each statement; nil elsewhere

	// ends is a row with a connection of its own; nil for one that never has an end, or is
	// elsewhere.
	ends endingState

	upstream *upstream.Upstream // that the row gets blocks from; nil for none

	full *fullServer // of a row in the application's own database; nil for others

	columns []store.Column // whose greatest key the source may ask for
}

// reserveApart reserves on a connection of our own: see apart.
func reserveApart(ctx context.Context, g *Session, s *keysource.Sequence, columns []store.Column, n int64) (first int64, err error) {
	if n > 0 {
		if first, ok := s.Take(n); ok {
			return first, nil
		}
	}
	err = apart(ctx, g, columns, func(ctx context.Context) error {
		first, err = s.Reserve(ctx, n)
		return err
	})
	return first, err
}

// reserveApart reserves on a connection of our own, or on that of g where the server has none
// left for that.
func (s *blockSequence) reserveApart(ctx context.Context, g *Session, n int64) (int64, error) {
	if s.full != nil && g != nil && n > 0 {
		if first, ok := s.source.Take(n); ok {
			return first, nil
		}
		if session.IsAsOpened(&g.Conn) {
			if first, ok, err := s.full.reserve(ctx, g, s.source, n); ok {
				return first, err
			}
		}
	}
	return reserveApart(ctx, g, s.source, s.columns, n)
}

func (s *blockSequence) reserve(ctx context.Context, g *Session, n int64) (int64, error) {
	if s.row == nil {
		return s.reserveApart(ctx, g, n)
	}
	g.EnsureStates(ctx)
	first, err := s.source.ReserveOn(ctx, n, s.row.at(g))
	if err == errInside || err != nil && g.ensureStatesAgain(ctx) {
		first, err = s.source.ReserveOn(ctx, n, s.row.at(g))
	}
	return first, noteGone(g, err, g.tables.rows.ensure)
}

func (s *blockSequence) Advance(ctx context.Context, g *Session, to int64) error {
	if s.row == nil {
		return s.source.Advance(ctx, to)
	}
	g.EnsureStates(ctx)
	err := s.source.AdvanceOn(ctx, to, s.row.at(g))
	if err == errInside {
		err = s.source.AdvanceOn(ctx, to, s.row.at(g))
	}
	return err
}

func (s *blockSequence) IsOnConnection() bool { return s.row != nil }

func (s *blockSequence) IsJoined() bool { return false }

func (s *blockSequence) KeysEnd(ctx context.Context, g *Session) (int64, error) {
	switch {
	case s.row != nil:
		return s.row.keysEnd(ctx, g)
	case s.ends != nil:
		return s.ends.KeysEndNow(ctx)
	}
	return 0, nil
}

func (s *blockSequence) suspect() { s.source.Suspect() }

func (s *blockSequence) close(ctx context.Context) error {
	err := s.source.Close(ctx)
	if s.upstream != nil {
		err = errors.Join(err, s.upstream.Close(ctx))
	}
	return err
}

// isElsewhere reports whether a table of a schema is in another database than the
// connection's own memory.
func isElsewhere(g *Session, schema string) bool {
	return g.InMemory && schema != "" && schema != "main" && schema != "temp"
}

// errElsewhere is returned for a table in a file that is attached to a database in
// memory: each connection would number it for itself.
var errElsewhere = anchor.New("other-table", "the table's file is attached to a database in memory, which keeps no state: give the source a store, or attach the other way")
