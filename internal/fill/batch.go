package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// A batch is several texts that are sent together, as pgx sends them: the first answer
// comes behind the last text, and the connection takes nothing else in between. All that
// there is to ask is asked before or behind the batch. The engine stores all of a batch,
// or nothing, unless one of its texts ends a transaction.

// Batch is the texts of one batch. Like its connection, it belongs to one goroutine.
type Batch struct {
	conn     *Conn
	queued   []queuedText
	controls bool      // a text of the batch begins or ends a transaction, or goes back in one
	forgets  bool      // the server may forget at a text what was prepared
	brought  following // by the texts so far
	front    front
}

// queuedText is one text of a batch.
type queuedText struct {
	query   string
	concern rewrite.Concern
	effect  rewrite.Transaction
	x       *execution // nil where the text gets no keys, and brings none that are followed
	event   event      // what the text counts as then
	read    bool       // its answer was read, as result or as rows
	result  driver.Result
	rows    bool
}

// NewBatch returns a batch without texts. The queries are all texts that will be added,
// as the application has written them.
func (c *Conn) NewBatch(queries []string) *Batch {
	b := &Batch{conn: c}
	c.numbers.last = nil // the texts are not read for it
	for _, query := range queries {
		concern, _, _ := c.DB.seen.see(query, nil)
		b.controls = b.controls || concern&rewrite.ConcernsTransaction != 0
	}
	return b
}

// Add decides a text, draws its keys, and returns what is to be sent. An error is about
// this text; nothing of the batch may be sent then, and Finish has to be told.
func (b *Batch) Add(ctx context.Context, query string, args []driver.NamedValue) (string, []driver.NamedValue, error) {
	c := b.conn
	concern, passes, counts := c.Passes(query)
	q := queuedText{query: query, concern: concern}
	if passes {
		q.event.counts = counts
		b.add(q)
		return query, args, nil
	}
	c.NoteTemporary(query, concern)
	q.effect = c.DB.TransactionEffect(query, concern)
	if concern&rewrite.ConcernsInsert != 0 {
		if err := b.follow(ctx); err != nil {
			return "", nil, err
		}
		d := &directCall{conn: c, query: query, args: args, by: session.ByQuery, batch: b}
		c.front = &b.front
		defer func() { c.front = nil }()
		var err error
		if q.x, q.event, err = d.decide(ctx); err != nil {
			return "", nil, err
		}
	}
	if q.x != nil {
		b.brought.add(q.x.follows)
		query, args = q.x.text, q.x.sent
	}
	b.add(q)
	return query, args, nil
}

// add adds a text that is decided.
func (b *Batch) add(q queuedText) {
	b.queued = append(b.queued, q)
	b.passes(&q)
	b.forgets = b.conn.NoteSent(q.query) || b.forgets
}

// admit refuses an execution that cannot get its keys before the batch is sent, and
// raises the numberings above the keys that the texts in front of it bring. A nil batch
// admits everything: the text is sent alone.
func (b *Batch) admit(ctx context.Context, x *execution) error {
	if b == nil {
		return nil
	}
	x.batched = true
	switch {
	case x.plan.Statements > 1:
		return x.plan.Refused(rewrite.ErrSeveral)
	case x.plan.Counts() && !x.kept:
		return x.plan.Refused(rewrite.ErrSelectSeveral)
	}
	if x.follows.isBefore(x.plan) || joiningOf(b.conn.DB.Tables, x.plan, x.holes).any {
		switch err := b.admitJoined(ctx, x); {
		case err == nil:
		case x.kept && x.follows.isUntold():
			x.follows.apart = true
		default:
			return err
		}
	}
	return b.brought.raiseSoFar(ctx)
}

// admitJoined refuses keys that belong to the transaction of their INSERT, unless one is
// open that the batch does not end.
func (b *Batch) admitJoined(ctx context.Context, x *execution) error {
	if joiningOf(b.conn.DB.Tables, x.plan, x.holes).latest {
		// The INSERTs in front are not stored yet.
		return b.together(x.plan, "the greatest key is not known before the batch is executed")
	}
	if b.controls {
		return b.together(x.plan, "a text of the batch begins or ends a transaction")
	}
	inside, err := b.conn.IsInTransaction(ctx)
	if err == nil && !inside && !b.conn.Ended {
		err = b.together(x.plan, "in a batch it needs a transaction that was begun before")
	}
	return err
}

// together is the refusal of a text that has to be sent alone.
func (b *Batch) together(p *rewrite.Plan, detail string) error {
	r := p.Refused(rewrite.ErrTogether)
	r.Detail = detail
	return r
}

// Sent notes the keys of a batch that is about to be sent, in the order of its texts:
// what became of them may be known in another one.
func (b *Batch) Sent() {
	for i := range b.queued {
		x := b.queued[i].x
		if x != nil && x.recording.recorder != nil && !x.kept && !x.plan.ByFunction() {
			x.recording.write(x.recorded())
		}
	}
}

// NoteResult notes the answer of a text that was executed without rows. i is its index
// in the batch. The error of a text is the batch's: see Finish.
func (b *Batch) NoteResult(i int, res driver.Result) {
	b.queued[i].read, b.queued[i].result = true, res
}

// Watch returns the rows of a text, whose keys are noted as the caller reads them.
func (b *Batch) Watch(ctx context.Context, i int, rows driver.Rows) driver.Rows {
	q := &b.queued[i]
	q.read, q.rows = true, true
	if q.x == nil || q.x.kept || q.x.recording.recorder == nil {
		return rows
	}
	return q.x.observe(ctx, rows)
}

// errNotSent is what the transaction of drawn keys is told of a batch that was not sent.
var errNotSent = anchor.New("transaction-ended", "keyfill: the batch was not sent: send it again")

// Abandon gives up what was drawn for a batch that is not sent.
func (b *Batch) Abandon(ctx context.Context) {
	b.forget()
	for i := range b.queued {
		if x := b.queued[i].x; x != nil {
			_ = x.leave(ctx, errNotSent)
		}
	}
}

// Finish ends the batch, when the connection is free again. The error is the batch's:
// nothing of it is stored then, unless a text of it has ended a transaction. Finish
// returns the error of a statement that has done something else than it was sent for.
// Where a tracer panics, the texts behind are ended and counted all the same, and no
// tracer is told of them.
func (b *Batch) Finish(ctx context.Context, failed error) error {
	var first error
	rest := b.queued
	b.forget()
	if b.forgets {
		b.conn.Forget()
	}
	defer func() {
		ctx := untraced(ctx)
		for i := range rest {
			if x := rest[i].x; x != nil {
				x.trace.to = nil
			}
			_ = b.finish(ctx, &rest[i], failed) // the panic goes on
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

// Proves reports whether a text of the batch proves what the name of its table means.
func (b *Batch) Proves() bool {
	return slices.ContainsFunc(b.queued, func(q queuedText) bool { return q.x != nil && proves(q.x) && q.x.plan.ProvesName() })
}

// Meant returns an error of the batch, or what it means where such a proof has failed.
func (b *Batch) Meant(err error) error {
	for i := range b.queued {
		if x := b.queued[i].x; x != nil {
			err = meant(x, err)
		}
	}
	return err
}

// finish ends one text.
func (b *Batch) finish(ctx context.Context, q *queuedText, failed error) error {
	c := b.conn
	c.NoteRan(q.effect, q.concern, failed)
	switch {
	case q.x == nil && failed == nil && q.event.table == "" && q.event.counts:
		c.CountPassed(ctx, nil)
		return nil
	case q.x == nil:
		if failed == nil {
			c.DB.stats.note(ctx, q.query, q.event, nil)
		}
		return nil
	case failed != nil:
		b.finishFailed(ctx, q, failed)
		return nil
	}
	x := q.x
	t, joined := x.how.(*transactional)
	if joined {
		if err := x.follows.raiseStored(ctx); err != nil {
			_, err = x.executed(ctx, nil, t.leave(ctx, err))
			return err
		}
	}
	if q.rows || !q.read {
		err := x.leave(ctx, x.follows.raiseBehind(ctx))
		account{x}.count(nil, err)
		x.noteSent(err)
		if !q.rows || err != nil {
			x.record(err) // as unknown without an error: nobody has read the answer
		}
		return err
	}
	if joined {
		t.ask(ctx, q.result)
	}
	_, err := x.executed(ctx, q.result, x.leave(ctx, nil))
	return err
}

// finishFailed ends a text of a batch that has failed. A text that has ended a
// transaction may have stored what was sent before it.
func (b *Batch) finishFailed(ctx context.Context, q *queuedText, failed error) {
	x := q.x
	_ = x.leave(ctx, failed)
	switch {
	case !b.controls:
		account{x}.count(nil, failed)
		x.record(failed)
	case isBadConn(failed):
		x.record(nil)
	default:
		doubtNames(x, failed)
		account{x}.countAs(func(*rewrite.Insert) verdict { return verdict{failed: true, cause: keys.CauseText} })
		x.record(nil)
		suspect(ctx, x, failed) // which may be stored, and is not to be sent again
		return
	}
	x.failed(ctx, failed)
}
