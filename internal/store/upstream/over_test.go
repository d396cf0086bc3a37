package upstream_test

import (
	"context"

	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// alwaysOurs answers the questions of [upstream.Rows] about rows that a test keeps: a
// reservation takes what is left, the rows can be used at any time, and a call may wait.
type alwaysOurs struct{}

func (alwaysOurs) NeedsAll() bool { return false }
func (alwaysOurs) IsOurs() bool   { return true }
func (alwaysOurs) MayWait() bool  { return true }

// overRows reserves from rows that a test keeps.
type overRows struct {
	u    *upstream.Upstream
	rows upstream.Rows
}

func over(u *upstream.Upstream, rows upstream.Rows) keysource.Reserver { return overRows{u, rows} }

func (r overRows) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	return r.u.Reserve(ctx, r.rows, n, seen)
}

func (r overRows) Advance(ctx context.Context, to int64) error { return r.u.Advance(ctx, r.rows, to) }
