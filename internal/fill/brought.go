package fill

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/rewrite"
)

// brought is what an execution brings for a column that is followed.
type brought struct {
	table    *keys.Table
	key      int
	numbers  keys.Follower
	explicit rewrite.Explicit
	told     bool  // the policy says follow_explicit
	raised   int64 // the key above which a bulk load, or rows behind it, have raised it already
}

// newBrought returns the keys that are brought for one column. Its numbers are nil where
// the column is not followed.
func newBrought(ctx context.Context, conn *connection, t *keys.Table, j int, explicit rewrite.Explicit) (brought, error) {
	k := &t.KeyColumns[j]
	said := k.Rule.Source.FollowExplicit
	switch {
	case !explicit.Any(), !said && !keys.MayFollow(k.Rule.Source, conn.DB.AnyEngine().Dialect):
		return brought{}, nil
	case !said && !conn.DB.DrawingFor(&conn.Conn, t, j).FollowsUntold(ctx):
		return brought{}, nil
	}
	counter, err := conn.DB.DrawingFor(&conn.Conn, t, j).Counter(ctx)
	switch {
	case err != nil && said:
		return brought{}, t.KeyError(j, err)
	case err != nil, counter.Follower() == nil:
		// Who has not said so does not ask for the store when it brings a key. A
		// duplicate key will tell, and on_behind says what then.
		return brought{}, nil
	}
	return brought{table: t, key: j, numbers: counter.Follower(), explicit: explicit, told: said}, nil
}

// raise makes later keys greater than one that was brought.
func (b *brought) raise(ctx context.Context, c *connection, key int64) error {
	if !b.table.KeyColumns[b.key].Gives(key) {
		return nil
	}
	return b.numbers.Advance(ctx, &c.Conn, key+1)
}

// raiseAbove raises a numbering above what was brought. On the connection of the
// statement it is not interrupted, which may end the transaction there; elsewhere the
// caller's time counts. undone is the error of a transaction that has ended.
func (b *brought) raiseAbove(ctx context.Context, c *connection) (failed, undone error) {
	behind, cancel := aside(ctx)
	defer cancel()
	key := b.explicit.Sure
	if b.explicit.Open {
		greatest, found, err := b.greatestStored(behind, c)
		if err != nil {
			return err, err
		}
		if !found {
			greatest = b.explicit.Guess
		}
		key = max(key, greatest)
	}
	if b.numbers.IsOnConnection() || b.numbers.IsJoined() {
		var err error
		raise := func() bool { err = b.raise(behind, c, key); return err == nil }
		if d := c.DB.AnyEngine().Dialect; !b.told && d.ErrorsAbort && c.Tx != session.Outside {
			askAside(behind, c, &d.Transactions, raise)
		} else {
			raise()
		}
		return err, undoneBehind(ctx, c, err)
	}
	limited, cancel := context.WithTimeout(ctx, asidePatience)
	defer cancel()
	return b.raise(limited, c, key), nil
}

// greatestStored returns the greatest stored key that the source could also make, as
// the statement's connection sees it: the engine alone can tell which number it has
// read. found is false if that needs a scan of an index, or the table cannot be read.
// An error means that the transaction was undone.
func (b *brought) greatestStored(ctx context.Context, c *connection) (key int64, found bool, err error) {
	f, err := c.DB.Facts(ctx, &c.Conn, b.table)
	if err != nil {
		return 0, false, nil
	}
	k := &b.table.KeyColumns[b.key]
	column := f.Columns[b.key].StoreColumn(b.table.Rule, k, false)
	if column.Unranked || f.Rows != nil && !f.Rows.Shown {
		return 0, false, nil
	}
	d := c.DB.AnyEngine().Dialect
	ask := func() bool {
		limit := k.Limit()
		end, failed := b.numbers.KeysEnd(ctx, &c.Conn)
		if err = failed; err != nil {
			return false
		}
		if end > 0 {
			limit = min(limit, end) // from there on keys are another sequence's
		}
		key, err = keycolumn.Of(store.Within(d, c.Own()), column).MaxKeyUpTo(ctx, limit, k.Skipped())
		return err == nil
	}
	if d.ErrorsAbort && c.Tx != session.Outside {
		return key, askAside(ctx, c, &d.Transactions, ask), nil
	}
	if !ask() && c.DB.IsUndone(err) && c.Tx != session.Outside {
		return 0, false, err
	}
	return key, err == nil, nil
}

// followSavepoint is the name of ours, which nobody else uses.
const followSavepoint = "keyfill_follow"

// askAside asks behind a savepoint, where an error would end the transaction.
func askAside(ctx context.Context, c *connection, t *dialect.Transactions, ask func() bool) (found bool) {
	control := func(text string) error {
		_, err := dbconn.Exec(ctx, c.Own(), strings.Replace(text, "%", followSavepoint, 1), nil)
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
