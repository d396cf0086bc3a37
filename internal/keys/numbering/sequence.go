package numbering

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/statestore"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/upstream"
)

// BlockSequence draws the numbers of a row in a store, which it reserves in blocks
// (ranges of integers).
type BlockSequence struct {
	Source *counting.Sequence
	Row    *ConnRow // set if the row is read on the connection of each statement; otherwise nil

	// Ends reads, on a connection of keyfill's own, from which number on keys belong to
	// another stored counter. It is nil if the row never says that, or if Row is set.
	Ends statestore.EndingState

	Upstream *upstream.Upstream // the store from which the row gets blocks; nil if there is none

	Full *FullServer // reserves while the server accepts no more connections of keyfill; set only for a row in the application's own database

	Columns []store.Column // the columns whose greatest key the source may read
}

// Reserve implements [Numbers]. It reserves on a connection of keyfill's own, or on the
// connection of g if Row is set, or if the server accepts no more connections.
func (s *BlockSequence) Reserve(ctx context.Context, g *relation.Session, n int64) (int64, error) {
	if s.Row != nil {
		return s.reserveOn(ctx, g, n)
	}
	if n > 0 {
		if first, ok := s.Source.Take(n); ok {
			return first, nil
		}
		if s.Full != nil && g != nil && session.IsAsOpened(&g.Conn) {
			if first, ok, err := s.Full.reserve(ctx, g, s.Source, n); ok {
				return first, err
			}
		}
	}
	var first int64
	err := relation.Apart(ctx, g, s.Columns, func(ctx context.Context) (err error) {
		first, err = s.Source.Reserve(ctx, n)
		return err
	})
	return first, err
}

// reserveOn reserves n integers on the connection of g.
func (s *BlockSequence) reserveOn(ctx context.Context, g *relation.Session, n int64) (int64, error) {
	g.EnsureStates(ctx)
	first, err := s.Source.ReserveOn(ctx, n, s.Row.at(g))
	if err == ErrInside || err != nil && g.EnsureStatesAgain(ctx) {
		first, err = s.Source.ReserveOn(ctx, n, s.Row.at(g))
	}
	return first, relation.NoteGone(g, err, g.Tables.Rows.Ensure)
}

// Advance implements [Follower].
func (s *BlockSequence) Advance(ctx context.Context, g *relation.Session, to int64) error {
	if s.Row == nil {
		return s.Source.Advance(ctx, to)
	}
	g.EnsureStates(ctx)
	err := s.Source.AdvanceOn(ctx, to, s.Row.at(g))
	if err == ErrInside {
		err = s.Source.AdvanceOn(ctx, to, s.Row.at(g))
	}
	return err
}

// IsOnConnection implements [Follower].
func (s *BlockSequence) IsOnConnection() bool { return s.Row != nil }

// IsJoined implements [Follower].
func (s *BlockSequence) IsJoined() bool { return false }

// Suspect implements [Numbers].
func (s *BlockSequence) Suspect() { s.Source.Suspect() }

// Close implements [Numbers].
func (s *BlockSequence) Close(ctx context.Context) error {
	err := s.Source.Close(ctx)
	if s.Upstream != nil {
		err = errors.Join(err, s.Upstream.Close(ctx))
	}
	return err
}

// IsElsewhere reports whether the connection's database is in memory, but a table of
// the schema is in another database, which is attached to it.
func IsElsewhere(g *relation.Session, schema string) bool {
	return g.InMemory && schema != "" && schema != "main" && schema != "temp"
}

// ErrElsewhere is returned for a table in a file that is attached to a database in
// memory: each connection would number the table separately.
var ErrElsewhere = anchor.New("other-table", "the table's file is attached to a database in memory, which keeps no state: give the source a store, or attach the other way")
