package fill

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// statistics counts what becomes of the INSERTs of a database, and logs those that are
// refused or go out unfilled: once for each shape of a text, and again when that has come
// ten times as often. It is safe for concurrent use.
type statistics struct {
	tables *keys.Tables
	shapes shapes
}

// note counts a statement that the driver took as it came, and logs one that was
// withheld, unless the mode is off. The error is the driver's answer. One that ends in
// driver.ErrBadConn is sent again, and noted then.
func (s *statistics) note(ctx context.Context, query string, e event, err error) {
	if !e.counts || isUntaken(err) {
		return
	}
	e.addAlone(&s.tables.Tally)
	keys.NoteInserts(ctx, s.tables)
	watchOf(ctx).tracer.event(e, err)
	if e.withheld && e.mode != policy.ModeOff {
		s.logUnfilled(ctx, query, e)
	}
	for _, other := range e.rest {
		s.note(ctx, query, other, err)
	}
}

// logUnfilled logs a statement that was sent as it came although it was not filled.
func (s *statistics) logUnfilled(ctx context.Context, query string, e event) {
	shape, count, now := s.shapes.count(s.tables.AnyEngine().Dialect, query, shapeKey{table: e.table, reason: e.reason, sent: true})
	if !now {
		return
	}
	var reason, remedy, offset any
	if e.action == rewrite.Refuse {
		reason, remedy, offset = string(e.reason), e.reason.Error(), e.offset
	}
	s.tables.Log.Write(ctx, keys.MessageUnfilled, e.table, e.action.String(), e.mode.String(), reason, remedy, offset, shape, count)
}

// logRefused logs, and tells a tracer of, a statement that was not sent.
func (s *statistics) logRefused(ctx context.Context, query string, r *rewrite.Refusal) {
	keys.NoteInserts(ctx, s.tables)
	watchOf(ctx).tracer.refused(r)
	shape, count, now := s.shapes.count(s.tables.AnyEngine().Dialect, query, shapeKey{table: r.Table, reason: r.Reason})
	if now {
		s.tables.Log.Write(ctx, keys.MessageRefused, r.Table, string(r.Reason), r.Cause().Error(), r.Offset, shape, count)
	}
}

// refusal counts and returns the error for an INSERT that cannot be filled. Where the
// policy or the mode lets it go out as it came, the error is nil and the event is what
// to count then. An error that is no refusal comes back as it is.
func (s *statistics) refusal(ctx context.Context, query string, err error) (event, error) {
	var r *rewrite.Refusal
	if !errors.As(err, &r) {
		return event{}, err
	}
	t := r.Target.Owner.(*keys.Table)
	e := event{counts: true, table: r.Table, owner: t, action: rewrite.Refuse, reason: r.Reason, offset: r.Offset, mode: s.tables.ModeOf(t)}
	unfilled := t.Rule.Unsupported == policy.Unfilled
	for _, other := range r.Others {
		t := other.Owner.(*keys.Table)
		e.mode = policy.MoreCautious(e.mode, s.tables.ModeOf(t))
		unfilled = unfilled && t.Rule.Unsupported == policy.Unfilled
	}
	if e.mode == policy.ModeFill && !unfilled {
		e.addAlone(&s.tables.Tally)
		s.logRefused(ctx, query, r)
		return event{}, refused(r)
	}
	e.withheld = true
	return e, nil
}

// refuseBound counts and returns the refusal of an execution whose text is
// changed already, so that it cannot go out as it came.
func (s *statistics) refuseBound(ctx context.Context, query string, err error) error {
	var r *rewrite.Refusal
	if !errors.As(err, &r) {
		return err
	}
	s.tables.Tally.Of(r.Target.Owner.(*keys.Table)).Refuse(r.Reason)
	s.logRefused(ctx, query, r)
	return refused(r)
}

// refused returns the error for a refusal of the rewriter.
func refused(r *rewrite.Refusal) error {
	return r.Target.Owner.(*keys.Table).NewError(r.Table, r.Column, r.Offset, r.Cause())
}
