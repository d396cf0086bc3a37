package keyfill

import (
	"context"
	"log/slog"
	"time"

	"github.com/keyfill/keyfill/internal/fill/execution"
)

// Event describes how keyfill has treated one INSERT, and why. It holds no key, argument,
// value of [WithValue] or text of a query, so that a program may log it as it is: the
// keys are in a [Recorder].
type Event struct {
	Entry string // the entry of the policy that matched, as the file spells it; empty if none did
	Table string // the table, as in [RecordedKey]; empty if Entry is empty

	// Action is "fill" (keys were added), "keep" (the INSERT brings its own keys), "pass"
	// (no entry of the policy matches its table) or "refuse" (the INSERT cannot be filled
	// exactly). Withheld reports that the INSERT was to be filled or refused, and was sent
	// unchanged because of the mode or of "unsupported: unfilled".
	Action   string
	Withheld bool

	Reason Reason // why the INSERT is refused; empty if it is not
	Offset int    // the offset in the query to which Reason belongs; -1 if there is none

	// Keys is how many keys were added. Kind and Source are the kind and the name of the
	// source, as in [SourceStats]; if several columns are filled, they describe the source
	// of the first column.
	Keys         int
	Kind, Source string

	// Way is how the driver got the INSERT: "direct", "prepared" (by the program, or
	// because the driver takes arguments no other way), "batch" of keyfillpgx, "bulk", or
	// "as it came". It is empty if nothing was sent. Joined reports whether keys were
	// drawn in the transaction of the INSERT.
	Way    string
	Joined bool

	// Blocks is how many times the INSERT had to wait until its source got a block of
	// numbers, time or a worker's number from its store, and Waited is how long all
	// that took. Both are 0 if its keys were in memory.
	Blocks int
	Waited time.Duration

	// Outcome is [Stored] if all keys are stored, [NotStored] if no key is, and otherwise
	// [Unknown], for the reason in Cause. keyfill asks the engine only if a Recorder needs
	// the answer, and does not see what a transaction rolls back later. Outcome is Unknown
	// if the INSERT was sent unchanged.
	Outcome Outcome

	// Failed reports that the INSERT ended in an error, for the reason in Cause, or was
	// refused. The caller has the error, which may hold what an Event does not. An INSERT
	// that is reported when it is prepared has not been executed, so Failed is false.
	Failed bool
	Cause  Cause
}

// LogValue returns a group of the fields that are set, so that
//
//	slog.Debug("INSERT", "event", e)
//
// logs neither zeros nor empty texts. The names of the attributes will not change. No
// attribute holds a key.
func (e Event) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("action", e.Action)}
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	flag := func(name string, value bool) {
		if value {
			attrs = append(attrs, slog.Bool(name, true))
		}
	}
	text("entry", e.Entry)
	text("table", e.Table)
	flag("withheld", e.Withheld)
	if text("reason", string(e.Reason)); e.Offset >= 0 {
		attrs = append(attrs, slog.Int("offset", e.Offset))
	}
	if e.Keys > 0 {
		attrs = append(attrs, slog.Int("keys", e.Keys))
	}
	text("kind", e.Kind)
	text("source", e.Source)
	text("way", e.Way)
	flag("joined", e.Joined)
	if e.Blocks > 0 {
		attrs = append(attrs, slog.Int("blocks", e.Blocks), slog.Duration("waited", e.Waited))
	}
	attrs = append(attrs, slog.String("outcome", e.Outcome.String()))
	flag("failed", e.Failed)
	text("cause", string(e.Cause))
	return slog.GroupValue(attrs...)
}

// WithTrace returns a context under which tell is called for each INSERT that keyfill
// examines, after the INSERT has ended: when the driver has answered, or when the rows of
// RETURNING have been read to their end or closed. tell is called once for each INSERT of a
// text, once for a bulk load, and once for each time that database/sql sends a statement
// again and it does not end in driver.ErrBadConn. For a prepared INSERT it is called at
// each execution, with the context of the execution. An INSERT that is passed, kept or
// refused by its text alone is reported when it is prepared.
//
// tell is called on the goroutine of the statement, which waits for it, and has to be
// safe for concurrent use where the context is used by several. It must not use the
// connection of the statement. If ctx has a trace already, both are called.
//
// A traced INSERT takes a longer way through keyfill. Statements without a trace cost
// nothing more.
func WithTrace(ctx context.Context, tell func(Event)) context.Context {
	return execution.WithTracer(ctx, func(t execution.Traced) { tell(eventOf(t)) })
}

// WithTraceOfRows returns a context under which tell is called for each INSERT that returns
// rows, as by RETURNING, when the driver has returned the rows and before the program reads
// any of them: the Event has the Outcome [Unknown] and the Cause [CauseRows]. It is made
// for a span that ends before the rows are read. [WithTrace] reports the same INSERT when
// they have been read, and its rules for tell apply here too. Only WithTrace reports an
// INSERT in a batch of pgx.
func WithTraceOfRows(ctx context.Context, tell func(Event)) context.Context {
	return execution.WithTracerOfRows(ctx, func(t execution.Traced) { tell(eventOf(t)) })
}

func eventOf(t execution.Traced) Event {
	return Event{
		Entry: t.Entry, Table: t.Table, Action: t.Action.String(), Withheld: t.Withheld,
		Reason: Reason(t.Reason), Offset: t.Offset, Keys: t.Keys, Kind: t.Kind, Source: t.Source,
		Way: t.Way, Joined: t.Joined, Blocks: t.Blocks.Blocks, Waited: t.Blocks.For,
		Outcome: Outcome(t.Outcome), Failed: t.Failed, Cause: Cause(t.Cause),
	}
}
