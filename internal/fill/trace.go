package fill

import (
	"context"

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
	w := watchOf(ctx)
	w.tracer = &tracer{parent: w.tracer, tell: tell}
	return context.WithValue(ctx, watchKey{}, &w)
}

// say tells the tracer and those around it. A nil one tells nobody.
func (t *tracer) say(e Traced) {
	for ; t != nil; t = t.parent {
		t.tell(e)
	}
}

// event tells of a statement that goes out as it came.
func (t *tracer) event(e event) {
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
	x := a.x
	if x.trace.to == nil {
		return
	}
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
	x.trace.to.say(told)
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
