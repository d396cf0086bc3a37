package keysource

import "context"

// Marker keeps the mark of one worker's number in a store that all processes with the
// number share. The mark is a time: no process has made a key of this or a later time,
// and a process raises the mark before it does.
//
// # The protocol
//
// A source that wants the ticks up to a time calls Mark with it. Of the answer
// it may use the ticks that begin in
//
//	[before, until)
//
// and none when before is not less than until; nor is there any to use when Mark fails.
// The time that a source calls it with is at most three seconds ahead of its clock, or
// one tick if a tick is longer.
//
// This is safe since the mark only grows, and no two calls see it grow over the same
// time: the span of one call lies before the mark that the next call returns. It holds
// for any number of processes with one number, alive at once, and whatever their clocks
// show. It holds for a process that dies between any two steps: its reserved time is
// never used. It holds for a process that sleeps for a year between two steps: its
// reserved time is still its own. And it holds for an answer that was lost, or comes
// after the call was given up: the span of that call is never used either.
//
// A source that starts has nothing reserved, and so begins at the mark or after it.
// That is not far ahead: the mark is at most three seconds ahead of the clock of the
// process that raised it, and keys may be as far ahead of the clock. So a source whose
// clock shows no less waits for the next tick at most.
type Marker interface {
	// Mark raises the mark to until if it is lower, and returns the mark before that:
	// any time before 1970, or 0, if there was no mark. Both are milliseconds since
	// 1970. It must read and raise in one step, durably before it returns, and return
	// soon after the context has ended. A source has only one call of Mark in progress,
	// on a goroutine that no request waits on directly.
	//
	// An error that wraps [ErrStoreState] is passed on at once; after any other the store
	// counts as down, and is asked again.
	Mark(ctx context.Context, until int64) (before int64, err error)
}
