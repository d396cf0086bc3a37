package executor

//row:ways | brings its own integers | `fill/executor/explicitkeys.go` raises the numbering above them

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/policy"
)

// newBrought returns the Brought of one column (the explicit keys that an INSERT
// contains for it), with the counter to raise above them. Numbers is nil if the
// column's counter is not raised.
func newBrought(ctx context.Context, conn *execution.Conn, t *table.Table, j int, explicit plans.Explicit) (execution.Brought, error) {
	k := &t.KeyColumns[j]
	said := k.Rule.Source.FollowExplicit
	switch {
	case !explicit.Any(), !said && !table.MayFollow(k.Rule.Source, conn.DB.AnyEngine().Dialect):
		return execution.Brought{}, nil
	case !said && !conn.DrawingFor(t, j).FollowsUntold(ctx):
		return execution.Brought{}, nil
	}
	counter, err := conn.DrawingFor(t, j).Counter(ctx)
	switch {
	case err != nil && said:
		return execution.Brought{}, t.KeyError(j, err)
	case err != nil, counter.Follower() == nil:
		// Without follow_explicit an INSERT that contains its key must not depend on the
		// store. If a later key is a duplicate, the policy's on_behind decides what
		// happens.
		return execution.Brought{}, nil
	}
	return execution.Brought{Table: t, Key: j, Numbers: counter.Follower(), Explicit: explicit, Told: said}, nil
}

// NewFollowing returns the explicit keys that an execution contains, with the counters
// that are raised above them. A source that cannot be used is an error if the policy
// sets follow_explicit for it.
func NewFollowing(ctx context.Context, c *execution.Conn, p *plans.Plan, args []driver.NamedValue, h bind.Holes) (execution.Following, error) {
	f := execution.Following{Conn: c}
	if !p.Follows() {
		return f, nil
	}
	for i := range p.Inserts {
		t := table.Of(&p.Inserts[i])
		if c.DB.ModeOf(t) != policy.ModeFill {
			continue
		}
		// A table that an earlier text of a batch creates has no counter that could be
		// raised, and in PostgreSQL a query about it would abort the transaction.
		if p.Dialect.ErrorsAbort {
			if facts, err := c.DB.Facts(ctx, &c.Session, t); err == nil && facts.IsUnseen() {
				continue
			}
		}
		for j := range t.KeyColumns {
			if !p.Inserts[i].Target.Keys[j].Follow {
				continue
			}
			explicit := bind.ExplicitKeys(p, args, h, i, j)
			if k := &t.KeyColumns[j]; !k.Gives(max(explicit.Sure, explicit.Guess, 1)) {
				explicit.Sure, explicit.Guess = greatestOf(k, bind.ExplicitIntegers(p, args, h, i, j)), 0
			}
			b, err := newBrought(ctx, c, t, j, explicit)
			if err != nil {
				return execution.Following{}, err
			}
			if b.Numbers == nil {
				continue
			}
			at := slices.IndexFunc(f.After, func(o execution.Brought) bool { return o.Numbers == b.Numbers && o.Table == t })
			if at < 0 {
				f.After = append(f.After, b)
				continue
			}
			f.After[at].Explicit.Add(b.Explicit)
		}
	}
	return f, nil
}

// greatestOf returns the greatest of the integers that could come from the column's own
// source, 0 if there is none.
func greatestOf(k *table.Column, integers []int64) int64 {
	greatest := int64(0)
	for _, n := range integers {
		if k.Gives(n) {
			greatest = max(greatest, n)
		}
	}
	return greatest
}

// split moves the counters that are raised in the INSERT's transaction to Before. A
// counter is also added to Stored if only the engine can determine the key, or if a row
// may be skipped: it is then raised after the INSERT, above the keys that the INSERT
// has stored.
func split(f *execution.Following, c *execution.Conn, p *plans.Plan) {
	skips := leavesOut(c, p) || slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool {
		return in.Upsert.Conflict != plans.ConflictError && in.Upsert.Conflict != plans.ConflictReplace
	})
	for _, b := range f.After {
		if !b.Numbers.IsJoined() {
			continue
		}
		if skips || b.Explicit.Open {
			f.Stored = append(f.Stored, b)
		}
		if skips {
			b.Explicit = plans.Explicit{}
		}
		f.Before = append(f.Before, b)
	}
	f.After = slices.DeleteFunc(f.After, func(b execution.Brought) bool { return b.Numbers.IsJoined() })
}

// RaiseStored raises the counters of the execution's transaction above the keys that
// its INSERT has stored. The engine is asked for the greatest of them. If it cannot
// answer, the counters are raised above all explicit keys of the INSERT.
func RaiseStored(ctx context.Context, f *execution.Following) error {
	behind, cancel := execution.Aside(ctx)
	defer cancel()
	for i := range f.Stored {
		b := &f.Stored[i]
		greatest, found, err := outcome.GreatestStored(behind, b, f.Conn)
		if err != nil {
			return err
		}
		key := max(b.Explicit.Sure, b.Explicit.Guess)
		switch {
		case found && b.Explicit.Open:
			key = greatest
		case found:
			key = min(key, greatest)
		}
		if err := b.RaiseStored(behind, f.Conn, key); err != nil {
			return b.Table.KeyError(b.Key, err)
		}
	}
	return nil
}

// raiseAfterRows raises counters as outcome.RaiseAfter does, for a statement that
// returns rows: all rows are read before the caller gets the first one.
func raiseAfterRows(ctx context.Context, f *execution.Following, rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil || !f.Any() {
		return rows, err
	}
	read, err := readWhole(f.Conn, rows, func(_ []resultSet, err error) error { return err })
	if err != nil {
		return nil, err
	}
	if err := outcome.RaiseAfter(ctx, f); err != nil {
		return nil, err
	}
	return read, nil
}
