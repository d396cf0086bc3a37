package fill

import (
	"context"
	"database/sql/driver"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// execution is one logical execution of a statement that gets keys, or that brings keys
// which are followed: what was called, the keys, and what is sent. The keys are drawn
// once for it, whatever detour database/sql takes. Its executor draws them and sends it.
type execution struct {
	conn      *connection
	plan      *rewrite.Plan
	query     string              // as the application sent it
	args      []driver.NamedValue // as the application sent them
	holes     rewrite.Holes
	keys      [][]driver.Value
	room      keys.Room
	rows      map[int]int64 // by index of the INSERT … SELECT: the rows to draw keys for
	values    string        // of the states' {value:x}; "" where there are none
	inline    bool          // keys are literals in the text
	session   bool          // it has the text with LAST_INSERT_ID(key)
	kept      bool          // it brings all its keys, and goes out as it came
	joined    bool          // it has a transactional executor
	fromFirst bool          // the engine numbers its rows from the first key: see engineNumbered
	batched   bool          // it is sent with others, whose Batch ends it
	handed    atomic.Bool   // its keys were given to its retry
	ordinal   int           // among the executions of its attempt, from 1
	refused   *event        // of a kept statement, sent although nothing could be raised

	how       executor
	follows   following
	recording recording
	trace     tracing
	fate      fate

	text string // what is sent
	sent []driver.NamedValue
}

// fate is what is known of the rows of an execution that was sent.
type fate struct {
	rows    []outcome // of the plan's places; nil where nobody asked
	changed int64     // the key of a stored row for LastInsertId: see answer.settle
	asked   bool      // the executor has asked already, before it ended the transaction
	undone  bool      // what was drawn was undone, and so is what was stored
	unfit   bool      // a column does not take its keys: see noteUnfit
	gone    error     // the transaction has ended since the statement succeeded
}

// newExecution returns an execution without keys. It reuses the memory of the last one
// that was released.
func (c *connection) newExecution(ctx context.Context, p *rewrite.Plan, query string, args []driver.NamedValue, h rewrite.Holes) *execution {
	x := c.emptyExecution()
	x.conn, x.plan, x.query, x.args, x.holes = c, p, query, args, h
	x.values = valuesFor(ctx, p)
	x.watch(ctx)
	return x
}

// watch notes who wants to know of the execution under a context.
func (x *execution) watch(ctx context.Context) {
	w := watchOf(ctx)
	x.recording.recorder, x.trace.to = w.recorder, w.tracer
}

// emptyExecution returns an execution without an executor, which is an autonomous one.
func (c *connection) emptyExecution() *execution {
	x := c.spare
	if c.spare = nil; x == nil {
		x = new(execution)
	}
	return x
}

// release takes back an execution that nothing refers to any more: one whose keys
// are not recorded, and that has not failed.
func (x *execution) release(err error) {
	if c := x.conn; err == nil && x.recording.recorder == nil && c.attempt == nil {
		*x = execution{}
		c.spare = x
	}
}

// valuesFor returns what names the states of a plan's keys besides the policy:
// two executions with other values draw from other states.
func valuesFor(ctx context.Context, p *rewrite.Plan) string {
	values := ""
	for _, d := range p.Draws {
		k := &keys.TableOf(&p.Inserts[d.Insert]).KeyColumns[d.Key]
		for _, name := range k.StateValues() {
			v, _ := keys.ValuesOf(ctx)(name)
			values += v + "\x00"
		}
	}
	return values
}

// fill gives the execution its keys: the keys of an attempt that has stored nothing, or
// new ones.
func (x *execution) fill(ctx context.Context) error {
	if x.trace.to != nil {
		x.trace.waits = new(keys.Waits)
		ctx = keys.WithWaits(ctx, x.trace.waits)
	}
	if !x.conn.attempt.retry(x) && !x.recording.recorder.retry(x) {
		if err := x.choose(ctx); err != nil {
			return err
		}
	}
	x.place()
	return nil
}

// draw returns keys for the execution.
func (x *execution) draw(ctx context.Context) ([][]driver.Value, error) {
	var drawn [][]driver.Value
	if x.plan.Counts() {
		drawn = x.keys // for the count
	}
	var room *keys.Room
	if x.keys == nil {
		room = &x.room // the keys of an attempt before are kept until there are others
	}
	drawn, err := keys.Draw(ctx, x.plan, x.args, x.holes, x.rows, drawn, giverOf(x), room)
	return drawn, doubtUndrawn(x, err)
}

// prepares says that database/sql shall prepare the text, execute and close it:
// the driver would keep a statement for a text that never comes again.
func (x *execution) prepares() bool {
	return x.inline && len(x.args) > 0 && x.conn.DB.Driver.CachesQueries && !x.joined && !x.fromFirst
}

// place puts the keys where they travel.
func (x *execution) place() {
	switch {
	case x.kept:
		x.text, x.sent = x.query, x.args
	case x.fromFirst:
		x.text, x.sent = x.plan.TextFrom(firstNumber(x)), x.args
	case x.inline && proves(x):
		x.text, x.sent = x.plan.InlineProven(x.args, x.holes, x.keys, x.session)
	case x.inline:
		x.text, x.sent = x.plan.Inline(x.args, x.holes, x.keys, x.session)
	case proves(x):
		x.text, x.sent = x.plan.ProvenText(x.session), x.plan.Bind(x.args, x.holes, x.keys, x.session)
	default:
		x.text, x.sent = x.plan.BoundText(x.session), x.plan.Bind(x.args, x.holes, x.keys, x.session)
	}
}

// resume takes up a parked execution for the same call, or for another one with
// equal arguments: what was decided is decided again, since the caller's []byte
// may have changed in between, and the arguments sent are this caller's.
func (x *execution) resume(ctx context.Context, args []driver.NamedValue) bool {
	h, err := x.plan.Holes(args)
	if err != nil || !x.holes.Equal(h) || x.values != valuesFor(ctx, x.plan) {
		return false
	}
	x.args = args
	x.watch(ctx)
	x.place()
	return true
}

// executed finishes an Exec that its executor has sent.
func (x *execution) executed(ctx context.Context, res driver.Result, err error) (driver.Result, error) {
	if err == nil && !x.fate.asked {
		x.answer(res).settle(ctx)
		if err = x.fate.gone; err != nil {
			res = nil
		}
	}
	if err == nil {
		if err = x.follows.raiseBehind(ctx); err != nil {
			res, x.fate.gone = nil, err
		}
	}
	noteUnfit(ctx, x, err)
	account{x}.count(res, err)
	x.record(err)
	x.noteSent(err)
	if err != nil {
		x.failed(ctx, err)
		return res, meant(x, setRefused(x.plan, err))
	}
	if x.kept {
		return res, nil
	}
	noteNumber(x)
	answer := x.answer(res)
	if err := answer.storedMore(ctx); err != nil {
		return res, err
	}
	return withSeveral(lastID{answer}.result()), nil
}

// noteNumber notes an execution that has got its keys, and was sent.
func noteNumber(x *execution) {
	if f := factsOf(x.conn, keys.TableOf(&x.plan.Inserts[0])); f != nil && f.HasCounter && !x.batched {
		x.conn.numbers.note(x.plan, f)
	}
}

// queried finishes a Query that its executor has sent; what was stored is known when
// its rows are read.
func (x *execution) queried(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	x.noteSent(err)
	if err != nil {
		noteUnfit(ctx, x, err)
		account{x}.count(nil, err)
		x.record(err)
		x.failed(ctx, err)
		return nil, meant(x, setRefused(x.plan, err))
	}
	if !x.kept {
		noteNumber(x)
	}
	if x.kept || x.recording.recorder == nil && x.trace.to == nil && !x.hasNumbers() {
		account{x}.count(nil, nil)
		return rows, nil
	}
	account{x}.countBegun()
	rows = x.observe(ctx, rows)
	account{x}.tellRows(rows)
	return rows, nil
}

// failed handles the error of a statement that was sent.
func (x *execution) failed(ctx context.Context, err error) {
	doubtNames(x, err)
	if sqlcode.Answered(err) {
		x.follows.raiseKept(ctx, x.plan)
	}
	if isBadConn(err) || (ending{x, err}).isUndone() {
		x.recording.recorder.lose(x)
		return
	}
	suspect(ctx, x, err)
}
