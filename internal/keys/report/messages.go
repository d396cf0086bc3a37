package report

//row:changes | what is logged | `internal/keys/report/messages.go`, with docs/monitoring.md; stores and leases: `internal/keys/statestore` (`storewatch.go`, `leaselog.go`); shapes: `internal/fill/execution/shapes.go`

import (
	"context"
	"log/slog"
)

// Message is one kind of line in the log. Its text and the names of its attributes do
// not change, so that alerts can rely on them. No line contains a key, an argument, a
// DSN, a value of WithValue or the text of a query, with one exception: a finding
// repeats what "keyfill check" prints, which may be the name of a stored counter that
// contains such a value.
type Message struct {
	Level      slog.Level
	Text       string
	Attributes []string // in order; an attribute without a value is omitted
}

// The messages, which docs/monitoring.md lists.
var (
	// MessageOpened is logged once for each database, at the first connection: before that
	// the engine may not be known, and the program may not have set its logger yet.
	//
	//row:log | `keyfill: opened` | info | `policy` `hash` `dialect` `tables` `sources` `mode` | once for each database. `hash` begins the `sha256sum` of the policy's file
	MessageOpened = Message{slog.LevelInfo, "keyfill: opened",
		[]string{"policy", "hash", "dialect", "tables", "sources", "mode"}}
	// MessageStoreDown is logged again, as an error, when an INSERT gets no key.
	//
	//row:log | `keyfill: store down` | warn; error once an INSERT gets no key | `store` `source` `error` | after two attempts in a row without an answer, then not until the store is back, except once as an error
	MessageStoreDown = Message{slog.LevelWarn, "keyfill: store down",
		[]string{"store", "source", "error"}}
	//row:log | `keyfill: store back` | info | `store` `down` `failures` | `down` is the time since the first failed attempt
	MessageStoreBack = Message{slog.LevelInfo, "keyfill: store back",
		[]string{"store", "down", "failures"}}
	//row:log | `keyfill: an INSERT waited for its block` | warn | `table` `column` `source` `waited` `waits` | an INSERT waited 100 milliseconds or longer for its store; once a minute for each source. `waits` counts since the last line
	MessageWaited = Message{slog.LevelWarn, "keyfill: an INSERT waited for its block",
		[]string{"table", "column", "source", "waited", "waits"}}
	//row:log | `keyfill: lease taken` | info | `source` `worker` `series` `lease` | a worker's number or a series is leased
	MessageLeaseTaken = Message{slog.LevelInfo, "keyfill: lease taken",
		[]string{"source", "worker", "series", "lease"}}
	//row:log | `keyfill: lease lost` | warn | `source` `worker` `series` | another process has the lease, after this one was stopped or without its store for longer. No key comes twice
	MessageLeaseLost = Message{slog.LevelWarn, "keyfill: lease lost",
		[]string{"source", "worker", "series"}}
	//row:log | `keyfill: lease given back` | info | `source` `worker` `series` | the database is closed, or a series is used up
	MessageLeaseGivenBack = Message{slog.LevelInfo, "keyfill: lease given back",
		[]string{"source", "worker", "series"}}
	//row:log | `keyfill: another process has the number of this worker` | warn | `source` `worker` `count` | No key comes twice, but INSERTs may wait: give each process its own number, or `worker_lease`
	MessageRival = Message{slog.LevelWarn, "keyfill: another process has the number of this worker",
		[]string{"source", "worker", "count"}}
	//row:log | `keyfill: another server writes into keyfill's tables too` | warn | `store` `sign` `remedy` | once for each store, after the first key: [two servers replicate to each other](check.md#servers-that-replicate-to-each-other), and may give the same numbers
	MessagePeers = Message{slog.LevelWarn, "keyfill: another server writes into keyfill's tables too",
		[]string{"store", "sign", "remedy"}}
	//row:log | `keyfill: a state was last written at another server` | warn | `store` `source` | after a takeover, a restore, a clone or by replication. The process gives up its block and compares the state with the table
	MessageElsewhere = Message{slog.LevelWarn, "keyfill: a state was last written at another server",
		[]string{"store", "source"}}
	//row:log | `keyfill: source suspect: a key was in use already` | error | `table` `column` `count` | the engine refuses a new key as a duplicate: another program fills the column, or the store has gone back
	MessageSuspect = Message{slog.LevelError, "keyfill: source suspect: a key was in use already",
		[]string{"table", "column", "count"}}
	//row:log | `keyfill: most keys of a source are used` | warn | `table` `column` `keys` `remedy` `count` | four fifths of the numbers up to `keys` are used; once for each state and process. Not for `maxplusone` and `scope:`
	MessageNearEnd = Message{slog.LevelWarn, "keyfill: most keys of a source are used",
		[]string{"table", "column", "keys", "remedy", "count"}}
	//row:log | `keyfill: the engine's sequence is behind keys in its tables` | warn | `table` `column` `source` `remedy` | a `native` source goes on by `on_behind: warn`: each key above the sequence is a duplicate-key error once. `remedy` raises it
	MessageBehind = Message{slog.LevelWarn, "keyfill: the engine's sequence is behind keys in its tables",
		[]string{"table", "column", "source", "remedy"}}
	//row:log | `keyfill: no INSERT has matched an entry of the policy` | warn | `entry` `line` `inserts` | once, after a thousand INSERTs: the entry's name may have a typo
	MessageUnmatched = Message{slog.LevelWarn, "keyfill: no INSERT has matched an entry of the policy",
		[]string{"entry", "line", "inserts"}}
	//row:log | `keyfill: a key does not suit its column` | error | `table` `column` `entry` `problem` `count` | an INSERT failed, and the column does not take such keys, as text in `BINARY(16)`. `problem` names the layout or source that fits
	MessageUnfit = Message{slog.LevelError, "keyfill: a key does not suit its column",
		[]string{"table", "column", "entry", "problem", "count"}}
	// MessageRefused and MessageUnfilled are logged once for each shape of a text (the text
	// without its values), and again at its 10th, 100th, 1,000th … statement.
	//
	//row:log | `keyfill: INSERT refused` | warn | `table` `reason` `remedy` `offset` `shape` `count` | once for each shape, and at its 10th, 100th, 1,000th … statement
	MessageRefused = Message{slog.LevelWarn, "keyfill: INSERT refused",
		[]string{"table", "reason", "remedy", "offset", "shape", "count"}}
	//row:log | `keyfill: INSERT sent unfilled` | warn | `table` `action` `mode` `reason` `remedy` `offset` `shape` `count` | as above, for `mode: dry_run` and `unsupported: unfilled`
	MessageUnfilled = Message{slog.LevelWarn, "keyfill: INSERT sent unfilled",
		[]string{"table", "action", "mode", "reason", "remedy", "offset", "shape", "count"}}
	//row:log | `keyfill: a numbering could not be raised above a key that was brought` | warn | `table` `column` | an INSERT with its own key was stored, and its store could not be raised
	MessageNotRaised = Message{slog.LevelWarn, "keyfill: a numbering could not be raised above a key that was brought",
		[]string{"table", "column"}}
	// MessageOtherFormat is logged once for each period.
	//
	//row:log | `keyfill: a period is written with another format than the policy's` | warn | `table` `column` `period` | once for each period and process: the policy's format begins with the next period
	MessageOtherFormat = Message{slog.LevelWarn, "keyfill: a period is written with another format than the policy's",
		[]string{"table", "column", "period"}}
	// MessageSessionRead is logged for the first, the 10th, the 100th … statement that asks
	// the session for a number which keyfill has made.
	//
	//row:log | `keyfill: the session was asked for a number that keyfill has made` | warn | `table` `column` `read` `count` | a statement that calls `lastval()` or the like was sent after a filled INSERT: [keys.md](keys.md); for the first, 10th, 100th … one
	MessageSessionRead = Message{slog.LevelWarn, "keyfill: the session was asked for a number that keyfill has made",
		[]string{"table", "column", "read", "count"}}
	//row:log | `keyfill: the policy could not be compared with the database` | warn | `error` | the check at the start has failed
	MessageUnchecked = Message{slog.LevelWarn, "keyfill: the policy could not be compared with the database",
		[]string{"error"}}
	// MessageFinding is logged with the level of the finding: error, warn or info.
	//
	//row:log | `keyfill: check` | as the finding | `finding` `rule` `table` `column` `line` `remedy` | for each finding of the check at the start: [check.md](check.md)
	MessageFinding = Message{slog.LevelWarn, "keyfill: check",
		[]string{"finding", "rule", "table", "column", "line", "remedy"}}
)

// Messages returns all messages.
func Messages() []Message {
	return []Message{
		MessageOpened, MessageStoreDown, MessageStoreBack, MessageWaited,
		MessageLeaseTaken, MessageLeaseLost, MessageLeaseGivenBack, MessageRival, MessagePeers, MessageElsewhere,
		MessageSuspect, MessageNearEnd, MessageBehind, MessageUnmatched, MessageUnfit,
		MessageRefused, MessageUnfilled, MessageNotRaised, MessageOtherFormat, MessageSessionRead, MessageUnchecked, MessageFinding,
	}
}

// Log is the log of one database. It is safe for concurrent use.
type Log struct {
	Logger *slog.Logger // nil means slog's default logger, which the program may set at any time
}

// Write logs a message with the values of its attributes, in their order. It omits an
// attribute whose value is nil.
func (l Log) Write(ctx context.Context, m Message, values ...any) {
	l.WriteAt(ctx, m.Level, m, values...)
}

// WriteAt logs a message as Write does, at another level.
func (l Log) WriteAt(ctx context.Context, level slog.Level, m Message, values ...any) {
	logger := l.Logger
	if logger == nil {
		logger = slog.Default()
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, len(values))
	for i, v := range values {
		if v != nil {
			attrs = append(attrs, slog.Any(m.Attributes[i], v))
		}
	}
	logger.LogAttrs(ctx, level, m.Text, attrs...)
}
