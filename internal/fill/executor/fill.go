package executor

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/rowcount"
)

// Fill gives the execution its keys: the keys of an earlier attempt that has stored
// nothing, or new ones.
func Fill(ctx context.Context, x *execution.Execution) error {
	if x.Trace.To != nil {
		x.Trace.Waits = new(report.Waits)
		ctx = report.WithWaits(ctx, x.Trace.Waits)
	}
	if !x.Conn.Attempt.Retry(x) && !x.Recording.Recorder.Retry(x) {
		if err := choose(ctx, x); err != nil {
			return err
		}
	}
	Place(x)
	return nil
}

// FillJoined is Fill for an execution whose only key is drawn in its transaction, and
// that brings no keys of its own.
func FillJoined(ctx context.Context, x *execution.Execution) error {
	t := &Transactional{X: x, Needs: joiningByPolicy(x.Plan, x.Holes)}
	if !t.Needs.Any {
		return Fill(ctx, x) // the arguments bring the key
	}
	x.How, x.Form.Joined = t, true
	if err := t.take(ctx); err != nil {
		return err
	}
	Place(x)
	return nil
}

// draw returns keys for the execution.
func draw(ctx context.Context, x *execution.Execution) ([][]driver.Value, error) {
	var drawn [][]driver.Value
	if x.Plan.Counts() {
		drawn = x.Drawn.Keys // the keys of earlier INSERTs, which the query for the number of rows needed already
	}
	var room *keys.Room
	if x.Drawn.Keys == nil {
		room = &x.Drawn.Room // the keys of an earlier attempt are kept until new ones are drawn
	}
	drawn, err := keys.Draw(ctx, x.Plan, x.Args, x.Holes, x.Drawn.Rows, drawn, giverOf(x), room)
	if err != nil {
		return nil, doubtUndrawn(x, err)
	}
	return drawn, nil
}

// Place writes the keys into the arguments or the text that is sent.
func Place(x *execution.Execution) {
	switch {
	case x.Form.Kept:
		x.Outgoing.Text, x.Outgoing.Sent = x.Query, x.Args
	case x.Form.FromFirst:
		x.Outgoing.Text, x.Outgoing.Sent = rowcount.TextFrom(x.Plan, firstNumber(x)), x.Args
	case x.Form.Inline && Proves(x):
		x.Outgoing.Text, x.Outgoing.Sent = bind.InlineProven(x.Plan, x.Args, x.Holes, x.Drawn.Keys, x.Form.Session)
	case x.Form.Inline:
		x.Outgoing.Text, x.Outgoing.Sent = bind.Inline(x.Plan, x.Args, x.Holes, x.Drawn.Keys, x.Form.Session)
	case Proves(x):
		x.Outgoing.Text, x.Outgoing.Sent = bind.ProvenText(x.Plan, x.Form.Session), bind.Arguments(x.Plan, x.Args, x.Holes, x.Drawn.Keys, x.Form.Session)
	default:
		x.Outgoing.Text, x.Outgoing.Sent = bind.Text(x.Plan, x.Form.Session), bind.Arguments(x.Plan, x.Args, x.Holes, x.Drawn.Keys, x.Form.Session)
	}
}

// Resume takes up a parked execution (one kept after the driver answered driver.ErrSkip)
// for the same call, or for another one with equal arguments. It decides again where keys
// are missing, since the caller's []byte may have changed meanwhile, and sends the
// arguments of this call. It returns false if other keys are missing than before.
func Resume(ctx context.Context, x *execution.Execution, args []driver.NamedValue) bool {
	h, err := bind.FindHoles(x.Plan, args)
	if err != nil || !x.Holes.Equal(h) || x.Drawn.Values != execution.ValuesFor(ctx, x.Plan) {
		return false
	}
	x.Args = args
	x.Watch(ctx)
	Place(x)
	return true
}
