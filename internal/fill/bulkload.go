package fill

//row:ways | is a bulk load of a driver | `fill/bulkload.go`

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// A bulk load is a prepared statement whose executions are rows: COPY … FROM STDIN of
// lib/pq and INSERTBULK of go-mssqldb. Each execution has the values of one row as its
// arguments, to which keyfill adds the keys; an execution without arguments ends the
// load. In between the connection accepts nothing else, so everything that has to be
// queried is queried before.

// loadDirectly decides how a bulk load is treated that is executed without being prepared.
// keyfill does not see the rows of such a load.
func loadDirectly(ctx context.Context, query string, s *execution.Statistics, p *plans.Plan) (execution.Event, error) {
	if p.Action == plans.Keep {
		return execution.Event{Counts: true, Table: p.Inserts[0].Target.Table, Owner: table.Of(&p.Inserts[0]), Action: plans.Keep}, nil
	}
	return s.Refusal(ctx, query, p.Refused(rewrite.ErrBulk))
}

// bulkLoad is a prepared bulk load.
type bulkLoad struct {
	*statement
	forms []keyForm // converts each key for the driver; nil if keys are sent as they are
	rows  int       // how many rows the driver has accepted

	filled int // how many of these rows were filled since the load began

	broken error // the last error of the driver that is not an answer of the engine

	last  *execution.Execution
	trace *execution.Tracer // the tracer of the last row; nil if no tracer is set

	follows execution.Following // the explicit keys of the rows, above which counters are raised

	noted loadedKeys
}

var (
	_ driver.Stmt              = (*bulkLoad)(nil)
	_ driver.StmtExecContext   = (*bulkLoad)(nil)
	_ driver.StmtQueryContext  = (*bulkLoad)(nil)
	_ driver.NamedValueChecker = (*bulkLoad)(nil)
)

// ask queries the facts that the load needs: about the table, about its columns if the
// driver writes values by their types, and about the states of its keys (the stored
// counters).
func (l *bulkLoad) ask(ctx context.Context) error {
	c := l.conn
	for _, d := range l.plan.Draws {
		if table.Of(&l.plan.Inserts[d.Insert]).KeyColumns[d.Key].Rule.Joined {
			// The connection accepts nothing else during the load, so no key can be drawn on it.
			return l.plan.Refused(rewrite.ErrBulk)
		}
	}
	if _, err := c.SendsLastInsertID(ctx, l.plan); err != nil {
		return err
	}
	if err := l.columns(ctx); err != nil {
		return err
	}
	t := table.Of(&l.plan.Inserts[0])
	for _, d := range l.plan.Draws {
		if t.KeyColumns[d.Key].Rule.From != nil {
			if _, err := c.ColumnsOfKey(ctx, t, d.Key); err != nil {
				return t.KeyError(d.Key, err)
			}
		}
		if t.KeyColumns[d.Key].Source != nil {
			continue
		}
		if _, err := c.DrawingFor(t, d.Key).Counter(ctx); err != nil {
			return t.KeyError(d.Key, err)
		}
	}
	return nil
}

func (l *bulkLoad) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		return l.finish(ctx)
	}
	if l.dry {
		l.dryRun(ctx, args)
		return session.ExecStmt(ctx, l.Stmt, args)
	}
	x, err := l.row(ctx, args)
	if err != nil {
		return nil, err
	}
	res, err := session.ExecStmt(ctx, l.Stmt, x.Outgoing.Sent)
	if err == nil {
		outcome.Account{X: x}.CountBegun()
		l.trace = x.Trace.To
	} else {
		outcome.Account{X: x}.Count(nil, err)
	}
	l.note(x)
	if err != nil {
		l.failed(ctx, err)
		return res, err
	}
	if l.rows++; x.Holes.Any() {
		l.filled++
	}
	l.follows.Add(x.Follows)
	return res, nil
}

// row returns the execution for one row, with its keys.
func (l *bulkLoad) row(ctx context.Context, args []driver.NamedValue) (*execution.Execution, error) {
	db := l.conn.DB
	h, err := bind.FindHoles(l.plan, args)
	if err != nil {
		return nil, db.Stats.RefuseBound(ctx, l.query, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := l.execution(ctx, args, h)
	if x.Follows, err = executor.NewFollowing(ctx, l.conn, l.plan, args, h); err != nil {
		return nil, err
	}
	if h.Any() {
		if err := l.follows.RaiseSoFar(ctx); err != nil {
			return nil, err
		}
	}
	if x.Drawn.Keys, err = keys.Draw(ctx, l.plan, args, h, nil, nil, l.conn, &x.Drawn.Room); err != nil {
		outcome.Account{X: x}.CountNoKey(err)
		return nil, err
	}
	sent, err := l.formed(ctx, x.Drawn.Keys)
	if err != nil {
		return nil, err
	}
	x.Outgoing.Sent = bind.Arguments(l.plan, args, h, sent, false)
	return x, nil
}

// note records the keys of a row. Whether they are stored becomes known at the end of
// the load.
func (l *bulkLoad) note(x *execution.Execution) {
	if x.Holes.Any() {
		if l.last != nil {
			l.last.Release(nil)
		}
		l.last = x
	}
	if x.Recording.Recorder == nil {
		return
	}
	keys := outcome.RecordedKeys(x)
	if len(keys) == 0 {
		return
	}
	for i := range keys {
		keys[i].Row = l.rows
	}
	x.Recording.Write(keys)
	for _, n := range x.Recording.Notes {
		l.noted.add(n, len(keys))
	}
}

// finish ends the load, which is stored as a whole or not at all. If the engine counts
// fewer rows than were sent, it has skipped some.
func (l *bulkLoad) finish(ctx context.Context) (driver.Result, error) {
	res, err := session.ExecStmt(ctx, l.Stmt, nil)
	if err != nil {
		l.failed(ctx, err)
		return res, err
	}
	if err := outcome.RaiseAfter(ctx, &l.follows); err != nil {
		l.failed(ctx, err)
		return nil, err
	}
	l.follows, l.broken = execution.Following{}, nil
	v := outcome.Verdict{Cause: report.CauseCount}
	if n, err := res.RowsAffected(); err != nil || n == int64(l.rows) {
		v.Outcome = execution.OutcomeStored
		l.noted.settle(execution.OutcomeStored)
	}
	l.countLate(v)
	return res, nil
}

// Close closes the load. If the load was not ended before, its rows are counted as
// failed if the connection broke, and otherwise with the cause unended.
func (l *bulkLoad) Close() error {
	err := l.Stmt.Close()
	if err != nil {
		l.failed(context.Background(), err)
	}
	v := outcome.Verdict{Cause: report.CauseUnended}
	if l.broken != nil {
		v = outcome.Verdict{Failed: true, Cause: execution.CauseOf(l.broken)}
	}
	l.countLate(v)
	l.noted, l.last, l.follows, l.broken = loadedKeys{}, nil, execution.Following{}, nil
	return err
}

// countLate counts the outcome of the rows that were filled since the load began.
func (l *bulkLoad) countLate(v outcome.Verdict) {
	if l.filled > 0 {
		t := table.Of(&l.plan.Inserts[0])
		v.AddTo(&t.TallyIn(&l.conn.DB.Tally).Late, uint64(l.filled))
		load := &execution.Execution{Conn: l.conn, Plan: l.plan, Trace: execution.Tracing{To: l.trace}}
		outcome.Account{X: load}.Tell(&execution.Event{Table: t.Table, Owner: t, Action: plans.Fill, Keys: l.filled}, &l.plan.Inserts[0], v)
	}
	l.filled = 0
}

// failed handles an error of the driver. An error of the engine ends the whole load,
// whichever row it is about. After any other error the load may go on, or the
// connection is broken and what the engine has stored is not known.
func (l *bulkLoad) failed(ctx context.Context, err error) {
	l.follows = execution.Following{}
	if !sqlcode.Answered(err) {
		l.broken = err
		return
	}
	o := execution.OutcomeUnknown
	if l.plan.Dialect.AtomicStatements {
		o = execution.OutcomeNotStored
		l.noted.settle(o)
	}
	l.countLate(outcome.Verdict{Outcome: o, Failed: true, Cause: report.CauseEngine})
	if l.last != nil {
		if d, ok := outcome.DuplicateOf(l.last, err); ok {
			d.GiveUpBlocks(ctx)
		}
		l.last = nil
	}
}

// Exec executes as ExecContext does, for callers without a context.
func (l *bulkLoad) Exec(args []driver.Value) (driver.Result, error) {
	return l.ExecContext(context.Background(), session.NamedValues(args))
}

// QueryContext returns the driver's own answer, since a load returns no rows.
func (l *bulkLoad) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return session.QueryStmt(ctx, l.Stmt, args)
}

// Query queries as QueryContext does, for callers without a context.
func (l *bulkLoad) Query(args []driver.Value) (driver.Rows, error) {
	return l.QueryContext(context.Background(), session.NamedValues(args))
}
