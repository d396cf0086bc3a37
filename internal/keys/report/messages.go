package report

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
	MessageOpened = Message{slog.LevelInfo, "keyfill: opened",
		[]string{"policy", "hash", "dialect", "tables", "sources", "mode"}}
	// MessageStoreDown is logged again, as an error, when an INSERT gets no key.
	MessageStoreDown = Message{slog.LevelWarn, "keyfill: store down",
		[]string{"store", "source", "error"}}
	MessageStoreBack = Message{slog.LevelInfo, "keyfill: store back",
		[]string{"store", "down", "failures"}}
	MessageWaited = Message{slog.LevelWarn, "keyfill: an INSERT waited for its block",
		[]string{"table", "column", "source", "waited", "waits"}}
	MessageLeaseTaken = Message{slog.LevelInfo, "keyfill: lease taken",
		[]string{"source", "worker", "series", "lease"}}
	MessageLeaseLost = Message{slog.LevelWarn, "keyfill: lease lost",
		[]string{"source", "worker", "series"}}
	MessageLeaseGivenBack = Message{slog.LevelInfo, "keyfill: lease given back",
		[]string{"source", "worker", "series"}}
	MessageRival = Message{slog.LevelWarn, "keyfill: another process has the number of this worker",
		[]string{"source", "worker", "count"}}
	MessagePeers = Message{slog.LevelWarn, "keyfill: another server writes into keyfill's tables too",
		[]string{"store", "sign", "remedy"}}
	MessageElsewhere = Message{slog.LevelWarn, "keyfill: a state was last written at another server",
		[]string{"store", "source"}}
	MessageSuspect = Message{slog.LevelError, "keyfill: source suspect: a key was in use already",
		[]string{"table", "column", "count"}}
	MessageNearEnd = Message{slog.LevelWarn, "keyfill: most keys of a source are used",
		[]string{"table", "column", "keys", "remedy", "count"}}
	MessageBehind = Message{slog.LevelWarn, "keyfill: the engine's sequence is behind keys in its tables",
		[]string{"table", "column", "source", "remedy"}}
	MessageUnmatched = Message{slog.LevelWarn, "keyfill: no INSERT has matched an entry of the policy",
		[]string{"entry", "line", "inserts"}}
	MessageUnfit = Message{slog.LevelError, "keyfill: a key does not suit its column",
		[]string{"table", "column", "entry", "problem", "count"}}
	// MessageRefused and MessageUnfilled are logged once for each shape of a text (the text
	// without its values), and again at its 10th, 100th, 1,000th … statement.
	MessageRefused = Message{slog.LevelWarn, "keyfill: INSERT refused",
		[]string{"table", "reason", "remedy", "offset", "shape", "count"}}
	MessageUnfilled = Message{slog.LevelWarn, "keyfill: INSERT sent unfilled",
		[]string{"table", "action", "mode", "reason", "remedy", "offset", "shape", "count"}}
	MessageNotRaised = Message{slog.LevelWarn, "keyfill: a numbering could not be raised above a key that was brought",
		[]string{"table", "column"}}
	// MessageOtherFormat is logged once for each period.
	MessageOtherFormat = Message{slog.LevelWarn, "keyfill: a period is written with another format than the policy's",
		[]string{"table", "column", "period"}}
	// MessageSessionRead is logged for the first, the 10th, the 100th … statement that asks
	// the session for a number which keyfill has made.
	MessageSessionRead = Message{slog.LevelWarn, "keyfill: the session was asked for a number that keyfill has made",
		[]string{"table", "column", "read", "count"}}
	MessageUnchecked = Message{slog.LevelWarn, "keyfill: the policy could not be compared with the database",
		[]string{"error"}}
	// MessageFinding is logged with the level of the finding: error, warn or info.
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
