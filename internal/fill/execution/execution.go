package execution

import (
	"context"
	"database/sql/driver"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// HasNumbers reports whether the execution has keys that a duplicate may be about.
func (x *Execution) HasNumbers() bool {
	for i, d := range x.Plan.Draws {
		if x.Holes.Counts[i] > 0 && table.Of(&x.Plan.Inserts[d.Insert]).KeyColumns[d.Key].Source == nil {
			return true
		}
	}
	return false
}

// OwnConflicts reports whether the table may leave out or replace rows although the
// statement does not ask for it.
func (x *Execution) OwnConflicts() bool {
	f := FactsOf(x.Conn, table.Of(&x.Plan.Inserts[0]))
	return f != nil && f.OwnConflicts
}

// Execution is one logical execution of a statement that gets keys, or that brings keys
// which are followed: the call, the keys, and the text and arguments to send. The keys
// are drawn once for it, whatever detour database/sql takes. Its executor draws them and
// sends it.
type Execution struct {
	Conn  *Conn
	Plan  *plans.Plan
	Query string              // as the application sent it
	Args  []driver.NamedValue // as the application sent them
	Holes bind.Holes
	Drawn Drawn

	Form Form

	Handed  atomic.Bool // its keys were given to its retry
	ordinal int         // among the executions of its attempt, from 1
	Refused *Event      // of a kept statement, sent although nothing could be raised

	How       Executor
	Follows   Following
	Recording recording
	Trace     Tracing
	Fate      fate

	Outgoing Outgoing
}

// Form says how the keys are sent.
type Form struct {
	Inline    bool // keys are literals in the text
	Session   bool // it has the text with LAST_INSERT_ID(key)
	Kept      bool // it brings all its keys, and is sent unchanged
	Joined    bool // it has a transactional executor
	FromFirst bool // the engine numbers its rows from the first key: see engineNumbered
	Batched   bool // it is sent with others, whose Batch ends it
}

// Drawn holds the keys of an execution.
type Drawn struct {
	Keys   [][]driver.Value
	Room   keys.Room
	Rows   map[int]int64 // by index of the INSERT … SELECT: the rows to draw keys for
	Values string        // of the states' {value:x}; empty without such values
}

// Outgoing is what is sent.
type Outgoing struct {
	Text string // the text to send
	Sent []driver.NamedValue
}

// fate holds the known facts about the rows of an execution that was sent.
type fate struct {
	Rows    []Outcome // of the plan's places; nil if the engine was not asked
	Changed int64     // the key of a stored row for LastInsertId: see answer.settle
	Asked   bool      // the executor has asked already, before it ended the transaction
	Undone  bool      // the draw was rolled back, and so were the rows
	Unfit   bool      // a column does not take its keys: see noteUnfit
	Gone    error     // the transaction has ended since the statement succeeded
}

// NewExecution returns an execution without keys. It reuses the memory of the last one
// that was released.
func (c *Conn) NewExecution(ctx context.Context, p *plans.Plan, query string, args []driver.NamedValue, h bind.Holes) *Execution {
	x := c.EmptyExecution()
	x.Conn, x.Plan, x.Query, x.Args, x.Holes = c, p, query, args, h
	x.Drawn.Values = ValuesFor(ctx, p)
	x.Watch(ctx)
	return x
}

// Watch notes the recorder and the tracer of a context.
func (x *Execution) Watch(ctx context.Context) {
	w := WatchOf(ctx)
	x.Recording.Recorder, x.Trace.To = w.recorder, w.Tracer
}

// EmptyExecution returns an execution without an executor, which is an autonomous one.
func (c *Conn) EmptyExecution() *Execution {
	x := c.spare
	if c.spare = nil; x == nil {
		x = new(Execution)
	}
	return x
}

// Release takes back an execution that nothing refers to any more: one whose keys
// are not recorded, and that has not failed.
func (x *Execution) Release(err error) {
	if c := x.Conn; err == nil && x.Recording.Recorder == nil && c.Attempt == nil {
		*x = Execution{}
		c.spare = x
	}
}

// ValuesFor returns what names the states of a plan's keys besides the policy:
// two executions with other values draw from other states.
func ValuesFor(ctx context.Context, p *plans.Plan) string {
	values := ""
	for _, d := range p.Draws {
		k := &table.Of(&p.Inserts[d.Insert]).KeyColumns[d.Key]
		for _, name := range k.StateValues() {
			v, _ := table.ValuesOf(ctx)(name)
			values += v + "\x00"
		}
	}
	return values
}

// Prepares reports whether database/sql shall prepare the text, execute and close it: the
// driver would keep a statement for a text that is never sent again.
func (x *Execution) Prepares() bool {
	return x.Form.Inline && len(x.Args) > 0 && x.Conn.DB.Driver.CachesQueries && !x.Form.Joined && !x.Form.FromFirst
}

// Executor sends the statement of an execution that has its keys, and ends the
// transaction or savepoint that was begun for them. There are five: autonomous, skipping,
// insertSelect, engineNumbered and transactional. A prepared statement sends through the
// same ones. A [Plain] INSERT and a [fill.bulkLoad] need none.
type Executor interface {
	// exec executes the statement through the sender, once or again.
	Exec(ctx context.Context, via Sender) (driver.Result, error)

	// query is exec for a statement that gives rows.
	Query(ctx context.Context, via Sender) (driver.Rows, error)
}

// Sender sends the text and the arguments that an execution has now: a [executor.Direct] sends them
// to the driver's connection, a [fill.statement] to the driver's statement.
type Sender interface {
	SendExec(ctx context.Context, x *Execution) (driver.Result, error)
	SendQuery(ctx context.Context, x *Execution) (driver.Rows, error)
}
