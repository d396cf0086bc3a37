package fill

import (
	"context"
	"errors"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// decide returns the plan of a statement that may get keys, or may bring some that are
// followed. It is nil when the statement goes out as it came, which is then to count as
// the event.
func (db *Database) decide(ctx context.Context, g *Conn, query string) (*rewrite.Plan, event, error) {
	e := db.Engine.Load()
	if e == nil {
		if policy.Mode(db.Mode.Load()) == policy.ModeOff {
			// Off asks the server nothing.
			return nil, event{}, nil
		}
		var err error
		if e, err = g.AskEngine(ctx); err != nil {
			if db.indifferent(query) {
				return nil, event{}, nil
			}
			return nil, event{}, err
		}
	}
	p, err := db.planOn(ctx, g, e, query)
	switch {
	case err != nil:
		return nil, event{}, err
	case p.Action == rewrite.Pass:
		return nil, event{counts: true}, nil
	case p.Action == rewrite.Refuse:
		as, err := db.refusal(p.Refusal)
		return nil, as, err
	case p.Action == rewrite.Keep && !p.AtExecution:
		as := event{counts: true, table: p.Inserts[0].Target.Table, owner: keys.TableOf(&p.Inserts[0]), action: rewrite.Keep}
		if slices.ContainsFunc(p.Inserts, func(in rewrite.Insert) bool { return in.Worked }) {
			as.worked = p
		}
		if p.Follows() && !p.Load {
			return p, as, nil
		}
		return nil, as, nil
	}
	return p, event{}, nil
}

// indifferent reports whether a query goes out as it came whichever engine it
// is.
func (db *Database) indifferent(query string) bool {
	for _, e := range db.Candidates {
		p := e.Plan(query)
		if p.Ambiguous() || p.Action != rewrite.Pass && (p.Action != rewrite.Keep || p.AtExecution) {
			return false
		}
	}
	return true
}

// refusal is the error for an INSERT that cannot be filled. Where the policy or
// the mode lets it go out as it came, the error is nil and the event says so.
func (db *Database) refusal(err error) (event, error) {
	var r *rewrite.Refusal
	if !errors.As(err, &r) {
		return event{}, err
	}
	t := r.Target.Owner.(*keys.Table)
	as := event{counts: true, table: r.Table, action: rewrite.Refuse, reason: r.Reason, offset: r.Offset, mode: db.ModeOf(t)}
	unfilled := t.Rule.Unsupported == policy.Unfilled
	for _, o := range r.Others {
		t := o.Owner.(*keys.Table)
		as.mode = policy.MoreCautious(as.mode, db.ModeOf(t))
		unfilled = unfilled && t.Rule.Unsupported == policy.Unfilled
	}
	if as.mode == policy.ModeFill && !unfilled {
		as.addAlone(&db.Tally)
		return event{}, refused(r)
	}
	as.withheld = true
	return as, nil
}

// refused returns the error for a refusal of the rewriter.
func refused(r *rewrite.Refusal) error {
	return r.Target.Owner.(*keys.Table).NewError(r.Table, r.Column, r.Offset, r.Cause())
}

// settle says whether a statement whose holes are known is filled; if not, what
// it counts as: kept because no place takes a key, or withheld because of the
// mode.
func (db *Database) settle(p *rewrite.Plan, h rewrite.Holes) (as event, fills bool) {
	mode := db.cautious(p)
	if mode == policy.ModeFill && (h.Any() || p.ByFunction()) {
		return event{}, true
	}
	return withheld(p, h, mode), false
}

// note counts a statement that the driver took as it came, and reports one that
// was withheld, unless the mode is off.
func (db *Database) note(ctx context.Context, as event) {
	if !as.counts {
		return
	}
	as.addAlone(&db.Tally)
	if as.withheld && as.mode != policy.ModeOff {
		db.report(ctx, as)
	}
	for _, e := range as.rest {
		db.note(ctx, e)
	}
}
