package conformance

import (
	"context"
	"sync"
	"time"
)

// rate bounds how many rows a second a run stores. It is safe for concurrent use.
type rate struct {
	mu     sync.Mutex
	second int
	free   time.Time // when the rows that were asked for are paid for
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
}

func newRate(second int) *rate {
	return &rate{second: second, now: time.Now, sleep: sleep}
}

// wait returns as soon as n more rows may be stored.
func (r *rate) wait(ctx context.Context, n int) error {
	r.mu.Lock()
	now := r.now()
	if r.free.Before(now) {
		r.free = now
	}
	pause := r.free.Sub(now)
	r.free = r.free.Add(time.Duration(n) * time.Second / time.Duration(r.second))
	r.mu.Unlock()
	if pause <= 0 {
		return ctx.Err()
	}
	return r.sleep(ctx, pause)
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
