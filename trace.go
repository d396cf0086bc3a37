package keyfill

import (
	"context"
	"time"

	"github.com/keyfill/keyfill/internal/fill"
)

// Event says what keyfill has done with one INSERT, and why. It holds no key, argument,
// value of [WithValue] or text of a query, so that a program may log it as it is: the keys
// are in a [Recorder].
type Event struct {
	Entry string // the entry of the policy that matched, as the file spells it; "" for none
	Table string // the table, as in [RecordedKey]; "" where Entry is

	// Action is "fill" (keys were added), "keep" (the INSERT brings its own), "pass" (no
	// entry matches) or "refuse" (it cannot be filled exactly). Withheld says that the
	// INSERT was to be filled or refused, and went out as it came because of the mode or
	// of "unsupported: unfilled".
	Action   string
	Withheld bool

	Reason Reason // why it is refused, else ""
	Offset int    // the offset in the query to which Reason belongs; -1 for none

	// Keys is how many keys were added. Kind and Source are the kind and the name of the
	// source, as in [SourceStats]; where several columns are filled, of the first.
	Keys         int
	Kind, Source string

	// Way is how the driver got the INSERT: "direct", "prepared" (by the program, or
	// because the driver takes arguments no other way), "batch" of keyfillpgx, "bulk", or
	// "as it came". It is "" where nothing was sent. Joined says that keys were drawn in
	// the transaction of the INSERT.
	Way    string
	Joined bool

	// Blocks is how many times the INSERT had to wait for a block of its source, or for
	// the time or the number that its source needs of a store, and Waited how long all
	// that took. Both are 0 where its keys were at hand.
	Blocks int
	Waited time.Duration

	// Outcome is [Stored] where all keys are stored, [NotStored] where none is, and else
	// [Unknown], with the Cause. Nothing is asked to find out, unless a Recorder wants to
	// know, and what a transaction rolls back later is not seen. It is Unknown where the
	// INSERT went out as it came.
	Outcome Outcome

	// Failed says that an INSERT that was to be filled ended in an error, for the Cause,
	// or was refused. The caller has the error, which may hold what an Event does not.
	Failed bool
	Cause  Cause
}

// WithTrace returns a context under which tell is called for each INSERT that keyfill
// looks at, when it has ended: when the driver has answered, or when the rows of RETURNING
// have been read to their end or closed. A text with several INSERTs is told of once for
// each, a bulk load once, and a statement that database/sql sends again once for each time
// that it does not end in driver.ErrBadConn. A prepared INSERT is told of at each
// execution, under the context of that. One that is passed, kept or refused by its text
// alone is told of when it is prepared.
//
// tell is called on the goroutine of the statement, which waits for it, and has to be safe
// for concurrent use where the context is used by several. It must not use the connection
// of the statement. Where ctx has a trace already, both are called.
//
// A traced INSERT takes the longer way through keyfill. Without WithTrace nothing is added
// to any statement.
func WithTrace(ctx context.Context, tell func(Event)) context.Context {
	return fill.WithTracer(ctx, func(t fill.Traced) {
		tell(Event{
			Entry: t.Entry, Table: t.Table, Action: t.Action.String(), Withheld: t.Withheld,
			Reason: Reason(t.Reason), Offset: t.Offset, Keys: t.Keys, Kind: t.Kind, Source: t.Source,
			Way: t.Way, Joined: t.Joined, Blocks: t.Blocks.Blocks, Waited: t.Blocks.For,
			Outcome: Outcome(t.Outcome), Failed: t.Failed, Cause: Cause(t.Cause),
		})
	})
}
