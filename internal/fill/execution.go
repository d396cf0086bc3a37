package fill

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/rewrite"
)

// execution is one logical execution of a statement that gets keys: they are
// drawn once for it, whatever detour database/sql takes.
type execution struct {
	conn    *Conn
	plan    *rewrite.Plan
	query   string              // as the application sent it
	args    []driver.NamedValue // as the application sent them
	holes   rewrite.Holes
	keys    [][]driver.Value
	room    keys.Room
	inline  bool // keys are literals in the text
	session bool // the first key goes as LAST_INSERT_ID(key)
	rec     *Recorder
	notes   []note        // where the keys stand in the recorders; nil before they do
	values  string        // of the states' {value:x}; "" where there are none
	fates   []outcome     // of the plan's places, once settled; nil where nobody asks
	changed int64         // the key of a stored row for LastInsertId: see settle
	rows    map[int]int64 // by index of the INSERT … SELECT: the rows to draw keys for
	counts  int           // how often the rows were counted
	saved   bool          // our savepoint (savepoint) is set

	brought []brought // numberings to be raised after the statement
	before  []brought // to be raised in its transaction, before it
	stored  []brought // to be raised there after the INSERT, above the keys it stored
	kept    bool      // it brings all its keys, and goes out as it came
	refused *event    // of a kept statement, sent although nothing could be raised

	joining   joining
	own       driver.Tx // the transaction that the keys belong to, where it is ours
	marked    bool      // what is drawn may have to be undone
	pointSet  bool      // our savepoint (keysSavepoint) is set
	draws     uint64    // keys.Conn.JoinedDraws when the savepoint was set
	drawing   bool      // nothing was sent yet: an error may come from another connection
	undone    bool      // what was drawn was undone, and so is what was stored
	tries     int       // how often our transaction was made again
	gone      error     // the transaction has ended since the statement has succeeded
	committed bool      // our transaction was ended by commit, with an error or without
	since     time.Time // when our transaction was first made again

	text string // what is sent
	sent []driver.NamedValue
}

// exec executes a statement that is not prepared.
func (db *Database) exec(ctx context.Context, g *Conn, query string, args []driver.NamedValue) (driver.Result, error) {
	x, as, err := db.direct(ctx, g, query, args, session.ByExec)
	switch {
	case err != nil:
		return nil, err
	case x == nil:
		res, err := g.ExecContext(ctx, query, args)
		if err != driver.ErrSkip {
			db.note(ctx, as)
		}
		return res, err
	case x.prepares():
		g.park(x)
		return nil, driver.ErrSkip
	}
	res, err := within(ctx, x, true, func() (driver.Result, error) { return g.ExecContext(ctx, x.text, x.sent) })
	if err == driver.ErrSkip {
		g.park(x)
		return nil, x.leave(ctx, err)
	}
	res, err = x.executed(ctx, res, err)
	g.release(x, err)
	return res, err
}

// execution returns an empty execution. It reuses the memory of the last one that was
// released.
func (g *Conn) execution() *execution {
	if x := g.spare; x != nil {
		g.spare = nil
		return x
	}
	return new(execution)
}

// release takes back an execution that nothing refers to any more: one whose keys
// are not recorded, and that has not failed.
func (g *Conn) release(x *execution, err error) {
	if err == nil && x.rec == nil {
		*x = execution{}
		g.spare = x
	}
}

// query executes a statement that gives rows and is not prepared.
func (db *Database) query(ctx context.Context, g *Conn, query string, args []driver.NamedValue) (driver.Rows, error) {
	x, as, err := db.direct(ctx, g, query, args, session.ByQuery)
	switch {
	case err != nil:
		return nil, err
	case x == nil:
		rows, err := g.QueryContext(ctx, query, args)
		if err != driver.ErrSkip {
			db.note(ctx, as)
		}
		return rows, err
	case x.prepares():
		g.park(x)
		return nil, driver.ErrSkip
	}
	rows, err := within(ctx, x, false, func() (driver.Rows, error) { return g.QueryContext(ctx, x.text, x.sent) })
	if err == driver.ErrSkip {
		g.park(x)
		return nil, x.leave(ctx, err)
	}
	return x.queried(ctx, rows, err)
}

// direct decides a statement that is not prepared and draws its keys. The
// execution is nil when the statement goes out as it came; the event is what to
// count then, once the driver has taken it.
func (db *Database) direct(ctx context.Context, g *Conn, query string, args []driver.NamedValue, by session.Route) (*execution, event, error) {
	p, as, err := db.decide(ctx, g, query)
	if err == nil && as.worked != nil && len(args) > 0 && isOption(args[0].Value) {
		as, err = db.refusal(as.worked.Refused(rewrite.ErrOption))
	}
	if p == nil || err != nil {
		return nil, as, err
	}
	switch {
	case p.Load:
		as, err := db.loadDirectly(p)
		return nil, as, err
	case p.Action == rewrite.Keep && !p.AtExecution:
		return db.keepOr(ctx, as, g, p, query, args, rewrite.Holes{}, by)
	}
	inline := p.TooMany() || p.Placeholders() == 0 && len(args) == 0 &&
		!(by == session.ByQuery && db.Driver.CachesQueries)
	if !inline && (!g.Can(by) || len(args) > 0 && p.Statements == 1 && g.Skips[by].IsExpected()) {
		// Keys are drawn when database/sql comes back with the prepared
		// statement. Several statements are tried each time: a driver that takes
		// them may not prepare them.
		return nil, event{}, driver.ErrSkip
	}
	h, err := holesOf(p, args)
	if db.Driver.Family && errors.Is(err, rewrite.ErrArguments) {
		// go-sql-driver leaves the counting to database/sql, which does it
		// when it has prepared the statement.
		return nil, event{}, driver.ErrSkip
	}
	if err != nil {
		as, err := db.refusal(err)
		return nil, as, err
	}
	if reason := db.unsuited(p, query); h.Any() && reason != "" {
		as, err := db.refusal(p.Refused(reason))
		return nil, as, err
	}
	as, fills := db.settle(p, h)
	if fills && db.waits(g, p, h, by, len(args)) {
		return nil, event{}, driver.ErrSkip
	}
	if !fills {
		return db.keepOr(ctx, as, g, p, query, args, h, by)
	}
	x := g.execution()
	*x = execution{conn: g, plan: p, query: query, args: args, holes: h, inline: inline, rec: recorderOf(ctx), values: valuesFor(ctx, p)}
	if x.brought, err = db.brings(ctx, g, p, args, h); err != nil {
		return nil, event{}, err
	}
	if x.session, err = db.session(ctx, g, p); err != nil {
		return nil, event{}, err
	}
	if err := x.fill(ctx); err != nil {
		as, err := db.refusal(err)
		return nil, as, err
	}
	return x, event{}, nil
}

// keepOr calls keep. A statement with no keys to follow counts as the given event; a
// refusal gets an event of its own.
func (db *Database) keepOr(ctx context.Context, as event, g *Conn, p *rewrite.Plan, query string, args []driver.NamedValue, h rewrite.Holes, by session.Route) (*execution, event, error) {
	x, err := db.keep(ctx, g, p, query, args, h, by)
	if err != nil {
		x = nil
		as, err = db.refusal(err)
	}
	return x, as, err
}

// keep returns the execution of a statement that is not prepared and brings keys that
// are followed, nil where there are none.
func (db *Database) keep(ctx context.Context, g *Conn, p *rewrite.Plan, query string, args []driver.NamedValue, h rewrite.Holes, by session.Route) (*execution, error) {
	brought, err := db.brings(ctx, g, p, args, h)
	if len(brought) == 0 || err != nil {
		return nil, err
	}
	x := &execution{conn: g, plan: p, query: query, args: args, holes: h, kept: true, brought: brought, rec: recorderOf(ctx)}
	if x.takesBefore() && db.preparesFirst(g, by, len(args)) {
		return nil, driver.ErrSkip
	}
	return x, x.fill(ctx)
}

// session asks what has to be known of the tables of a plan, and says whether
// the first key is to be what LAST_INSERT_ID() gives.
func (db *Database) session(ctx context.Context, g *Conn, p *rewrite.Plan) (bool, error) {
	quiet := true
	for i := range p.Inserts {
		t := keys.TableOf(&p.Inserts[i])
		f, err := db.Facts(ctx, &g.Conn, t)
		if err != nil {
			return false, t.KeyError(0, err)
		}
		quiet = quiet && f.LastIDUnread && !f.NumbersOther &&
			(t.LastIDKey < 0 || p.Inserts[i].Rows == 1 || t.KeyColumns[t.LastIDKey].Adjacent())
	}
	return p.Session() && quiet, nil
}

// valuesFor returns what names the states of a plan's keys besides the policy:
// two executions with other values draw from other states.
func valuesFor(ctx context.Context, p *rewrite.Plan) string {
	all := ""
	for _, d := range p.Draws {
		k := &keys.TableOf(&p.Inserts[d.Insert]).KeyColumns[d.Key]
		for _, name := range k.StateValues() {
			v, _ := keys.ValuesOf(ctx)(name)
			all += v + "\x00"
		}
	}
	return all
}

// fill gives the execution its keys: those of the attempt that ended in
// driver.ErrBadConn, or new ones.
func (x *execution) fill(ctx context.Context) (err error) {
	if !x.retry() {
		if x.plan.Counts() {
			if err := x.countRows(ctx); err != nil {
				return err
			}
		}
		x.joining = x.conn.DB.joining(x.plan, x.holes)
		if x.takesBefore() {
			x.joining.any, x.joining.gapFree = true, true
		}
		x.splitBrought()
		if err = x.take(ctx); err != nil {
			_ = x.release(ctx)
			return err
		}
	}
	x.place()
	return nil
}

// prepares says that database/sql shall prepare the text, execute and close it:
// the driver would keep a statement for a text that never comes again.
func (x *execution) prepares() bool {
	return x.inline && len(x.args) > 0 && x.conn.DB.Driver.CachesQueries && !x.joining.any
}

// place puts the keys where they travel.
func (x *execution) place() {
	proves := x.joining.any
	switch {
	case x.kept:
		x.text, x.sent = x.query, x.args
	case x.inline && proves:
		x.text, x.sent = x.plan.InlineProven(x.args, x.holes, x.keys, x.session)
	case x.inline:
		x.text, x.sent = x.plan.Inline(x.args, x.holes, x.keys, x.session)
	case proves:
		x.text, x.sent = x.plan.ProvenText(x.session), x.plan.Bind(x.args, x.holes, x.keys)
	default:
		x.text, x.sent = x.plan.BoundText(x.session), x.plan.Bind(x.args, x.holes, x.keys)
	}
}

// count notes that the driver has taken the execution's statement. One that ends
// in driver.ErrBadConn is sent again, and counted then.
func (x *execution) count(err error) {
	if isBadConn(err) {
		return
	}
	if x.refused != nil {
		x.conn.DB.note(context.Background(), *x.refused)
		return
	}
	e := events(x.plan, x.holes, x.rows)
	e.addTo(&x.conn.DB.Tally)
	if err != nil {
		x.countFailure(err)
	}
}

// countFailure notes that the execution's statement, which was counted, has ended
// in an error.
func (x *execution) countFailure(err error) {
	filled := events(x.plan, x.holes, x.rows)
	for i, e := range append([]event{filled}, filled.rest...) {
		if e.action == rewrite.Fill {
			addFailed(x.conn.DB.Tally.Of(e.table, e.owner), x.ended(&x.plan.Inserts[i], err), 1)
		}
	}
}

// executed finishes an Exec.
func (x *execution) executed(ctx context.Context, res driver.Result, err error) (driver.Result, error) {
	if err == nil && !x.committed {
		x.settle(ctx, res)
		if err = x.gone; err != nil {
			res = nil
		}
	}
	if left := x.leave(ctx, err); err == nil && left != nil {
		res, err = nil, left // it was not committed
	}
	if err == nil {
		if err = x.conn.DB.raiseBehind(ctx, x.conn, x.brought); err != nil {
			res, x.gone = nil, err
		}
	}
	x.count(err)
	x.record(err)
	if err != nil {
		x.failed(ctx, err)
		return res, setRefused(x.plan, err)
	}
	if x.kept {
		return res, nil
	}
	if err := x.storedMore(ctx, res); err != nil {
		return res, err
	}
	return withSeveral(x.result(res)), nil
}

// queried finishes a Query; what was stored is known when its rows are read.
func (x *execution) queried(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		_ = x.leave(ctx, err)
	} else {
		rows, err = x.joined(ctx, rows)
	}
	x.count(err)
	if err != nil {
		x.record(err)
		x.failed(ctx, err)
		return nil, setRefused(x.plan, err)
	}
	if x.kept || x.rec == nil && !x.numbers() {
		return rows, nil
	}
	return x.observe(ctx, rows), nil
}

// failed notes the error of a statement that was sent.
func (x *execution) failed(ctx context.Context, err error) {
	if isBadConn(err) {
		x.lose()
		return
	}
	x.suspect(ctx, err)
}
