package store

import (
	"context"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// Written is written.
var Written = written

// UpstreamStatements are the statements of a dialect about a row with blocks.
func UpstreamStatements(d *dialect.Dialect) (install, turn string) {
	e := engineOf(d)
	return e.composeInstall().text, e.composeTurn().text
}

// Level is level, for tests that keep the rows themselves.
type Level struct {
	Next       int64
	Block      string
	SpareFirst int64
	Spare      string
}

// End, SpareEnd and WithEnd read and write incarnations.
func (l Level) End() int64      { return l.level().end() }
func (l Level) SpareEnd() int64 { return l.level().spareEnd() }

// WithEnd returns an incarnation with the end of a block.
func WithEnd(incarnation string, end int64) string { return withEnd(incarnation, end) }

func (l Level) level() level { return level{l.Next, l.Block, l.SpareFirst, l.Spare} }

// Rows is levelRows.
type Rows interface {
	ReserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error)
	ReadLevel(ctx context.Context) (Level, error)
	Install(ctx context.Context, was Level, first, end int64) (bool, error)
	Turn(ctx context.Context, was Level) (bool, error)
	Raise(ctx context.Context, to int64) error
	BlockEnd() int64
}

type testRows struct{ in Rows }

func (r testRows) reserveRow(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	return r.in.ReserveRow(ctx, n, seen)
}

func (r testRows) readLevel(ctx context.Context) (level, error) {
	l, err := r.in.ReadLevel(ctx)
	return l.level(), err
}

func (r testRows) install(ctx context.Context, was level, b blockOf) (bool, error) {
	return r.in.Install(ctx, Level{was.next, was.block, was.spareFirst, was.spare}, b.first, b.end)
}

func (r testRows) turn(ctx context.Context, was level) (bool, error) {
	return r.in.Turn(ctx, Level{was.next, was.block, was.spareFirst, was.spare})
}

func (r testRows) raise(ctx context.Context, to int64) error { return r.in.Raise(ctx, to) }
func (r testRows) blockEnd() int64                           { return r.in.BlockEnd() }
func (testRows) needsAll() bool                              { return false }
func (testRows) isOurs() bool                                { return true }
func (testRows) mayWait() bool                               { return true }

// Over returns the Reserver of a sequence with an upstream whose rows a test keeps.
func (u *Upstream) Over(rows Rows) keysource.Reserver { return overRows{u, testRows{rows}} }

type overRows struct {
	u    *Upstream
	rows testRows
}

func (r overRows) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	return r.u.reserve(ctx, r.rows, n, seen)
}

func (r overRows) Advance(ctx context.Context, to int64) error { return r.u.advance(ctx, r.rows, to) }
