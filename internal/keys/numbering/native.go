package numbering

import (
	"context"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/keysource"
)

// EngineSequence draws the numbers of a sequence of the engine.
type EngineSequence struct {
	Source *counting.Sequence
	Native native.Sequence
	Own    *native.Reserver // draws on a connection of keyfill's own
}

// at returns a Reserver of the sequence that does not wait for the transaction of g,
// which may be nil. within reports whether it uses the connection of g.
func (s *EngineSequence) at(ctx context.Context, g *relation.Session) (at *native.Reserver, within bool, err error) {
	if !g.IsAltered() {
		return s.Own, false, nil
	}
	a := g.AlteredTables.Here(g)
	if at, known := a.Sequences[s.Source]; known {
		return at.Way, at.Within, nil
	}
	st := store.Within(g.Tables.Dialect(), g.Own())
	locks, err := st.OwnLocks(ctx, s.Native.Columns)
	if err != nil {
		return nil, false, err
	}
	found := relation.SequenceHere{Way: s.Own}
	if locks.Any() {
		found = relation.SequenceHere{Way: s.Own.Within(st), Within: true}
	}
	a.Sequences[s.Source] = found
	if locks.Sequences {
		a.Reset = append(a.Reset, s.Source)
	}
	return found.Way, found.Within, nil
}

// Reserve implements [Numbers].
func (s *EngineSequence) Reserve(ctx context.Context, g *relation.Session, n int64) (int64, error) {
	at, within, err := s.at(ctx, g)
	switch {
	case err != nil:
		return 0, err
	case within:
		return s.Source.ReserveWithin(ctx, n, counting.At{Reserver: inTransaction{at}, MaxKey: at.MaxKey})
	}
	if n > 0 {
		if first, ok := s.Source.Take(n); ok {
			return first, nil
		}
	}
	var first int64
	err = relation.Apart(ctx, g, s.Native.Columns, func(ctx context.Context) (err error) {
		first, err = s.Source.Reserve(ctx, n)
		return err
	})
	return first, err
}

// Ask calls f with a Reserver that does not wait for the transaction of g.
func (s *EngineSequence) Ask(ctx context.Context, g *relation.Session, f func(context.Context, *native.Reserver) error) error {
	at, within, err := s.at(ctx, g)
	switch {
	case err != nil:
		return err
	case within:
		return f(ctx, at)
	}
	return relation.Apart(ctx, g, s.Native.Columns, func(ctx context.Context) error { return f(ctx, at) })
}

// inTransaction is a Reserver whose reservations do not name their server.
type inTransaction struct{ *native.Reserver }

func (r inTransaction) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	got, err := r.Reserver.Reserve(ctx, n, seen)
	got.Server = ""
	return got, err
}

// Advance implements [Follower].
func (s *EngineSequence) Advance(ctx context.Context, _ *relation.Session, to int64) error {
	return s.Source.Advance(ctx, to)
}

// IsOnConnection implements [Follower].
func (s *EngineSequence) IsOnConnection() bool { return false }

// IsJoined implements [Follower].
func (s *EngineSequence) IsJoined() bool { return false }

// Suspect implements [Numbers].
func (s *EngineSequence) Suspect() { s.Source.Suspect() }

// Close implements [Numbers].
func (s *EngineSequence) Close(ctx context.Context) error { return s.Source.Close(ctx) }
