package fill

import (
	"context"
	"errors"
	"log/slog"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// statistics counts what becomes of the INSERTs of a database, and logs those that go
// out unfilled. It is safe for concurrent use.
type statistics struct{ tables *keys.Tables }

// note counts a statement that the driver took as it came, and logs one that was
// withheld, unless the mode is off.
func (s *statistics) note(ctx context.Context, e event) {
	if !e.counts {
		return
	}
	e.addAlone(&s.tables.Tally)
	if e.withheld && e.mode != policy.ModeOff {
		s.log(ctx, e)
	}
	for _, other := range e.rest {
		s.note(ctx, other)
	}
}

// log logs a statement that was sent as it came although it was not filled.
func (s *statistics) log(ctx context.Context, e event) {
	attrs := []slog.Attr{
		slog.String("table", e.table),
		slog.String("action", e.action.String()),
		slog.String("mode", e.mode.String()),
	}
	if e.action == rewrite.Refuse {
		attrs = append(attrs, slog.String("reason", e.reason.Error()), slog.Int("offset", e.offset))
	}
	s.tables.CurrentLogger().LogAttrs(ctx, slog.LevelWarn, "keyfill: INSERT sent unfilled", attrs...)
}

// refusal counts and returns the error for an INSERT that cannot be filled. Where the
// policy or the mode lets it go out as it came, the error is nil and the event is what
// to count then. An error that is no refusal comes back as it is.
func (s *statistics) refusal(err error) (event, error) {
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
		return event{}, refused(r)
	}
	e.withheld = true
	return e, nil
}

// refuseBound counts and returns the refusal of an execution whose text is
// changed already, so that it cannot go out as it came.
func (s *statistics) refuseBound(err error) error {
	var r *rewrite.Refusal
	if !errors.As(err, &r) {
		return err
	}
	s.tables.Tally.Of(r.Target.Owner.(*keys.Table)).Refuse(r.Reason)
	return refused(r)
}

// refused returns the error for a refusal of the rewriter.
func refused(r *rewrite.Refusal) error {
	return r.Target.Owner.(*keys.Table).NewError(r.Table, r.Column, r.Offset, r.Cause())
}
