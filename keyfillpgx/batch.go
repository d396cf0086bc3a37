package keyfillpgx

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill/internal/fill"
)

// SendBatch is [pgx.Conn.SendBatch]. Each INSERT of the batch gets its keys before the
// batch is sent. An INSERT that cannot be filled is an error of the whole batch, before
// anything is sent. b is not changed, so it may be sent again; its INSERTs then get new
// keys.
//
// Keys that are drawn in the transaction of their INSERT (transaction: joined or scope: in
// the policy) are filled if a transaction was begun before the batch, and no text of the
// batch begins or ends one. Keys of the kind maxplusone, several statements in one text,
// and queries whose rows are counted first are refused.
func (c *Conn) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return c.sendBatch(ctx, b, nil)
}

// sendBatch sends a batch. release, if it is not nil, releases the connection after the
// batch has ended, and the transaction that the batch has begun, if any.
func (c *Conn) sendBatch(ctx context.Context, b *pgx.Batch, release func()) *batchResults {
	r := &batchResults{conn: c, ctx: ctx, release: release}
	panics := true
	defer func() {
		if panics { // a tracer or a QueryRewriter of the application has panicked
			r.free()
		}
	}()
	filled, err := r.fill(b)
	panics = false
	if err != nil {
		r.BatchResults = pgx.FailedBatchResults(b, err)
		return r
	}
	r.BatchResults = c.native.conn.SendBatch(ctx, filled)
	if begun := r.BatchResults.Tx(); begun != nil {
		c.native.begun = begun
		if keyfills, err := c.keyfill.BeginTx(ctx, driver.TxOptions{}); err == nil {
			r.tx = c.newTx(keyfills, r.free)
		}
	}
	return r
}

// begins reports whether a batch begins a transaction: Batch.BeginTx.
func begins(b *pgx.Batch) bool { return pgx.FailedBatchResults(b, errBatchTx).Tx() != nil }

// batchResults are pgx's results of a batch. Each result is reported to keyfill too.
type batchResults struct {
	pgx.BatchResults
	conn    *Conn
	ctx     context.Context // the context that was given to SendBatch
	batch   *fill.Batch     // the batch as keyfill sees it; nil if nothing was sent
	tx      *tx             // the transaction that the batch has begun
	release func()

	next   int  // the index of the text whose result is read next
	read   bool // whether a result was read, which shows that the batch was sent
	tells  bool // whether the next result is known to belong to the text with the index next
	closed bool
	err    error

	own    error // the error of a function that the application has queued for a result
	server error // the first error of the server that a method has returned
	rows   pgx.Rows
}

// fill returns a copy of a batch whose texts have their keys. A copy is needed because pgx
// changes the batch that it sends, while the application may send b again, or on two
// connections.
func (r *batchResults) fill(b *pgx.Batch) (*pgx.Batch, error) {
	calls := make([]call, len(b.QueuedQueries))
	queries := make([]string, len(calls))
	r.tells = true
	// Under the simple protocol pgx sends the names of prepared statements as if they were
	// texts.
	simple := r.conn.native.mode == pgx.QueryExecModeSimpleProtocol
	for i, q := range b.QueuedQueries {
		k, err := r.conn.readQueued(r.ctx, q, !simple)
		if err != nil {
			return nil, err
		}
		calls[i], queries[i] = k, k.text
		if simple && !hasOneResult(k.text) {
			r.tells = false
		}
	}
	batch := r.conn.keyfill.NewBatch(queries)
	defer func() {
		if r.batch == nil {
			batch.Abandon(r.ctx)
		}
	}()
	for i := range calls {
		k := &calls[i]
		text, args, err := batch.Add(r.ctx, k.text, bound(k.args))
		if err != nil {
			return nil, err
		}
		k.args = values(args)
		if queries[i], err = r.conn.native.sent(r.ctx, k, text); err != nil {
			return nil, err
		}
	}
	r.batch = batch
	batch.Sent()
	filled := *b // the copy keeps the transaction options that Batch.BeginTx has set
	filled.QueuedQueries = make([]*pgx.QueuedQuery, len(calls))
	for i, q := range b.QueuedQueries {
		filled.QueuedQueries[i] = &pgx.QueuedQuery{SQL: queries[i], Arguments: calls[i].args, Fn: r.readsBy(q)}
	}
	return &filled, nil
}

// readsBy returns the function that reads the result of a queued text. It calls the
// application's function, which may be set after the batch was sent.
func (r *batchResults) readsBy(q *pgx.QueuedQuery) func(pgx.BatchResults) error {
	return func(pgx.BatchResults) error {
		if q.Fn != nil {
			r.own = q.Fn(r)
			return r.own
		}
		_, _ = r.Exec() // pgx keeps the errors that end the batch, so that Close returns them
		return nil
	}
}

// hasOneResult reports whether a text of the simple protocol certainly has one result. A
// text may hold several statements or none, and a comment in it may extend beyond its end.
func hasOneResult(text string) bool {
	text = strings.TrimRight(text, "; \t\r\n")
	return text != "" && !strings.Contains(text, ";") && !strings.Contains(text, "--") && !strings.Contains(text, "/*")
}

// readQueued reads the arguments of a queued text. Before the arguments of a queued text
// pgx accepts only one option, a QueryRewriter. takesNames reports whether the text may be
// the name of a prepared statement.
func (c *Conn) readQueued(ctx context.Context, q *pgx.QueuedQuery, takesNames bool) (call, error) {
	args := q.Arguments
	var rewriter pgx.QueryRewriter
	for len(args) > 0 {
		one, ok := args[0].(pgx.QueryRewriter)
		if !ok {
			break
		}
		rewriter, args = one, args[1:]
	}
	k, err := rewritten(ctx, c.native.conn, rewriter, call{text: q.SQL, args: args})
	if err == nil && takesNames {
		k = c.named(k)
	}
	return k, err
}

// step returns the index of the text whose result is read now, and moves to the next text.
func (r *batchResults) step() int {
	r.seesRows()
	r.next++
	return r.next - 1
}

// sees keeps err if the server has returned it and it is the first such error.
func (r *batchResults) sees(err error) {
	var answered *pgconn.PgError
	if r.server == nil && errors.As(err, &answered) {
		r.server = answered
	}
}

// seesRows keeps the error with which the last rows ended.
func (r *batchResults) seesRows() {
	if r.rows != nil {
		r.sees(r.rows.Err())
	}
}

// failed returns the error of the batch. It is nil if the server has executed all texts.
// The error of a function that the application has queued may belong to another statement,
// and is not returned.
func (r *batchResults) failed() error {
	conn := r.conn.native.conn
	r.seesRows()
	switch {
	case r.err == nil:
		return nil
	case r.read && !conn.IsClosed() && conn.PgConn().TxStatus() == 'T':
		return nil // a transaction that is open and not failed shows that the server has executed all texts
	case r.own == nil:
		return r.err
	case r.server != nil:
		return r.server
	}
	return errors.New(r.own.Error())
}

// Exec implements pgx.BatchResults.
func (r *batchResults) Exec() (pgconn.CommandTag, error) {
	i := r.step()
	tag, err := r.BatchResults.Exec()
	r.sees(err)
	if err == nil && r.batch != nil {
		r.read = true
		if r.tells {
			r.batch.NoteResult(i, driver.RowsAffected(tag.RowsAffected()))
		}
	}
	return tag, r.meant(err)
}

// meant returns an error of the batch, or the error that explains it if a table's name
// meant another table than when the key was drawn.
func (r *batchResults) meant(err error) error {
	if err == nil || r.batch == nil {
		return err
	}
	return r.batch.Meant(err)
}

// Query implements pgx.BatchResults.
func (r *batchResults) Query() (pgx.Rows, error) {
	i := r.step()
	rows, err := r.BatchResults.Query()
	r.rows = rows
	if err != nil || r.batch == nil {
		return rows, r.meant(err)
	}
	r.read = true
	if r.batch.Proves() {
		rows = &provingRows{rows, r.meant}
	}
	if !r.tells {
		return rows, nil
	}
	a := newAnswer(r.conn.native.conn, rows)
	a.fields = rows.FieldDescriptions()
	return rowsOf(a, r.batch.Watch(r.ctx, i, a)), nil
}

// QueryRow implements pgx.BatchResults.
func (r *batchResults) QueryRow() pgx.Row {
	rows, _ := r.Query() // Scan returns the error of Query
	return oneRow{rows}
}

// Tx implements pgx.BatchResults.
func (r *batchResults) Tx() pgx.Tx {
	if r.tx == nil {
		return r.BatchResults.Tx()
	}
	return r.tx
}

// Close implements pgx.BatchResults. After Close the connection is free, and keyfill sends
// its own queries.
func (r *batchResults) Close() error {
	if !r.closed {
		r.closed = true
		r.end()
	}
	return r.err
}

// end ends the batch. It releases the connection even if a tracer of the application
// panics.
func (r *batchResults) end() {
	defer r.leave()
	r.err = r.BatchResults.Close()
	if r.batch != nil {
		if err := r.batch.Finish(r.ctx, r.failed()); r.err == nil {
			r.err = err
		}
		r.err = r.meant(r.err)
	}
}

// leave releases the connection, unless a transaction that the batch has begun still uses
// it.
func (r *batchResults) leave() {
	switch {
	case r.tx == nil:
		r.free()
	case r.conn.native.conn.PgConn().TxStatus() == 'I':
		// The server has not begun the transaction, and pgx has closed its own transaction.
		if err := r.tx.Rollback(r.ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) && r.err == nil {
			r.err = err
		}
	}
}

// free releases the connection, once.
func (r *batchResults) free() {
	if r.release != nil {
		r.release()
		r.release = nil
	}
}
