package execution

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/store/schema"
)

// FoundRows knows whether the server counts rows that an upsert has left as they are:
// CLIENT_FOUND_ROWS of the connections, which all have the same flags. It is safe for
// concurrent use.
type FoundRows struct {
	Tables *relation.Tables
	known  atomic.Uint32
	again  atomic.Int64 // when it is asked again, in nanoseconds
}

// The values of foundRows.known; 0 where it is not known.
const (
	foundCounts uint32 = iota + 1
	foundNot
)

// FoundPatience is how long a statement waits for the answer.
const FoundPatience = 2 * time.Second

// Counts reports whether the server may count rows that an upsert has left as they are.
// It is asked once, on a connection of our own. Without an answer it may.
func (f *FoundRows) Counts() bool {
	switch f.known.Load() {
	case foundCounts:
		return true
	case foundNot:
		return false
	}
	if time.Now().UnixNano() < f.again.Load() {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), FoundPatience)
	defer cancel()
	counts := false
	st, err := f.Tables.OwnStore()
	if err == nil {
		counts, err = schema.Of(st).CountsFound(ctx)
	}
	switch {
	case err != nil:
		f.again.Store(time.Now().Add(AskedAgain).UnixNano())
		return true
	case counts:
		f.known.Store(foundCounts)
	default:
		f.known.Store(foundNot)
	}
	return counts
}
