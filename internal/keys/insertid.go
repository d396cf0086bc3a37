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

// pendingKey returns the key that the session has set by SET INSERT_ID, for n rows of a
// column that the engine would number; 0 if it has set none. The counter is raised
// above that key, as the engine raises its own counter.
func pendingKey(ctx context.Context, dr Drawing, n int) (int64, error) {
	if f, err := dr.Tables.Facts(ctx, dr.On, dr.Table); err != nil || !f.Columns[dr.Index].Counts {
		return 0, nil
	}
	key, err := dr.On.InsertID.Pending(ctx, dr.On.Own())
	switch {
	case err != nil || key == 0:
		return 0, err
	case n > 1:
		return 0, errInsertID
	case dr.Tables.AnyEngine().Dialect.Name != dialect.MariaDB().Name:
		return 0, errOthersID
	}
	src := dr.Key.Rule.Source
	if (src.FollowExplicit || dr.FollowsUntold(ctx)) && dr.Key.Gives(key) {
		c, err := dr.Counter(ctx)
		if err != nil {
			return 0, err
		}
		if f := c.Follower(); f != nil {
			if err := f.Advance(ctx, dr.On, key+1); err != nil {
				return 0, err
			}
		}
	}
	return key, dr.On.InsertID.Take(ctx, dr.On.Own())
}
