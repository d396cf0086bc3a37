package execution

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/store/schema"
)

// FoundRows finds out whether the server counts rows that an upsert has not changed:
// all connections have the same flag CLIENT_FOUND_ROWS. It is safe for concurrent use.
type FoundRows struct {
	Tables *relation.Tables
	known  atomic.Uint32
	again  atomic.Int64 // when to ask the server again, in nanoseconds of the Unix time
}

// The values of FoundRows.known; 0 means that the server has not answered yet.
const (
	foundCounts uint32 = iota + 1
	foundNot
)

// FoundPatience is how long a statement waits for the server's answer to the question of
// FoundRows.
const FoundPatience = 2 * time.Second

// Counts reports whether the server may count rows that an upsert has not changed. The
// server is asked once, on a connection of keyfill's own. Without an answer, Counts
// returns true.
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
