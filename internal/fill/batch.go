package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// A batch is several texts that are sent together, as pgx sends them: the first answer
// comes after the last text, and in between the connection accepts nothing else. So
// everything that has to be queried is queried before or after the batch. The engine
// stores all of a batch or nothing, unless one of its texts ends a transaction.

// Batch holds the texts of one batch. Like its connection, it is used by one goroutine.
type Batch struct {
	conn     *Conn
	queued   []queuedText
	controls bool                // a text of the batch begins or ends a transaction, or rolls back to a savepoint
	forgets  bool                // a text of the batch may have made the server discard prepared statements
	brought  execution.Following // the explicit keys of the texts so far, above which counters are raised
	front    execution.Front
}

// queuedText is one text of a batch.
type queuedText struct {
	query   string
	concern words.Concern
	effect  effects.Transaction
	x       *execution.Execution // nil if the text gets no keys, and contains none above which a counter is raised
	event   execution.Event      // what to count and report if x is nil
	read    bool                 // the answer to the text was read, as result or as rows
	result  driver.Result
	rows    bool
}

// NewBatch returns a batch without texts. queries are all texts that will be added to
// it, as the application has written them.
func (c *Conn) NewBatch(queries []string) *Batch {
	b := &Batch{conn: c}
	c.Numbers.Last = nil // the texts of a batch are not searched for reads of the session's last number, such as lastval()
	for _, query := range queries {
		concern, _, _ := c.DB.Seen.See(query, nil)
		b.controls = b.controls || concern&words.ConcernsTransaction != 0
	}
	return b
}

// Add decides how a text is treated, draws its keys, and returns the text and the
// arguments to send. An error is about this text; nothing of the batch may be sent
// then, and the caller passes the error to Finish.
func (b *Batch) Add(ctx context.Context, query string, args []driver.NamedValue) (string, []driver.NamedValue, error) {
	c := b.conn
	concern, passes, counts := c.Passes(query)
	q := queuedText{query: query, concern: concern}
	if passes {
		q.event.Counts = counts
		b.add(q)
		return query, args, nil
	}
	c.NoteTemporary(query, concern)
	q.effect = c.DB.TransactionEffect(query, concern)
	if concern&words.ConcernsInsert != 0 {
		if err := b.follow(ctx); err != nil {
			return "", nil, err
		}
		d := &directCall{conn: c, query: query, args: args, by: session.ByQuery, batch: b}
		c.Front = &b.front
		defer func() { c.Front = nil }()
		var err error
		if q.x, q.event, err = d.decide(ctx); err != nil {
			return "", nil, err
		}
	}
	if q.x != nil {
		b.brought.Add(q.x.Follows)
		query, args = q.x.Outgoing.Text, q.x.Outgoing.Sent
	}
	b.add(q)
	return query, args, nil
}

// add adds a text whose treatment is decided.
func (b *Batch) add(q queuedText) {
	b.queued = append(b.queued, q)
	b.passes(&q)
	b.forgets = b.conn.NoteSent(q.query) || b.forgets
}

// admit returns an error for an execution whose keys cannot be made before the batch is
// sent, and raises the counters above the keys that earlier texts of the batch bring. If b
// is nil, the text is sent alone, and nothing is refused.
func (b *Batch) admit(ctx context.Context, x *execution.Execution) error {
	if b == nil {
		return nil
	}
	x.Form.Batched = true
	switch {
	case x.Plan.Statements > 1:
		return x.Plan.Refused(rewrite.ErrSeveral)
	case x.Plan.Counts() && !x.Form.Kept:
		return x.Plan.Refused(rewrite.ErrSelectSeveral)
	}
	if x.Follows.IsBefore(x.Plan) || executor.JoiningOf(b.conn.DB.Tables, x.Plan, x.Holes).Any {
		switch err := b.admitJoined(ctx, x); {
		case err == nil:
		case x.Form.Kept && x.Follows.IsUntold():
			x.Follows.Apart = true
		default:
			return err
		}
	}
	return b.brought.RaiseSoFar(ctx)
}

// admitJoined refuses keys that belong to the transaction of their INSERT, unless a
// transaction is open that no text of the batch ends.
func (b *Batch) admitJoined(ctx context.Context, x *execution.Execution) error {
	if executor.JoiningOf(b.conn.DB.Tables, x.Plan, x.Holes).Latest {
		// The INSERTs earlier in the batch are not stored yet.
		return b.together(x.Plan, "the greatest key is not known before the batch is executed")
	}
	if b.controls {
		return b.together(x.Plan, "a text of the batch begins or ends a transaction")
	}
	inside, err := b.conn.IsInTransaction(ctx)
	if err == nil && !inside && !b.conn.Ended {
		err = b.together(x.Plan, "in a batch it needs a transaction that was begun before")
	}
	return err
}

// together returns the refusal of a text that cannot be sent in a batch.
func (b *Batch) together(p *plans.Plan, detail string) error {
	r := p.Refused(rewrite.ErrTogether)
	r.Detail = detail
	return r
}

// Sent records the keys of a batch that is about to be sent, in the order of its texts.
// Whether they were stored may become known in another order.
func (b *Batch) Sent() {
	for i := range b.queued {
		x := b.queued[i].x
		if x != nil && x.Recording.Recorder != nil && !x.Form.Kept && !x.Plan.ByFunction() {
			x.Recording.Write(outcome.RecordedKeys(x))
		}
	}
}

// NoteResult records the result of a text that returned no rows. i is its index in the
// batch. The error of a text is the error of the whole batch: see Finish.
func (b *Batch) NoteResult(i int, res driver.Result) {
	b.queued[i].read, b.queued[i].result = true, res
}

// Watch returns the rows of text i, and records the keys in them as the caller reads
// the rows.
func (b *Batch) Watch(ctx context.Context, i int, rows driver.Rows) driver.Rows {
	q := &b.queued[i]
	q.read, q.rows = true, true
	if q.x == nil || q.x.Form.Kept || q.x.Recording.Recorder == nil {
		return rows
	}
	return outcome.Observe(ctx, q.x, rows)
}

// errNotSent is the error with which the transactions of drawn keys end if the batch is
// not sent.
var errNotSent = anchor.New("transaction-ended", "keyfill: the batch was not sent: send it again")

// Abandon gives up the keys of a batch that is not sent.
func (b *Batch) Abandon(ctx context.Context) {
	b.forget()
	for i := range b.queued {
		if x := b.queued[i].x; x != nil {
			_ = executor.Leave(ctx, x, errNotSent)
		}
	}
}

// Finish ends the batch, after the connection has become free again. failed is the
// error of the batch: then nothing of it is stored, unless one of its texts has ended a
// transaction. Finish returns an error if a statement has done something else than it
// was sent for. If a tracer panics, the texts after it are still finished and counted,
// without calls to tracers.
func (b *Batch) Finish(ctx context.Context, failed error) error {
	var first error
	rest := b.queued
	b.forget()
	if b.forgets {
		b.conn.Forget()
	}
	defer func() {
		ctx := execution.Untraced(ctx)
		for i := range rest {
			if x := rest[i].x; x != nil {
				x.Trace.To = nil
			}
			_ = b.finish(ctx, &rest[i], failed) // for the texts after the one whose tracer has panicked; the panic continues
		}
	}()
	for len(rest) > 0 {
		q := &rest[0]
		rest = rest[1:]
		if err := b.finish(ctx, q, failed); first == nil {
			first = err
		}
	}
	return first
}

// Proves reports whether a text of the batch contains a proof of what its table's name
// means: an expression that fails if the name means another table.
func (b *Batch) Proves() bool {
	return slices.ContainsFunc(b.queued, func(q queuedText) bool { return q.x != nil && executor.Proves(q.x) && q.x.Plan.ProvesName() })
}

// Meant returns err, or ErrOtherTable if err shows that the name of a table in the batch
// meant another table than the one for which keys were drawn.
func (b *Batch) Meant(err error) error {
	for i := range b.queued {
		if x := b.queued[i].x; x != nil {
			err = outcome.Meant(x, err)
		}
	}
	return err
}

// finish finishes one text of the batch.
func (b *Batch) finish(ctx context.Context, q *queuedText, failed error) error {
	c := b.conn
	c.NoteRan(q.effect, q.concern, failed)
	switch {
	case q.x == nil && failed == nil && q.event.Table == "" && q.event.Counts:
		c.CountPassed(ctx, nil)
		return nil
	case q.x == nil:
		if failed == nil {
			c.DB.Stats.Note(ctx, q.query, q.event, nil)
		}
		return nil
	case failed != nil:
		b.finishFailed(ctx, q, failed)
		return nil
	}
	x := q.x
	t, joined := x.How.(*executor.Transactional)
	if joined {
		if err := executor.RaiseStored(ctx, &x.Follows); err != nil {
			_, err = outcome.Executed(ctx, x, nil, t.Leave(ctx, err))
			return err
		}
	}
	if q.rows || !q.read {
		err := executor.Leave(ctx, x, outcome.RaiseAfter(ctx, &x.Follows))
		outcome.Account{X: x}.Count(nil, err)
		outcome.NoteSent(x, err)
		if !q.rows || err != nil {
			outcome.Record(x, err) // recorded as unknown if there is no error: the caller has not read the answer
		}
		return err
	}
	if joined {
		t.Ask(ctx, q.result)
	}
	_, err := outcome.Executed(ctx, x, q.result, executor.Leave(ctx, x, nil))
	return err
}

// finishFailed finishes one text of a batch that has failed. If a text has ended a
// transaction, the texts before it may be stored.
func (b *Batch) finishFailed(ctx context.Context, q *queuedText, failed error) {
	x := q.x
	_ = executor.Leave(ctx, x, failed)
	switch {
	case !b.controls:
		outcome.Account{X: x}.Count(nil, failed)
		outcome.Record(x, failed)
	case execution.IsBadConn(failed):
		outcome.Record(x, nil)
	default:
		outcome.DoubtNames(x, failed)
		outcome.Account{X: x}.CountAs(func(*plans.Insert) outcome.Verdict { return outcome.Verdict{Failed: true, Cause: report.CauseText} })
		outcome.Record(x, nil)
		outcome.Suspect(ctx, x, failed) // only gives up reserved keys: the rows may be stored, and must not be sent again
		return
	}
	outcome.Failed(ctx, x, failed)
}
