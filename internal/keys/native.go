package keys

import (
	"context"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/keysource"
)

// engineSequence gives the numbers of a sequence of the engine.
type engineSequence struct {
	source *keysource.Sequence
	native native.Sequence
	own    *native.Reserver // on a connection of our own
}

// at returns the way to the sequence that does not wait for the transaction of a
// connection, which may be nil. within reports whether that is the connection itself.
func (s *engineSequence) at(ctx context.Context, g *Session) (at *native.Reserver, within bool, err error) {
	if !g.isAltered() {
		return s.own, false, nil
	}
	a := g.AlteredTables.here(g)
	if at, known := a.sequences[s.source]; known {
		return at.way, at.within, nil
	}
	st := store.Within(g.tables.Dialect(), g.Own())
	locks, err := st.OwnLocks(ctx, s.native.Columns)
	if err != nil {
		return nil, false, err
	}
	found := sequenceHere{way: s.own}
	if locks.Any() {
		found = sequenceHere{way: s.own.Within(st), within: true}
	}
	a.sequences[s.source] = found
	if locks.Sequences {
		a.reset = append(a.reset, s.source)
	}
	return found.way, found.within, nil
}

func (s *engineSequence) reserve(ctx context.Context, g *Session, n int64) (int64, error) {
	at, within, err := s.at(ctx, g)
	switch {
	case err != nil:
		return 0, err
	case within:
		return s.source.ReserveWithin(ctx, n, keysource.At{Reserver: inTransaction{at}, MaxKey: at.MaxKey})
	}
	return reserveApart(ctx, g, s.source, s.native.Columns, n)
}

// ask asks for something about the sequence.
func (s *engineSequence) ask(ctx context.Context, g *Session, f func(context.Context, *native.Reserver) error) error {
	at, within, err := s.at(ctx, g)
	switch {
	case err != nil:
		return err
	case within:
		return f(ctx, at)
	}
	return apart(ctx, g, s.native.Columns, func(ctx context.Context) error { return f(ctx, at) })
}

// inTransaction is a sequence on a connection whose server is not told from others.
type inTransaction struct{ *native.Reserver }

func (r inTransaction) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	got, err := r.Reserver.Reserve(ctx, n, seen)
	got.Server = ""
	return got, err
}

func (s *engineSequence) Advance(ctx context.Context, _ *Session, to int64) error {
	return s.source.Advance(ctx, to)
}

func (s *engineSequence) IsOnConnection() bool { return false }

func (s *engineSequence) IsJoined() bool { return false }

func (s *engineSequence) KeysEnd(context.Context, *Session) (int64, error) { return 0, nil }

func (s *engineSequence) suspect() { s.source.Suspect() }

func (s *engineSequence) close(ctx context.Context) error { return s.source.Close(ctx) }
