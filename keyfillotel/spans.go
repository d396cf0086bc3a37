package keyfillotel

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/figures"
)

// TracerProvider returns a provider whose spans have attributes about the INSERTs that
// are executed under them. It is made for otelsql around keyfill's driver:
//
//	db, err := otelsql.Open("mysql-keyfill", dsn,
//		otelsql.WithTracerProvider(keyfillotel.TracerProvider(otel.GetTracerProvider())))
//
// The span of the INSERT gets the attributes that [Attributes] lists. Where several
// INSERTs are executed under one span, as in one text, the first has the attributes and
// each other one is an event of the span named keyfill.insert.
//
// A span accepts no attributes after its end. The span of a Query with RETURNING ends
// before its rows are read, which is when keyfill knows how the INSERT ended: it has all
// attributes but keyfill.outcome and keyfill.reason.
//
// A span that records makes its INSERTs take the longer way through keyfill, as
// [keyfill.WithTrace] says; INSERTs under other spans cost nothing more.
func TracerProvider(from trace.TracerProvider) trace.TracerProvider { return provider{from} }

// provider embeds trace.TracerProvider, as OpenTelemetry requires of implementations.
type provider struct{ trace.TracerProvider }

func (p provider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return tracer{p.TracerProvider.Tracer(name, options...)}
}

type tracer struct{ trace.Tracer }

// Start starts a span which INSERTs under its context report to.
func (t tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := t.Tracer.Start(ctx, name, options...)
	if span.IsRecording() {
		t := &teller{span: span}
		ctx = keyfill.WithTraceOfRows(keyfill.WithTrace(ctx, t.ended), t.begun)
	}
	return ctx, span
}

// Tell returns the function for [keyfill.WithTrace] that reports the INSERTs under a
// context to a span, for a program that has no otelsql:
//
//	ctx = keyfill.WithTrace(ctx, keyfillotel.Tell(span))
//
// It is safe for concurrent use.
func Tell(span trace.Span) func(keyfill.Event) { return (&teller{span: span}).ended }

// teller reports INSERTs to a span. It is safe for concurrent use.
type teller struct {
	span trace.Span
	mu   sync.Mutex
	told bool   // whether the span has the attributes of an INSERT
	open string // the table of the INSERT that has given the span its attributes, while its rows are read
}

// begun reports an INSERT whose rows are read next, if it is the first of the span.
func (t *teller) begun(e keyfill.Event) {
	attributes := known(e)
	if len(attributes) == 0 || !t.span.IsRecording() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.told {
		t.told, t.open = true, e.Table
		t.span.SetAttributes(attributes...)
	}
}

// ended reports an INSERT whose outcome is known.
func (t *teller) ended(e keyfill.Event) {
	attributes := Attributes(e)
	if len(attributes) == 0 || !t.span.IsRecording() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.told || t.open == e.Table {
		t.told, t.open = true, ""
		t.span.SetAttributes(attributes...)
		return
	}
	t.span.AddEvent("keyfill.insert", trace.WithAttributes(attributes...))
}

// Attributes returns the attributes of a span about an INSERT, or none if the INSERT
// matched no entry of the policy:
//
//	db.collection.name   the table, by the semantic conventions
//	db.operation.name    INSERT, by the semantic conventions
//	keyfill.entry        the entry of the policy
//	keyfill.action       fill, keep, pass or refuse
//	keyfill.outcome      as in the metrics: stored, left_out, failed, unknown, kept or refused
//	keyfill.reason       why the INSERT was refused, or a cause: as in [keyfill.Event]
//	keyfill.keys         how many keys were added
//	keyfill.source.name  the source of the keys
//	keyfill.source.kind  its kind
//	keyfill.waited       seconds that the INSERT waited for its source, where it did
//	keyfill.withheld     true where the INSERT was sent as it came because of the mode
//
// No attribute holds a key, an argument or the text of a query.
func Attributes(e keyfill.Event) []attribute.KeyValue {
	if e.Entry == "" {
		return nil
	}
	attributes := known(e)
	if outcome := outcomeOf(e); outcome != "" {
		attributes = append(attributes, attribute.String(outcomeKey, string(outcome)))
	}
	switch {
	case e.Reason != "":
		attributes = append(attributes, attribute.String(reasonKey, string(e.Reason)))
	case e.Cause != "":
		attributes = append(attributes, attribute.String(reasonKey, string(e.Cause)))
	}
	return attributes
}

// known returns the attributes that are known before the rows of the INSERT are read.
func known(e keyfill.Event) []attribute.KeyValue {
	if e.Entry == "" {
		return nil
	}
	attributes := []attribute.KeyValue{
		text("db.collection.name", e.Table),
		attribute.String("db.operation.name", "INSERT"),
		text(entryKey, e.Entry),
		attribute.String("keyfill.action", e.Action),
	}
	if e.Keys > 0 {
		attributes = append(attributes, attribute.Int("keyfill.keys", e.Keys), text(sourceKey, e.Source), attribute.String(kindKey, e.Kind))
	}
	if e.Waited > 0 {
		attributes = append(attributes, attribute.Float64("keyfill.waited", e.Waited.Seconds()))
	}
	if e.Withheld {
		attributes = append(attributes, attribute.Bool("keyfill.withheld", true))
	}
	return attributes
}

// outcomeOf returns the outcome under which the metrics count an INSERT that matched an
// entry, empty for a table that the policy passes.
func outcomeOf(e keyfill.Event) figures.Outcome {
	switch {
	case e.Action == "keep":
		return figures.Kept
	case e.Action == "refuse":
		return figures.Refused
	case e.Action != "fill":
		return ""
	case e.Outcome == keyfill.Stored:
		return figures.Stored
	case e.Outcome == keyfill.Unknown:
		return figures.Unknown
	case e.Failed:
		return figures.Failed
	}
	return figures.LeftOut
}
