package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/rewrite"
)

// Traced has the fields of the public Event, which describes them.
type Traced struct {
	Entry, Table string
	Action       rewrite.Action
	Withheld     bool
	Reason       rewrite.Reason
	Offset       int

	Keys         int
	Kind, Source string
	Way          string
	Joined       bool
	Blocks       keys.Waits

	Outcome outcome
	Failed  bool
	Cause   string
}

// watch is who wants to know, under a context, what is done with a statement. One look at
// the context finds both.
type watch struct {
	recorder *Recorder // the innermost; nil where nobody records
	tracer   *tracer   // the innermost; nil where nobody traces
}

// tracer tells a program of each INSERT under a context.
type tracer struct {
	parent *tracer
	tell   func(Traced)
	ofRows bool // it is told of an INSERT that gives rows before they are read, and of no other
}

type watchKey struct{}

// watchOf returns who wants to know under a context.
func watchOf(ctx context.Context) watch {
	w, _ := ctx.Value(watchKey{}).(*watch)
	if w == nil {
		return watch{}
	}
	return *w
}

// isWatched reports whether somebody wants to know under a context.
func isWatched(ctx context.Context) bool { return ctx.Value(watchKey{}) != nil }

// WithTracer returns a context under which tell is told of each INSERT, and the tracers of
// ctx as well.
func WithTracer(ctx context.Context, tell func(Traced)) context.Context {
	return withTracer(ctx, tracer{tell: tell})
}

// WithTracerOfRows is WithTracer for INSERTs that give rows, of which tell is told before
// they are read.
func WithTracerOfRows(ctx context.Context, tell func(Traced)) context.Context {
	return withTracer(ctx, tracer{tell: tell, ofRows: true})
}

func withTracer(ctx context.Context, t tracer) context.Context {
	w := watchOf(ctx)
	t.parent = w.tracer
	w.tracer = &t
	return context.WithValue(ctx, watchKey{}, &w)
}

// untraced returns a context under which no tracer is told. Who records is told still.
func untraced(ctx context.Context) context.Context {
	w := watchOf(ctx)
	if w.tracer == nil {
		return ctx
	}
	return context.WithValue(ctx, watchKey{}, &watch{recorder: w.recorder})
}

// say tells the tracer and those around it. A nil one tells nobody.
func (t *tracer) say(e Traced) { t.sayTo(false, e) }

// sayTo tells the tracers that are told before rows are read, or the others.
func (t *tracer) sayTo(ofRows bool, e Traced) {
	for ; t != nil; t = t.parent {
		if t.ofRows == ofRows {
			t.tell(e)
		}
	}
}

// isOfRows reports whether one of the tracers is told before rows are read.
func (t *tracer) isOfRows() bool {
	for ; t != nil; t = t.parent {
		if t.ofRows {
			return true
		}
	}
	return false
}

// event tells of a statement that went out as it came. The error is the driver's answer.
func (t *tracer) event(e event, err error) {
	if t == nil {
		return
	}
	told := Traced{Table: e.table, Action: e.action, Withheld: e.withheld, Offset: -1, Way: wayAsItCame}
	if e.owner != nil {
		told.Entry = e.owner.Rule.Entry
	}
	if e.action == rewrite.Refuse {
		told.Reason, told.Offset = e.reason, e.offset
	}
	if err != nil {
		told.Failed, told.Cause = true, causeOf(err).String()
	}
	t.say(told)
}

// refused tells of a statement that is not sent.
func (t *tracer) refused(r *rewrite.Refusal) {
	if t == nil {
		return
	}
	t.say(Traced{
		Entry: r.Target.Owner.(*keys.Table).Rule.Entry, Table: r.Table, Action: rewrite.Refuse,
		Reason: r.Reason, Offset: r.Offset, Outcome: outcomeNotStored, Failed: true,
	})
}

// The ways in which the driver gets a statement.
const (
	wayAsItCame = "as it came"
	wayDirect   = "direct"
	wayPrepared = "prepared"
	wayBatch    = "batch"
	wayBulk     = "bulk"
)

// tracing is what an execution remembers for its tracer.
type tracing struct {
	to       *tracer
	prepared bool
	waits    *keys.Waits // for the drawing of its keys
}

// way returns the way in which the driver gets the execution.
func (x *execution) way() string {
	switch {
	case x.batched:
		return wayBatch
	case x.plan.Load:
		return wayBulk
	case x.trace.prepared:
		return wayPrepared
	}
	return wayDirect
}

// tell tells the tracer what became of one INSERT of the execution.
func (a account) tell(e *event, in *rewrite.Insert, v verdict) {
	if a.x.trace.to != nil {
		a.x.trace.to.say(a.traced(e, in, v))
	}
}

// tellRows tells who wants to know before the rows of the execution are read. Where one of
// them panics, the rows are closed.
func (a account) tellRows(rows driver.Rows) {
	if !a.x.trace.to.isOfRows() {
		return
	}
	told := false
	defer func() {
		if !told {
			_ = rows.Close() // it is gone with the panic
		}
	}()
	a.eachInsert(func(e *event, in *rewrite.Insert) {
		a.x.trace.to.sayTo(true, a.traced(e, in, verdict{cause: keys.CauseRows}))
	})
	told = true
}

// traced is what is told of one INSERT of the execution.
func (a account) traced(e *event, in *rewrite.Insert, v verdict) Traced {
	x := a.x
	told := Traced{
		Entry: e.owner.Rule.Entry, Table: e.table, Action: e.action, Offset: -1, Keys: e.keys,
		Way: x.way(), Joined: x.joined, Outcome: v.outcome, Failed: v.failed,
	}
	if v.failed || v.outcome == outcomeUnknown {
		told.Cause = v.cause.String()
	}
	if e.action == rewrite.Fill {
		k := x.sourceOf(in)
		told.Kind, told.Source = k.Rule.Source.Kind, keys.SourceName(e.owner.Rule.Entry, &k.Rule)
		if x.trace.waits != nil {
			told.Blocks = *x.trace.waits
		}
	}
	return told
}

// sourceOf returns the first key column of an INSERT that gets keys.
func (x *execution) sourceOf(in *rewrite.Insert) *keys.Column {
	t := keys.TableOf(in)
	for i, d := range x.plan.Draws {
		if &x.plan.Inserts[d.Insert] == in && (i >= len(x.holes.Counts) || x.holes.Counts[i] > 0) {
			return &t.KeyColumns[d.Key]
		}
	}
	return &t.KeyColumns[0]
}

// traceFailure tells of an INSERT that got no key, and is not sent.
func (a account) traceFailure(e *event, in *rewrite.Insert, cause keys.Cause) {
	e.keys = 0
	a.tell(e, in, verdict{outcomeNotStored, true, cause})
}
