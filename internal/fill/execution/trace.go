package execution

import (
	"context"

	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// Traced has the fields of the public type Event, where they are described.
type Traced struct {
	Entry, Table string
	Action       plans.Action
	Withheld     bool
	Reason       rewrite.Reason
	Offset       int

	Keys         int
	Kind, Source string
	Way          string
	Joined       bool
	Blocks       report.Waits

	Outcome Outcome
	Failed  bool
	Cause   string
}

// Watch holds the recorder (see keyfill.Record) and the tracer of a context, so that one
// lookup finds both.
type Watch struct {
	recorder *Recorder // the innermost recorder; nil if none is set
	Tracer   *Tracer   // the innermost tracer; nil if none is set
}

// Tracer reports each INSERT under a context to a function of the program.
type Tracer struct {
	parent *Tracer
	tell   func(Traced)
	ofRows bool // tell is called only for INSERTs that return rows, before the rows are read
}

type watchKey struct{}

// WatchOf returns the recorder (see keyfill.Record) and the tracer of a context.
func WatchOf(ctx context.Context) Watch {
	w, _ := ctx.Value(watchKey{}).(*Watch)
	if w == nil {
		return Watch{}
	}
	return *w
}

// WithTracer returns a context in which tell is called for each INSERT, and so are the
// tracers of ctx.
func WithTracer(ctx context.Context, tell func(Traced)) context.Context {
	return withTracer(ctx, Tracer{tell: tell})
}

// WithTracerOfRows returns a context in which tell is called for each INSERT that
// returns rows, before they are read.
func WithTracerOfRows(ctx context.Context, tell func(Traced)) context.Context {
	return withTracer(ctx, Tracer{tell: tell, ofRows: true})
}

func withTracer(ctx context.Context, t Tracer) context.Context {
	w := WatchOf(ctx)
	t.parent = w.Tracer
	w.Tracer = &t
	return context.WithValue(ctx, watchKey{}, &w)
}

// Untraced returns a context without tracers. It keeps the recorder (see keyfill.Record).
func Untraced(ctx context.Context) context.Context {
	w := WatchOf(ctx)
	if w.Tracer == nil {
		return ctx
	}
	return context.WithValue(ctx, watchKey{}, &Watch{recorder: w.recorder})
}

// Say reports e to t and its parents; it does nothing if t is nil.
func (t *Tracer) Say(e Traced) { t.SayTo(false, e) }

// SayTo reports e to t and its parents: to the tracers (see keyfill.WithTrace) that are
// called before rows are read if ofRows is set, and otherwise to all other tracers.
func (t *Tracer) SayTo(ofRows bool, e Traced) {
	for ; t != nil; t = t.parent {
		if t.ofRows == ofRows {
			t.tell(e)
		}
	}
}

// IsOfRows reports whether t or one of its parents is called before rows are read.
func (t *Tracer) IsOfRows() bool {
	for ; t != nil; t = t.parent {
		if t.ofRows {
			return true
		}
	}
	return false
}

// Event reports a statement that was sent unchanged. err is the driver's answer.
func (t *Tracer) Event(e Event, err error) {
	if t == nil {
		return
	}
	told := Traced{Table: e.Table, Action: e.Action, Withheld: e.Withheld, Offset: -1, Way: wayAsItCame}
	if e.Owner != nil {
		told.Entry = e.Owner.Rule.Entry
	}
	if e.Action == plans.Refuse {
		told.Reason, told.Offset = e.Reason, e.Offset
	}
	if err != nil {
		told.Failed, told.Cause = true, CauseOf(err).String()
	}
	t.Say(told)
}

// refused reports a statement that was not sent.
func (t *Tracer) refused(r *plans.Refusal) {
	if t == nil {
		return
	}
	t.Say(Traced{
		Entry: r.Target.Owner.(*table.Table).Rule.Entry, Table: r.Table, Action: plans.Refuse,
		Reason: r.Reason, Offset: r.Offset, Outcome: OutcomeNotStored, Failed: true,
	})
}

// The ways in which a statement was sent to the driver.
const (
	wayAsItCame = "as it came"
	wayDirect   = "direct"
	wayPrepared = "prepared"
	wayBatch    = "batch"
	wayBulk     = "bulk"
)

// Tracing holds what the tracer (see keyfill.WithTrace) of an execution reports.
type Tracing struct {
	To       *Tracer
	Prepared bool
	Waits    *report.Waits // how long the execution has waited for its keys
}

// Way returns the way in which the execution is sent to the driver.
func (x *Execution) Way() string {
	switch {
	case x.Form.Batched:
		return wayBatch
	case x.Plan.Load:
		return wayBulk
	case x.Trace.Prepared:
		return wayPrepared
	}
	return wayDirect
}

// SourceOf returns the first key column of an INSERT that gets keys.
func (x *Execution) SourceOf(in *plans.Insert) *table.Column {
	t := table.Of(in)
	for i, d := range x.Plan.Draws {
		if &x.Plan.Inserts[d.Insert] == in && (i >= len(x.Holes.Counts) || x.Holes.Counts[i] > 0) {
			return &t.KeyColumns[d.Key]
		}
	}
	return &t.KeyColumns[0]
}
