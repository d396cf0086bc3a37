package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// A sequence that follows explicit keys is raised above those that an INSERT brings,
// as AUTO_INCREMENT is: when the INSERT has succeeded, once for a statement, and before
// the caller sees the answer. An INSERT that fails moves nothing, whatever its key, but
// where rows behind that key go on above it: see mixed.
//
// Between the INSERT and the raise others may draw the key that was brought, as they
// may when they hold it in a block: theirs is a duplicate-key error. A process that
// compares the numbering with the table in between finds it behind, and so does one
// that starts after this one was killed there: such a source has on_behind: advance
// unless its policy says otherwise.
//
// A numbering that belongs to the transactions of its INSERTs is raised before the
// INSERT, in one transaction with it. Every draw locks the row of the numbering first
// and then the row of the table; whoever went the other way round would wait for a
// draw that waits for it. Where the INSERT fails, the raise goes back with it, to a
// savepoint or with a transaction of ours.

// following holds the numberings that an execution raises above the keys that it brings.
type following struct {
	conn   *connection
	behind []brought // raised after the statement, and after its transaction if it is ours
	before []brought // raised in its transaction, before it
	stored []brought // raised there after the INSERT, above the keys it stored
	apart  bool      // none is raised before: see isBefore
}

// newFollowing returns what an execution brings for the columns that are followed. A
// source that cannot be used is an error where the policy says follow_explicit.
func newFollowing(ctx context.Context, c *connection, p *rewrite.Plan, args []driver.NamedValue, h rewrite.Holes) (following, error) {
	f := following{conn: c}
	if !p.Follows() {
		return f, nil
	}
	for i := range p.Inserts {
		t := keys.TableOf(&p.Inserts[i])
		if c.DB.ModeOf(t) != policy.ModeFill {
			continue
		}
		// A table that an earlier text of a batch makes has no numbering that could be
		// raised, and a question about it would end the transaction of PostgreSQL.
		if p.Dialect().ErrorsAbort {
			if facts, err := c.DB.Facts(ctx, &c.Conn, t); err == nil && facts.IsUnseen() {
				continue
			}
		}
		for j := range t.KeyColumns {
			explicit := p.Explicit(args, h, i, j)
			if k := &t.KeyColumns[j]; !k.Gives(max(explicit.Sure, explicit.Guess, 1)) {
				explicit.Sure, explicit.Guess = greatestOf(k, p.ExplicitIntegers(args, h, i, j)), 0
			}
			b, err := newBrought(ctx, c, t, j, explicit)
			if err != nil {
				return following{}, err
			}
			if b.numbers == nil {
				continue
			}
			at := slices.IndexFunc(f.behind, func(o brought) bool { return o.numbers == b.numbers && o.table == t })
			if at < 0 {
				f.behind = append(f.behind, b)
				continue
			}
			f.behind[at].explicit.Add(b.explicit)
		}
	}
	return f, nil
}

// greatestOf returns the greatest of some integers that could be the source's own, 0 where
// there is none.
func greatestOf(k *keys.Column, integers []int64) int64 {
	greatest := int64(0)
	for _, n := range integers {
		if k.Gives(n) {
			greatest = max(greatest, n)
		}
	}
	return greatest
}

// any reports whether something is raised after the statement.
func (f *following) any() bool { return len(f.behind) > 0 }

// isBefore reports whether the numberings that belong to transactions are raised in the
// transaction of the INSERT; else they are raised behind it, by themselves.
func (f *following) isBefore(p *rewrite.Plan) bool {
	return !f.apart && slices.ContainsFunc(f.behind, func(b brought) bool { return b.numbers.IsJoined() }) &&
		f.conn.Tx != session.Unknown && p.Statements == 1
}

// isUntold reports whether no numbering is followed because the policy says follow_explicit.
// An INSERT that brings its keys does not fail then because none can be raised.
func (f *following) isUntold() bool {
	return !slices.ContainsFunc(slices.Concat(f.before, f.behind), func(b brought) bool { return b.told })
}

// leaveJoined forgets the numberings that belong to transactions.
func (f *following) leaveJoined() {
	f.before, f.stored = nil, nil
	f.behind = slices.DeleteFunc(f.behind, func(b brought) bool { return b.numbers.IsJoined() })
}

// split moves the numberings that are raised in the INSERT's transaction to before. A
// numbering goes to stored as well where the engine alone can read the key, or a row may
// be left out: it is raised after the INSERT, by what the INSERT has stored.
func (f *following) split(c *connection, p *rewrite.Plan) {
	skips := leavesOut(c, p) || slices.ContainsFunc(p.Inserts, func(in rewrite.Insert) bool {
		return in.Conflict != rewrite.ConflictError && in.Conflict != rewrite.ConflictReplace
	})
	for _, b := range f.behind {
		if !b.numbers.IsJoined() {
			continue
		}
		if skips || b.explicit.Open {
			f.stored = append(f.stored, b)
		}
		if skips {
			b.explicit = rewrite.Explicit{}
		}
		f.before = append(f.before, b)
	}
	f.behind = slices.DeleteFunc(f.behind, func(b brought) bool { return b.numbers.IsJoined() })
}

// of returns what is brought for a column and raised by itself, nil where it is nothing.
func (f *following) of(t *keys.Table, key int) *brought {
	for i := range f.behind {
		if b := &f.behind[i]; b.table == t && b.key == key && !b.numbers.IsJoined() {
			return b
		}
	}
	return nil
}

// add adds what a row of a bulk load brings.
func (f *following) add(row following) {
	f.conn = row.conn
	for _, b := range row.behind {
		i := slices.IndexFunc(f.behind, func(o brought) bool { return o.numbers == b.numbers })
		if i < 0 {
			f.behind = append(f.behind, b)
			continue
		}
		f.behind[i].explicit.Add(b.explicit)
	}
}

// raiseSoFar raises the numberings above the keys that the rows of a bulk load have
// brought, for a row that gets a key: it would be one of theirs, and fail the whole load.
// A key that the engine alone can read is guessed here, since the connection takes no
// question while the load lasts.
func (f *following) raiseSoFar(ctx context.Context) error {
	for i := range f.behind {
		b := &f.behind[i]
		key := max(b.explicit.Sure, b.explicit.Guess)
		if key <= b.raised {
			continue
		}
		if err := b.raise(ctx, f.conn, key); err != nil {
			return b.table.KeyError(b.key, err)
		}
		b.raised = key
	}
	return nil
}

// raiseBefore raises the numberings of the execution's transaction before its INSERT.
// One that is raised behind the INSERT is locked here where the engine does that, since
// every draw locks it first.
func (f *following) raiseBefore(ctx context.Context) error {
	for i := range f.before {
		b := &f.before[i]
		key := max(b.explicit.Sure, b.explicit.Guess)
		err := b.raise(ctx, f.conn, key)
		if err == nil && f.isStored(b) {
			err = b.numbers.Advance(ctx, &f.conn.Conn, 1)
		}
		if err != nil {
			return b.table.KeyError(b.key, err)
		}
	}
	return nil
}

// isStored reports whether a numbering is raised behind the INSERT.
func (f *following) isStored(b *brought) bool {
	return slices.ContainsFunc(f.stored, func(o brought) bool { return o.numbers == b.numbers && o.table == b.table && o.key == b.key })
}

// raiseStored raises the numberings of the execution's transaction above the keys that
// its INSERT has stored, as far as they are among the greatest: the engine is asked.
// Where it cannot tell, they are raised above all that was brought.
func (f *following) raiseStored(ctx context.Context) error {
	behind, cancel := aside(ctx)
	defer cancel()
	for i := range f.stored {
		b := &f.stored[i]
		greatest, found, err := b.greatestStored(behind, f.conn)
		if err != nil {
			return err
		}
		key := max(b.explicit.Sure, b.explicit.Guess)
		switch {
		case found && b.explicit.Open:
			key = greatest
		case found:
			key = min(key, greatest)
		}
		if err := b.raise(behind, f.conn, key); err != nil {
			return b.table.KeyError(b.key, err)
		}
	}
	return nil
}

// raiseBehind raises the numberings above the keys that a successful INSERT brought. If
// raising fails, the INSERT still succeeds: the next draw, or a duplicate key, makes it
// good. Only if the failure ended the INSERT's transaction, and so removed the row, is
// it returned.
func (f *following) raiseBehind(ctx context.Context) error {
	for i := range f.behind {
		b := &f.behind[i]
		if !b.explicit.Open && b.raised >= b.explicit.Sure {
			continue // for the keys of other rows
		}
		err, undone := b.raiseAbove(ctx, f.conn)
		switch {
		case undone != nil:
			return undone
		case err == nil:
			continue
		}
		f.conn.DB.Log.Write(ctx, keys.MessageNotRaised, b.table.Table, b.table.KeyColumns[b.key].Name)
	}
	return nil
}

// raiseKept raises the numberings above the rows that an INSERT has stored before the one
// that it failed at: OR FAIL keeps them.
func (f *following) raiseKept(ctx context.Context, p *rewrite.Plan) {
	if in := &p.Inserts[0]; in.Conflict != rewrite.ConflictSkip || in.Rows == 1 || !p.Dialect().LastRowID {
		return
	}
	kept := following{conn: f.conn}
	for _, b := range f.behind {
		b.explicit = rewrite.Explicit{Open: true}
		kept.behind = append(kept.behind, b)
	}
	_ = kept.raiseBehind(ctx) // the error of the INSERT says that the transaction has ended
}

// raiseBehindRows is raiseBehind for a statement that gives rows: they are read before
// the caller gets the first one.
func (f *following) raiseBehindRows(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil || !f.any() {
		return rows, err
	}
	read, err := readWhole(f.conn, rows, func(_ []resultSet, err error) error { return err })
	if err != nil {
		return nil, err
	}
	if err := f.raiseBehind(ctx); err != nil {
		return nil, err
	}
	return read, nil
}
