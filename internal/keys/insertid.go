package keys

import (
	"context"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

var (
	errInsertID = anchor.New("rows", "SET INSERT_ID has numbered the next row of the session, and not so many of them: insert one row, or leave it out")
	errOthersID = anchor.New("rows", "SET INSERT_ID numbers the session's next row, which is not this table's alone: insert the row with that key, or leave it out")
)

// pendingKey returns the key that the session has said by SET INSERT_ID for n rows of a
// column that the engine would number; 0 for none. The state is raised above it, as the
// engine raises its counter.
func pendingKey(ctx context.Context, dr Drawing, n int) (int64, error) {
	if f, err := dr.tables.Facts(ctx, dr.on, dr.table); err != nil || !f.Columns[dr.index].counts {
		return 0, nil
	}
	key, err := dr.on.InsertID.Pending(ctx, dr.on.Own())
	switch {
	case err != nil || key == 0:
		return 0, err
	case n > 1:
		return 0, errInsertID
	case dr.tables.AnyEngine().Dialect.Name != dialect.MariaDB().Name:
		return 0, errOthersID
	}
	src := dr.key.Rule.Source
	if (src.FollowExplicit || dr.FollowsUntold(ctx)) && dr.key.Gives(key) {
		c, err := dr.Counter(ctx)
		if err != nil {
			return 0, err
		}
		if f := c.Follower(); f != nil {
			if err := f.Advance(ctx, dr.on, key+1); err != nil {
				return 0, err
			}
		}
	}
	return key, dr.on.InsertID.Take(ctx, dr.on.Own())
}
