package fill

import (
	"context"
	"database/sql/driver"
	"log/slog"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// A sequence that follows explicit keys is raised above those that an INSERT brings,
// as AUTO_INCREMENT is: when the INSERT has succeeded, once for a statement, and before
// the caller sees the answer. An INSERT that fails moves nothing, whatever its key.
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

// brought is what an execution brings for a column that is followed.
type brought struct {
	table   *keys.Table
	key     int
	numbers keys.Follower
	what    rewrite.Explicit
	raised  int64 // the key above which a bulk load has raised it already
}

// brings returns what an execution brings for the columns that are followed. A source
// that cannot be used is an error where the policy says follow_explicit.
func (db *Database) brings(ctx context.Context, g *Conn, p *rewrite.Plan, args []driver.NamedValue, h rewrite.Holes) ([]brought, error) {
	if !p.Follows() {
		return nil, nil
	}
	var all []brought
	for i := range p.Inserts {
		t := keys.TableOf(&p.Inserts[i])
		if db.ModeOf(t) != policy.ModeFill {
			continue
		}
		for j := range t.KeyColumns {
			what := p.Explicit(args, h, i, j)
			if limit := t.KeyColumns[j].Limit(); max(what.Sure, what.Guess) >= limit {
				what.Sure, what.Guess = greatestBelow(p.ExplicitIntegers(args, h, i, j), limit), 0
			}
			b, err := db.bringsFor(ctx, g, t, j, what)
			if err != nil {
				return nil, err
			}
			if b.numbers == nil {
				continue
			}
			at := slices.IndexFunc(all, func(o brought) bool { return o.numbers == b.numbers && o.table == t })
			if at < 0 {
				all = append(all, b)
				continue
			}
			all[at].what.Add(b.what)
		}
	}
	return all, nil
}

// greatestBelow returns the greatest of some integers that is below a limit, 0 where
// there is none. A key that is not is none of the source's own.
func greatestBelow(all []int64, limit int64) int64 {
	greatest := int64(0)
	for _, n := range all {
		if n < limit {
			greatest = max(greatest, n)
		}
	}
	return greatest
}

// bringsFor returns what is brought for one key column, without a counter where that is
// not followed.
func (db *Database) bringsFor(ctx context.Context, g *Conn, t *keys.Table, j int, what rewrite.Explicit) (brought, error) {
	k := &t.KeyColumns[j]
	said := k.Rule.Source.FollowExplicit
	switch {
	case !what.Any(), !said && !keys.MayFollow(k.Rule.Source):
		return brought{}, nil
	case !said && !db.DrawingFor(&g.Conn, t, j).EngineCounts(ctx):
		return brought{}, nil
	}
	c, err := db.DrawingFor(&g.Conn, t, j).Counter(ctx)
	switch {
	case err != nil && said:
		return brought{}, t.KeyError(j, err)
	case err != nil, c.Follower() == nil:
		// Who has not said so does not ask for the store when it brings a key. A
		// duplicate key will tell, and on_behind says what then.
		return brought{}, nil
	}
	return brought{table: t, key: j, numbers: c.Follower(), what: what}, nil
}

// raiseBehind raises the numberings above the keys that a successful INSERT brought. If
// raising fails, the INSERT still succeeds: the next draw, or a duplicate key, makes it
// good. Only if the failure ended the INSERT's transaction, and so removed the row, is
// it returned.
func (db *Database) raiseBehind(ctx context.Context, g *Conn, all []brought) error {
	for i := range all {
		b := &all[i]
		err, undone := db.raiseAbove(ctx, g, b)
		switch {
		case undone != nil:
			return undone
		case err == nil:
			continue
		}
		db.CurrentLogger().LogAttrs(ctx, slog.LevelWarn, "keyfill: a numbering could not be raised above a key that was brought",
			slog.String("table", b.table.Table), slog.String("column", b.table.KeyColumns[b.key].Name))
	}
	return nil
}

// raiseAbove raises a numbering above what was brought. On the connection of the
// statement it is not interrupted, which may end the transaction there; elsewhere the
// caller's time counts. undone is the error of a transaction that has ended.
func (db *Database) raiseAbove(ctx context.Context, g *Conn, b *brought) (failed, undone error) {
	behind, cancel := aside(ctx)
	defer cancel()
	key := b.what.Sure
	if b.what.Open {
		greatest, found, err := db.greatestStored(behind, g, b)
		if err != nil {
			return err, err
		}
		if !found {
			greatest = b.what.Guess
		}
		key = max(key, greatest)
	}
	if b.numbers.IsOnConnection() || b.numbers.IsJoined() {
		err := b.raise(behind, g, key)
		return err, g.undoneBehind(ctx, err)
	}
	limited, cancel := context.WithTimeout(ctx, asidePatience)
	defer cancel()
	return b.raise(limited, g, key), nil
}

// raise makes later keys greater than one that was brought.
func (b *brought) raise(ctx context.Context, g *Conn, key int64) error {
	if key < 1 || key >= b.table.KeyColumns[b.key].Limit() {
		return nil
	}
	return b.numbers.Advance(ctx, &g.Conn, key+1)
}

// followSavepoint is the name of ours, which nobody else uses.
const followSavepoint = "keyfill_follow"

// greatestStored returns the greatest stored key that the source could also make, as
// the statement's connection sees it: the engine alone can tell which number it has
// read. found is false if that needs a scan of an index, or the table cannot be read.
// An error means that the transaction was undone.
func (db *Database) greatestStored(ctx context.Context, g *Conn, b *brought) (key int64, found bool, err error) {
	f, err := db.Facts(ctx, &g.Conn, b.table)
	if err != nil {
		return 0, false, nil
	}
	k := &b.table.KeyColumns[b.key]
	column := f.Columns[b.key].Stored(b.table.Rule, k, false)
	if column.Unranked || f.Rows != nil && !f.Rows.Shown {
		return 0, false, nil
	}
	d := db.AnyEngine().Dialect
	ask := func() bool {
		key, err = store.Within(d, g.Raw).MaxKeyBelow(ctx, column, k.Limit())
		return err == nil
	}
	if d.ErrorsAbort && g.Tx != session.Outside {
		return key, g.askAside(ctx, &d.Transactions, ask), nil
	}
	if !ask() && db.IsUndone(err) && g.Tx != session.Outside {
		return 0, false, err
	}
	return key, err == nil, nil
}

// askAside asks behind a savepoint, where an error would end the transaction.
func (g *Conn) askAside(ctx context.Context, t *dialect.Transactions, ask func() bool) (found bool) {
	control := func(text string) error {
		_, err := dbconn.Exec(ctx, g.Raw, strings.Replace(text, "%", followSavepoint, 1), nil)
		return err
	}
	set := control(t.Set) == nil
	found = ask()
	if set {
		if !found {
			_ = control(t.Undo)
		}
		_ = control(t.Release)
	}
	return found
}

// takesBefore reports whether the numberings that belong to transactions are raised in
// that of the INSERT; else they are raised behind it, by themselves.
func (x *execution) takesBefore() bool {
	return slices.ContainsFunc(x.brought, func(b brought) bool { return b.numbers.IsJoined() }) &&
		x.conn.Tx != session.Unknown && x.plan.Statements == 1
}

// splitBrought takes what is raised in the INSERT's transaction from what is raised
// behind that. What the engine alone can read, and a row that may be left out, is
// raised for behind the INSERT.
func (x *execution) splitBrought() {
	if !x.joining.any {
		return
	}
	skips := x.leavesOut() || slices.ContainsFunc(x.plan.Inserts, func(in rewrite.Insert) bool {
		return in.Conflict != rewrite.ConflictError && in.Conflict != rewrite.ConflictReplace
	})
	for _, b := range x.brought {
		if !b.numbers.IsJoined() {
			continue
		}
		if skips || b.what.Open {
			x.stored = append(x.stored, b)
		}
		if skips {
			b.what = rewrite.Explicit{}
		}
		x.before = append(x.before, b)
	}
	x.brought = slices.DeleteFunc(x.brought, func(b brought) bool { return b.numbers.IsJoined() })
}

// raiseBefore raises the numberings of the execution's transaction before its INSERT.
// A statement that raises nothing locks the row all the same where the engine does,
// since it is raised behind the INSERT, and every draw locks it first.
func (x *execution) raiseBefore(ctx context.Context) error {
	for i := range x.before {
		b := &x.before[i]
		key := max(b.what.Sure, b.what.Guess)
		err := b.raise(ctx, x.conn, key)
		if key < 1 || key >= b.table.KeyColumns[b.key].Limit() {
			err = b.numbers.Advance(ctx, &x.conn.Conn, 1)
		}
		if err != nil {
			return b.table.KeyError(b.key, err)
		}
	}
	return nil
}

// raiseStored raises the numberings of the execution's transaction above the keys that
// its INSERT has stored, as far as they are among the greatest: the engine is asked.
// Where it cannot tell, they are raised above all that was brought.
func (x *execution) raiseStored(ctx context.Context) error {
	behind, cancel := aside(ctx)
	defer cancel()
	for i := range x.stored {
		b := &x.stored[i]
		greatest, found, err := x.conn.DB.greatestStored(behind, x.conn, b)
		if err != nil {
			return err
		}
		key := max(b.what.Sure, b.what.Guess)
		switch {
		case found && b.what.Open:
			key = greatest
		case found:
			key = min(key, greatest)
		}
		if err := b.raise(behind, x.conn, key); err != nil {
			return b.table.KeyError(b.key, err)
		}
	}
	return nil
}
