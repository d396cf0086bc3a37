package numbering

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// Numbers draws the numbers of a counter. The kinds are BlockSequence, EngineSequence,
// Snowflake, Recycled, JoinedRow and Scoped.
type Numbers interface {
	// Reserve returns the first of n consecutive integers.
	Reserve(ctx context.Context, g *relation.Session, n int64) (int64, error)

	// Suspect gives up reserved numbers, since one of them was found in use. The next
	// number is compared with the greatest key, if that can be read.
	Suspect()

	// Close gives back reserved numbers and leases.
	Close(ctx context.Context) error
}

// Follower draws numbers that can be raised above an explicit key (a key that an INSERT
// itself contains).
type Follower interface {
	Numbers

	// Advance raises the counter so that later keys are to or greater.
	Advance(ctx context.Context, g *relation.Session, to int64) error

	// IsOnConnection reports whether the state (the stored counter) is read and written on
	// the connection of each statement, as on SQLite.
	IsOnConnection() bool

	// IsJoined reports whether the numbers belong to the transactions of their INSERTs.
	IsJoined() bool
}

// leavePatience is how long to wait for a store to take back a lease.
const leavePatience = 2 * time.Second

// leave closes a source that has a lease. It returns no error if the store does not
// take back the lease, which then expires.
func leave(ctx context.Context, source interface{ Close(context.Context) error }) error {
	limited, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	if err := source.Close(limited); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// ParentNumbers draws numbers for rows that are numbered within their parents, as the
// lines of an order are.
type ParentNumbers interface {
	Numbers

	// Within returns the numbers of rows for key column i of table t. parents holds the
	// values of each row's parent.
	Within(ctx context.Context, g *relation.Session, t *table.Table, i int, parents [][]driver.Value) ([]driver.Value, error)
}
