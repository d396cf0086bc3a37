package numbering

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// Numbers are the numbers of a counter, of one of the kinds BlockSequence, EngineSequence,
// Snowflake, Recycled, JoinedRow and Scoped.
type Numbers interface {
	// Reserve returns the first of n consecutive integers.
	Reserve(ctx context.Context, g *relation.Session, n int64) (int64, error)

	// Suspect gives up reserved numbers, since one of them was found in use. The next
	// number is compared with the greatest key, if the table can be asked for it.
	Suspect()

	// Close gives back reserved numbers and leases.
	Close(ctx context.Context) error
}

// Follower are numbers that can be raised above an explicit key.
type Follower interface {
	Numbers

	// Advance makes later keys to or greater.
	Advance(ctx context.Context, g *relation.Session, to int64) error

	// IsOnConnection reports whether the state is read and written on the connection
	// of each statement, as on SQLite.
	IsOnConnection() bool

	// IsJoined reports whether numbers belong to the transactions of their INSERTs.
	IsJoined() bool

	// KeysEnd returns the integer from which keys belong to another state, as the row of the
	// numbers says now; 0 for none.
	KeysEnd(ctx context.Context, g *relation.Session) (int64, error)
}

// leavePatience is how long to wait for a store that takes a lease back.
const leavePatience = 2 * time.Second

// leave closes a source that has a lease. It returns no error if the store does not take the
// lease back: the lease expires.
func leave(ctx context.Context, source interface{ Close(context.Context) error }) error {
	limited, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	if err := source.Close(limited); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// ParentNumbers are numbers that are drawn within the parents of rows.
type ParentNumbers interface {
	Numbers

	// Within returns the numbers of rows whose parents have these values, for the key
	// column of index i.
	Within(ctx context.Context, g *relation.Session, t *table.Table, i int, parents [][]driver.Value) ([]driver.Value, error)
}
