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

// HasNumbers reports whether the execution has keys from a counter, about which a
// duplicate-key error may be.
func (x *Execution) HasNumbers() bool {
	for i, d := range x.Plan.Draws {
		if x.Holes.Counts[i] > 0 && table.Of(&x.Plan.Inserts[d.Insert]).KeyColumns[d.Key].Source == nil {
			return true
		}
	}
	return false
}

// OwnConflicts reports whether the table's definition may make the engine skip or
// replace rows, although the statement does not ask for that.
func (x *Execution) OwnConflicts() bool {
	f := FactsOf(x.Conn, table.Of(&x.Plan.Inserts[0]))
	return f != nil && f.OwnConflicts
}

// Execution is one logical execution of a statement that gets keys, or that contains
// explicit keys above which a counter is raised: it holds the call, the keys, and the
// text and arguments to send. The keys are drawn once for it, however often
// database/sql sends it. Its executor draws them and sends it.
type Execution struct {
	Conn  *Conn
	Plan  *plans.Plan
	Query string              // the text as the application sent it
	Args  []driver.NamedValue // the arguments as the application sent them
	Holes bind.Holes
	Drawn Drawn

	Form Form

	Handed  atomic.Bool // the keys were given to a repetition of the execution
	ordinal int         // the position among the executions of its Attempt (one try of a transaction), from 1
	Refused *Event      // what to count for a kept statement (one with its own keys) that was sent although a counter could not be raised; else nil

	How       Executor
	Follows   Following
	Recording recording
	Trace     Tracing
	Fate      fate

	Outgoing Outgoing
}

// Form says how the statement and its keys are sent.
type Form struct {
	Inline    bool // the keys are literals in the text
	Session   bool // the key is sent as LAST_INSERT_ID(key)
	Kept      bool // the statement contains all its keys, and is sent unchanged
	Joined    bool // the keys are drawn in the statement's transaction
	FromFirst bool // the engine numbers the rows from the first key on: see executor.engineNumbered
	Batched   bool // the statement is sent in a batch, which finishes it
}

// Drawn holds the keys of an execution.
type Drawn struct {
	Keys   [][]driver.Value
	Room   keys.Room
	Rows   map[int]int64 // how many keys to draw for each INSERT … SELECT, by its index
	Values string        // the values that {value:x} has in the names of stored counters; may be empty
}

// Outgoing is the text and the arguments that are sent.
type Outgoing struct {
	Text string // the text to send
	Sent []driver.NamedValue
}

// fate is what is known about the rows of an execution that was sent.
type fate struct {
	Rows    []Outcome // the outcome of each row in the plan; nil if the engine was not asked
	Changed int64     // the key of a stored row, for LastInsertId: see outcome.Answer.Settle
	Asked   bool      // the executor has asked the engine which rows were stored, before it ended the transaction
	Undone  bool      // a rollback has returned the keys, and removed the rows
	Unfit   bool      // a key column cannot hold the keys: see outcome.noteUnfit
	Gone    error     // the error if the transaction has ended since the statement succeeded
}

// NewExecution returns an execution without keys. It reuses the memory of the execution
// that was released last.
func (c *Conn) NewExecution(ctx context.Context, p *plans.Plan, query string, args []driver.NamedValue, h bind.Holes) *Execution {
	x := c.EmptyExecution()
	x.Conn, x.Plan, x.Query, x.Args, x.Holes = c, p, query, args, h
	x.Drawn.Values = ValuesFor(ctx, p)
	x.Watch(ctx)
	return x
}

// Watch gives the execution the recorder (see keyfill.Record) and the tracer of the
// context.
func (x *Execution) Watch(ctx context.Context) {
	w := WatchOf(ctx)
	x.Recording.Recorder, x.Trace.To = w.recorder, w.Tracer
}

// EmptyExecution returns an execution without an executor, which means the executor
// autonomous.
func (c *Conn) EmptyExecution() *Execution {
	x := c.spare
	if c.spare = nil; x == nil {
		x = new(Execution)
	}
	return x
}

// Release makes an execution available for reuse. Nothing may refer to it: it must not
// have failed, and its keys must not be recorded.
func (x *Execution) Release(err error) {
	if c := x.Conn; err == nil && x.Recording.Recorder == nil && c.Attempt == nil {
		*x = Execution{}
		c.spare = x
	}
}

// ValuesFor returns the values in the context that are part of the names of states: two
// executions with different values draw from different states (stored counters).
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

// Prepares reports whether database/sql must prepare, execute and close the text:
// otherwise the driver would cache a statement for a text that is never sent again.
func (x *Execution) Prepares() bool {
	return x.Form.Inline && len(x.Args) > 0 && x.Conn.DB.Driver.CachesQueries && !x.Form.Joined && !x.Form.FromFirst
}

// Executor sends the statement of an execution that has its keys, and ends the transaction
// or savepoint that was begun for the keys. There are five: autonomous, skipping,
// insertSelect, engineNumbered and transactional. Prepared statements use the same
// executors. A [Plain] INSERT and a [fill.bulkLoad] need none.
type Executor interface {
	// Exec executes the statement through via, once or several times.
	Exec(ctx context.Context, via Sender) (driver.Result, error)

	// Query executes the statement as Exec does, and returns its rows.
	Query(ctx context.Context, via Sender) (driver.Rows, error)
}

// Sender sends the text and the arguments that an execution has at that moment: an
// [executor.Direct] sends them to the driver's connection, a [fill.statement] to the
// driver's prepared statement.
type Sender interface {
	SendExec(ctx context.Context, x *Execution) (driver.Result, error)
	SendQuery(ctx context.Context, x *Execution) (driver.Rows, error)
}
