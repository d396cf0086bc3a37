package store

import (
	"context"
	"time"
)

const (
	// SwapTries is how often a row is read and then replaced if it is still the same,
	// before the attempt fails.
	SwapTries = 10

	// swapPause is the longest pause after the first failed try. It doubles with each try,
	// up to swapPauseMax. On average all pauses together take a tenth of a second.
	swapPause    = time.Millisecond
	swapPauseMax = 40 * time.Millisecond
)

// Pause waits for a random time, which is longer for later tries.
func Pause(ctx context.Context, random Random, try int) error {
	longest := min(swapPause<<(try-1), swapPauseMax)
	t := time.NewTimer(time.Duration(random(int64(longest))) + 1)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
