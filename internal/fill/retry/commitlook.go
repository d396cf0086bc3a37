package retry

import (
	"context"
	"slices"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// A COMMIT that got no answer may have stored the transaction, or may still store it:
// the server may not have noticed that its client is gone. So another connection is
// used to find out whether it has committed.
//
// A key that is in the table was stored by this transaction, since no other one has it.
// A key that is not there proves little, since another transaction may have deleted its
// row. Only the engine's own report about the transaction proves that it has stored
// nothing.

// How long the result of a COMMIT is looked for. It is longer if the transaction is
// known to be still open, and shorter if the engine does not report whether it is.
const (
	lookFor       = 30 * time.Second
	lookAfterTime = 5 * time.Second // how long to look after the caller's context has ended
	lookShortly   = 2 * time.Second
)

// commitFate is the outcome of a transaction whose COMMIT got no answer.
type commitFate uint8

const (
	commitUnknown commitFate = iota
	commitStored             // every row that the transaction was to store is in the table
	commitUndone             // the engine reports that the transaction has stored nothing, and never will
	commitOpen               // the transaction has not ended yet
)

// fateOfCommit finds out whether the attempt has committed, and waits for that if
// necessary.
func fateOfCommit(ctx context.Context, a *execution.Attempt) commitFate {
	latest := &a.DB.Dialect().Latest
	if a.Other || len(a.Keyed) == 0 || latest.Dirty && latest.Wait == "" {
		return commitUnknown
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookFor)
	defer cancel()
	stop := context.AfterFunc(caller, func() { time.AfterFunc(lookAfterTime, cancel) })
	defer stop()
	l := commitLook{Attempt: a, since: time.Now()}
	defer l.close()
	for tries := 0; ; tries++ {
		fate, err := l.ask(ctx)
		if err == nil && fate != commitOpen {
			return fate
		}
		if err != nil {
			l.close()
		}
		if !session.Pause(ctx, tries) {
			return commitUnknown
		}
	}
}

// commitLook looks for the rows that an attempt has stored.
type commitLook struct {
	*execution.Attempt
	conn  *execution.Conn // a separate connection for the queries; nil before it is open
	since time.Time
}

func (l *commitLook) close() {
	if l.conn != nil {
		_ = l.conn.Conn.Close() // nothing was changed on the connection, so an error does not matter
		l.conn = nil
	}
}

// ask queries the database once for the outcome of the COMMIT. If it returns an error, it
// may be called again, on another connection.
func (l *commitLook) ask(ctx context.Context) (commitFate, error) {
	if l.conn == nil {
		c := new(execution.Conn)
		if err := Connect(ctx, c, l.DB, l.DB.OwnConnector()); err != nil {
			return commitUnknown, err
		}
		l.conn = c
	}
	switch at, err := l.conn.PlaceNow(ctx); {
	case err != nil:
		return commitUnknown, err
	case at.Answer != l.Place:
		return commitUnknown, nil // on this connection a name may mean another table
	}
	ended, tells, err := l.ended(ctx)
	if err != nil || ended != commitStored {
		return ended, err
	}
	for _, x := range l.Keyed {
		stored, err := l.isStored(ctx, x)
		switch {
		case err != nil:
			return commitUnknown, err
		case stored:
		case !tells && time.Since(l.since) < lookShortly:
			return commitOpen, nil // the transaction may still be open
		default:
			return commitUnknown, nil
		}
	}
	return commitStored, nil
}

// ended finds out whether the transaction has ended: commitStored means that it may
// have committed, and that no query shows uncommitted rows of it. tells reports whether
// the engine is sure that it has ended.
func (l *commitLook) ended(ctx context.Context) (fate commitFate, tells bool, err error) {
	d := l.DB.Dialect()
	if l.Number != "" {
		row, err := l.conn.QueryRow(ctx, execution.FateOf(&d.Transactions, l.Number), nil)
		if err != nil {
			return commitUnknown, false, err
		}
		switch session.TextOf(row[0]) {
		case "aborted":
			return commitUndone, true, nil
		case "in progress":
			return commitOpen, true, nil
		}
		return commitStored, true, nil
	}
	if d.Latest.Wait == "" {
		return commitStored, false, nil
	}
	var asked []string
	for _, x := range l.Keyed {
		// Check each table: not every table of a transaction has a storage engine that locks
		// rows.
		if table := x.Plan.Inserts[0].Name.TableText; !slices.Contains(asked, table) {
			asked = append(asked, table)
			if fate, err := l.waits(ctx, x); err != nil || fate != commitStored {
				return fate, err == nil, err
			}
		}
	}
	return commitStored, true, nil
}

// waits queries one row of an execution in such a way that it waits if the row is
// stored but not committed, since such a row is locked.
func (l *commitLook) waits(ctx context.Context, x *execution.Execution) (commitFate, error) {
	d := l.DB.Dialect()
	q, ok := newKeyInquiry(ctx, x, l.conn)
	if !ok {
		return commitUnknown, nil
	}
	_, err := q.Run(ctx, 0, q.Where(q.Groups[0].Parent, q.Groups[0].At[:1])+d.Latest.Wait)
	switch {
	case err == nil:
		return commitStored, nil
	case !sqlcode.Answered(err):
		return commitUnknown, err
	case sqlcode.ClassOf(d, err) == dialect.ErrorLock:
		return commitOpen, nil
	}
	return commitUnknown, nil
}

// isStored reports whether every key of an execution is in its table.
func (l *commitLook) isStored(ctx context.Context, x *execution.Execution) (bool, error) {
	q, ok := newKeyInquiry(ctx, x, l.conn)
	if !ok {
		return false, nil
	}
	err := q.Plain(ctx, true)
	return err == nil && !slices.ContainsFunc(q.Found, func(o execution.Outcome) bool { return o != execution.OutcomeStored }), err
}

// newKeyInquiry returns an Inquiry, on connection c, for the keys of an execution: one
// key for each of its rows. It returns false if they cannot be queried.
func newKeyInquiry(ctx context.Context, x *execution.Execution, c *execution.Conn) (*outcome.Inquiry, bool) {
	draw := outcome.KeyedBy(x)
	if draw < 0 {
		return nil, false
	}
	y := &execution.Execution{Conn: c, Plan: x.Plan, Query: x.Query, Args: x.Args, Holes: x.Holes, Drawn: execution.Drawn{Keys: x.Drawn.Keys, Values: x.Drawn.Values}}
	f := outcome.RowFactsOf(ctx, y)
	if !f.Shown {
		return nil, false
	}
	return outcome.NewInquiry(y, f, draw)
}
