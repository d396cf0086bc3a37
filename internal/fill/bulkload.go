package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// A bulk load is a prepared statement whose executions are rows: COPY … FROM
// STDIN of lib/pq and INSERTBULK of go-mssqldb. Each execution brings the values
// of one row, to which its keys are added; one without arguments ends the load.
// In between the connection takes nothing else, so that all there is to ask on
// it is asked before.

// prepareLoad prepares a bulk load. Where the driver does not take rows like
// that, one that lacks a key is refused.
func (db *Database) prepareLoad(ctx context.Context, g *Conn, query string, p *rewrite.Plan) (driver.Stmt, error) {
	if !db.Driver.TakesRows() {
		return db.withoutRows(ctx, g, query, p)
	}
	mode := db.cautious(p)
	if mode == policy.ModeOff {
		return db.prepareAsIs(ctx, g, query, event{counts: true, table: p.Inserts[0].Target.Table, action: p.Action, mode: mode, withheld: true})
	}
	l := &bulkLoad{statement: &statement{conn: g, plan: p, query: query, dry: mode == policy.ModeDryRun}}
	text := query
	if !l.dry {
		if err := l.ask(ctx); err != nil {
			as, err := db.refusal(err)
			if err != nil {
				return nil, err
			}
			return db.prepareAsIs(ctx, g, query, as)
		}
		text = l.plan.BoundText(false)
	}
	stmt, err := g.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if stmt.NumInput() >= 0 {
		// It is a statement like others, with no place for a row.
		_ = stmt.Close()
		return db.withoutRows(ctx, g, query, p)
	}
	l.Stmt = stmt
	return l, nil
}

// withoutRows is for a bulk load whose rows do not come as executions: it is
// kept when it brings its keys, else refused.
func (db *Database) withoutRows(ctx context.Context, g *Conn, query string, p *rewrite.Plan) (driver.Stmt, error) {
	as, err := db.loadDirectly(p)
	if err != nil {
		return nil, err
	}
	return db.prepareAsIs(ctx, g, query, as)
}

// loadDirectly decides a bulk load that is not prepared: its rows come from
// elsewhere, if there are any.
func (db *Database) loadDirectly(p *rewrite.Plan) (event, error) {
	if p.Action == rewrite.Keep {
		return event{counts: true, table: p.Inserts[0].Target.Table, action: rewrite.Keep}, nil
	}
	return db.refusal(p.Refused(rewrite.ErrBulk))
}

// bulkLoad is a prepared bulk load.
type bulkLoad struct {
	*statement
	forms []keyForm // by key: as the driver writes it; nil where it is sent as it is
	rows  int       // that the driver has taken

	filled int // of those that were filled since the load began

	last *execution

	brought []brought // by its rows

	noted  []notedKeys
	newest map[*Recorder]int // for each recorder, the index of its last entry in noted
}

// notedKeys are keys of the load in one recorder: n from at on.
type notedKeys struct {
	rec   *Recorder
	at, n int
}

var (
	_ driver.Stmt              = (*bulkLoad)(nil)
	_ driver.StmtExecContext   = (*bulkLoad)(nil)
	_ driver.StmtQueryContext  = (*bulkLoad)(nil)
	_ driver.NamedValueChecker = (*bulkLoad)(nil)
)

// ask asks what has to be known before the load begins: of the table, of its
// columns where the driver writes values by their types, and of the states of
// its keys.
func (l *bulkLoad) ask(ctx context.Context) error {
	db, g := l.conn.DB, l.conn
	for _, d := range l.plan.Draws {
		if db.DrawsInTransaction(&keys.TableOf(&l.plan.Inserts[d.Insert]).KeyColumns[d.Key]) {
			// The connection takes nothing else while the load lasts.
			return l.plan.Refused(rewrite.ErrBulk)
		}
	}
	if _, err := db.session(ctx, g, l.plan); err != nil {
		return err
	}
	if err := l.columns(ctx); err != nil {
		return err
	}
	t := keys.TableOf(&l.plan.Inserts[0])
	for _, d := range l.plan.Draws {
		if t.KeyColumns[d.Key].Source != nil {
			continue
		}
		if _, err := db.DrawingFor(&g.Conn, t, d.Key).Counter(ctx); err != nil {
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
	res, err := session.ExecStmt(ctx, l.Stmt, x.sent)
	x.count(err)
	l.note(x)
	if err != nil {
		l.failed(ctx, err)
		return res, err
	}
	if l.rows++; x.holes.Any() {
		l.filled++
	}
	l.bring(x.brought)
	return res, nil
}

// row makes the execution of one row.
func (l *bulkLoad) row(ctx context.Context, args []driver.NamedValue) (*execution, error) {
	db := l.conn.DB
	h, err := l.plan.Holes(args)
	if err != nil {
		return nil, db.refuseBound(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x := l.execution(ctx, args, h)
	if x.brought, err = db.brings(ctx, l.conn, l.plan, args, h); err != nil {
		return nil, err
	}
	if err := l.raiseSoFar(ctx, h); err != nil {
		return nil, err
	}
	if x.keys, err = keys.Draw(ctx, l.plan, nil, h, nil, nil, l.conn, nil); err != nil {
		return nil, err
	}
	sent, err := l.formed(x.keys)
	if err != nil {
		return nil, err
	}
	x.sent = l.plan.Bind(args, h, sent)
	return x, nil
}

// bring adds what a row brings for columns that are followed. The numberings are raised
// when the load has ended.
func (l *bulkLoad) bring(more []brought) {
	for _, b := range more {
		i := slices.IndexFunc(l.brought, func(o brought) bool { return o.numbers == b.numbers })
		if i < 0 {
			l.brought = append(l.brought, b)
			continue
		}
		l.brought[i].what.Add(b.what)
	}
}

// raiseSoFar raises the numberings above the keys that the rows before have brought, for
// a row that gets a key: it would be one of theirs, and fail the whole load. A key that
// the engine alone can read is guessed here, since the connection takes no question
// while the load lasts.
func (l *bulkLoad) raiseSoFar(ctx context.Context, h rewrite.Holes) error {
	if !h.Any() {
		return nil
	}
	for i := range l.brought {
		b := &l.brought[i]
		key := max(b.what.Sure, b.what.Guess)
		if key <= b.raised {
			continue
		}
		if err := b.raise(ctx, l.conn, key); err != nil {
			return b.table.KeyError(b.key, err)
		}
		b.raised = key
	}
	return nil
}

// note records the keys of a row: what becomes of them is known at the end of
// the load.
func (l *bulkLoad) note(x *execution) {
	if x.holes.Any() {
		l.last = x
	}
	if x.rec == nil {
		return
	}
	keys := x.recorded()
	if len(keys) == 0 {
		return
	}
	for i := range keys {
		keys[i].Row = l.rows
	}
	x.write(keys)
	for _, n := range x.notes {
		l.remember(notedKeys{n.rec, n.at, len(keys)})
	}
}

// remember adds to what is noted. The keys of a load stand one behind the other
// in its recorders, unless others come in between.
func (l *bulkLoad) remember(n notedKeys) {
	if i, ok := l.newest[n.rec]; ok {
		if o := &l.noted[i]; o.at+o.n == n.at {
			o.n += n.n
			return
		}
	}
	if l.newest == nil {
		l.newest = map[*Recorder]int{}
	}
	l.newest[n.rec] = len(l.noted)
	l.noted = append(l.noted, n)
}

// finish ends the load. It is stored as a whole or not at all; a number of rows
// that is not that of the executions says that the engine has left some out.
func (l *bulkLoad) finish(ctx context.Context) (driver.Result, error) {
	res, err := session.ExecStmt(ctx, l.Stmt, nil)
	if err != nil {
		l.failed(ctx, err)
		return res, err
	}
	if err := l.conn.DB.raiseBehind(ctx, l.conn, l.brought); err != nil {
		l.failed(ctx, err)
		return nil, err
	}
	l.brought = nil
	if n, err := res.RowsAffected(); err != nil || n == int64(l.rows) {
		l.settle(outcomeStored)
	}
	l.filled = 0
	return res, nil
}

// Close ends a load that was not ended otherwise, as far as the driver does.
func (l *bulkLoad) Close() error {
	err := l.Stmt.Close()
	if err != nil {
		l.failed(context.Background(), err)
	}
	l.noted, l.newest, l.last, l.filled, l.brought = nil, nil, nil, 0, nil
	return err
}

// failed notes an error of the driver. One of the engine's own is that of
// the load, whichever row it is about.
func (l *bulkLoad) failed(ctx context.Context, err error) {
	l.brought = nil
	if !sqlcode.Answered(err) {
		return
	}
	o := outcomeUnknown
	if l.plan.Dialect().AtomicStatements {
		o = outcomeNotStored
		l.settle(o)
	}
	addFailed(l.conn.DB.Tally.Of(l.plan.Inserts[0].Target.Table, nil), o, l.filled)
	l.filled = 0
	if l.last != nil {
		l.last.suspect(ctx, err)
		l.last = nil
	}
}

// settle notes what has become of the keys.
func (l *bulkLoad) settle(o outcome) {
	for _, n := range l.noted {
		n.rec.mu.Lock()
		for i := range n.n {
			n.rec.keys[n.at+i].Outcome = o
		}
		n.rec.mu.Unlock()
	}
	l.noted, l.newest = nil, nil
}

// Exec is for drivers' users of before contexts.
func (l *bulkLoad) Exec(args []driver.Value) (driver.Result, error) {
	return l.ExecContext(context.Background(), session.NamedValues(args))
}

// QueryContext gives the driver's own answer: a load gives no rows.
func (l *bulkLoad) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return session.QueryStmt(ctx, l.Stmt, args)
}

// Query is for drivers' users of before contexts.
func (l *bulkLoad) Query(args []driver.Value) (driver.Rows, error) {
	return l.QueryContext(context.Background(), session.NamedValues(args))
}
