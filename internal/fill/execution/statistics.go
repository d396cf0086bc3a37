package execution

import (
	"context"
	"errors"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// A text may contain several INSERTs, and other statements, and either all of its INSERTs
// get their keys or none. The driver's answer to such a text may be about its last
// statement or its first, and its number of rows about any of its statements.

// Cautious returns the mode for a text (fill, dry_run or off): the most cautious of its
// tables' modes, since the text is sent either unchanged or filled as a whole.
func Cautious(tables *relation.Tables, p *plans.Plan) policy.Mode {
	mode := policy.ModeFill
	for i := range p.Inserts {
		mode = policy.MoreCautious(mode, tables.ModeOf(table.Of(&p.Inserts[i])))
	}
	return mode
}

// Statistics counts the INSERTs of a database by their treatment, and logs INSERTs that
// are refused or sent without their keys: once for each shape of a text, and again each
// time it has been sent ten times as often. It is safe for concurrent use.
type Statistics struct {
	Tables *relation.Tables
	shapes shapes
}

// Note counts a statement that was sent unchanged, and logs it if it should have been
// filled, unless the policy's mode is off. err is the driver's answer. A statement that
// failed with driver.ErrBadConn is sent again, and counted then.
func (s *Statistics) Note(ctx context.Context, query string, e Event, err error) {
	if !e.Counts || IsUntaken(err) {
		return
	}
	e.addAlone(&s.Tables.Tally)
	relation.NoteInserts(ctx, s.Tables)
	WatchOf(ctx).Tracer.Event(e, err)
	if e.Withheld && e.Mode != policy.ModeOff {
		s.logUnfilled(ctx, query, e)
	}
	for _, other := range e.Rest {
		s.Note(ctx, query, other, err)
	}
}

// logUnfilled logs a statement that was sent unchanged although it should have been
// filled.
func (s *Statistics) logUnfilled(ctx context.Context, query string, e Event) {
	shape, count, now := s.shapes.count(s.Tables.AnyEngine().Dialect, query, shapeKey{table: e.Table, reason: e.Reason, sent: true})
	if !now {
		return
	}
	var reason, remedy, offset any
	if e.Action == plans.Refuse {
		reason, remedy, offset = string(e.Reason), e.Reason.Error(), e.Offset
	}
	s.Tables.Log.Write(ctx, report.MessageUnfilled, e.Table, e.Action.String(), e.Mode.String(), reason, remedy, offset, shape, count)
}

// logRefused logs a statement that was not sent, and reports it to a tracer (see
// keyfill.WithTrace).
func (s *Statistics) logRefused(ctx context.Context, query string, r *plans.Refusal) {
	relation.NoteInserts(ctx, s.Tables)
	WatchOf(ctx).Tracer.refused(r)
	shape, count, now := s.shapes.count(s.Tables.AnyEngine().Dialect, query, shapeKey{table: r.Table, reason: r.Reason})
	if now {
		s.Tables.Log.Write(ctx, report.MessageRefused, r.Table, string(r.Reason), r.Cause().Error(), r.Offset, shape, count)
	}
}

// Refusal counts an INSERT that cannot be filled, and returns the error for it. If the
// policy, or its mode (dry_run or off), lets the INSERT be sent unchanged, the error is
// nil and the event is what to count when it is sent. An error that is not a refusal is
// returned as it is.
func (s *Statistics) Refusal(ctx context.Context, query string, err error) (Event, error) {
	var r *plans.Refusal
	if !errors.As(err, &r) {
		return Event{}, err
	}
	t := r.Target.Owner.(*table.Table)
	e := Event{Counts: true, Table: r.Table, Owner: t, Action: plans.Refuse, Reason: r.Reason, Offset: r.Offset, Mode: s.Tables.ModeOf(t)}
	unfilled := t.Rule.Unsupported == policy.Unfilled
	for _, other := range r.Others {
		t := other.Owner.(*table.Table)
		e.Mode = policy.MoreCautious(e.Mode, s.Tables.ModeOf(t))
		unfilled = unfilled && t.Rule.Unsupported == policy.Unfilled
	}
	if e.Mode == policy.ModeFill && !unfilled {
		e.addAlone(&s.Tables.Tally)
		s.logRefused(ctx, query, r)
		return Event{}, refused(r)
	}
	e.Withheld = true
	return e, nil
}

// RefuseBound counts and returns the refusal of an execution whose text was changed
// already, so that it cannot be sent unchanged.
func (s *Statistics) RefuseBound(ctx context.Context, query string, err error) error {
	var r *plans.Refusal
	if !errors.As(err, &r) {
		return err
	}
	r.Target.Owner.(*table.Table).TallyIn(&s.Tables.Tally).Refuse(r.Reason)
	s.logRefused(ctx, query, r)
	return refused(r)
}

// refused returns the error that the application gets for a refusal of the rewriter.
func refused(r *plans.Refusal) error {
	return r.Target.Owner.(*table.Table).NewError(r.Table, r.Column, r.Offset, r.Cause())
}
