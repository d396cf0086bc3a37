package fill

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// plain executes an INSERT whose only key needs nothing of the transaction, which is
// what most statements are: the key is drawn, bound and sent. An execution is made
// when the driver answers with driver.ErrSkip or an error, and when somebody asks
// what became of the rows.
type plain struct {
	plan  *rewrite.Plan
	in    *rewrite.Insert
	table *keys.Table
	key   int // the index of the key column among the table's

	// leaves says that the text that is sent leaves what is known of the session, the
	// second one that with LAST_INSERT_ID(key): see [session.IsQuiet].
	leaves [2]bool
}

// newPlain returns the plain executor of a plan, nil where another one is needed. The
// answer depends on the plan and the policy alone.
func (db *Database) newPlain(p *rewrite.Plan) *plain {
	if p.Action != rewrite.Fill || p.AtExecution || p.Load || p.Ambiguous() || p.TooMany() || p.Placeholders() == 0 ||
		p.Statements != 1 || len(p.Inserts) != 1 || len(p.Draws) != 1 || !p.Alone() || p.Counts() || p.Proves() || p.ByFunction() {
		return nil
	}
	in := &p.Inserts[0]
	t := keys.TableOf(in)
	i := p.Draws[0].Key
	k := &t.KeyColumns[i]
	if in.Query != nil || in.Explained || in.Rows < 1 || in.Target.Keys[i].Scope != nil || k.Rule.Joined || len(k.StateValues()) > 0 || t.Mode != policy.ModeFill {
		return nil
	}
	for j := range t.KeyColumns {
		if p.Explicit(nil, rewrite.Holes{}, 0, j).Any() {
			return nil // which may raise a numbering
		}
	}
	if db.miscounts(p) {
		return nil
	}
	return &plain{plan: p, in: in, table: t, key: i}
}

// plainText is the plain executor of a text that comes again, for as long as its
// connection knows nothing that gives the text another meaning.
type plainText struct {
	plain
	home *session.Location // where the session has to be; nil where its place does not matter
}

// newPlainText returns the plain executor of a text. A plainText without a plan means
// that the text has none. known is false while this cannot be decided yet.
func (db *Database) newPlainText(e *keys.Engine, query string) (f *plainText, known bool) {
	p := e.Plan(query)
	if db.Casing.Load() == session.CasingUnknown && db.ExactCandidates != nil && db.StandIn == nil && e.CaseMatters(p) {
		return nil, false
	}
	if e != db.Engine.Load() {
		return nil, false // it has just been found out how the case of names counts
	}
	one := db.newPlain(p)
	if one == nil {
		return new(plainText), true
	}
	f = &plainText{plain: *one}
	for i, asSession := range []bool{false, true} {
		f.leaves[i] = session.IsQuiet(p.Dialect(), p.BoundText(asSession))
	}
	t := one.table
	if e.Dialect.Place.Query == "" || db.StandIn != nil {
		return f, true
	}
	switch {
	case one.in.Database != "", e.Policy.Schemas(), keys.StateNeedsSchema(t):
		return new(plainText), true // its plan depends on the place
	case !e.UsesPlace || !t.AsksCatalog:
		return f, true
	}
	if f.home = db.knownHome(); f.home == nil {
		return nil, false
	}
	return f, true
}

// knownHome returns the place that the database is opened in, nil before it was asked.
func (db *Database) knownHome() *session.Location {
	if db.StatesOnConnection() {
		return db.Places.Of("")
	}
	return db.Places.Home.Load()
}

// plainOn returns the plain executor of a text on a connection, nil where the text
// has to be decided there.
func (db *Database) plainOn(ctx context.Context, g *Conn, s *seenText) *plain {
	if s == nil {
		return nil
	}
	f := s.plain.Load()
	if f == nil && s.what != rewrite.ConcernsInsert {
		return nil
	}
	if f == nil {
		var known bool
		if f, known = db.newPlainText(s.engine, s.query); !known {
			return nil
		}
		s.plain.Store(f)
	}
	if f.plan == nil || policy.Mode(db.Mode.Load()) != policy.ModeFill || g.Temporary.Any() ||
		f.home != nil && !(g.Place.Asked && g.Place.At == f.home) || !f.suits(ctx, g) {
		return nil
	}
	return &f.plain
}

// suits reports whether the plain executor may run: the transaction has changed no
// tables, the table's facts are known, and nobody records keys.
func (p *plain) suits(ctx context.Context, g *Conn) bool {
	return !g.Altered.On && p.table.Facts() != nil && recorderOf(ctx) == nil
}

// plainRun is one execution of a plain executor.
type plainRun struct {
	*plain
	conn    *Conn
	query   string
	args    []driver.NamedValue
	sent    []driver.NamedValue
	holes   rewrite.Holes
	facts   *keys.Facts
	session bool // the first key goes as LAST_INSERT_ID(key)
	first   driver.Value
	keys    []driver.Value // where there are more than the first
}

// draw gives the execution its keys. It reports false where the arguments do not
// suit the text.
func (r *plainRun) draw(ctx context.Context) (suits bool, err error) {
	g := r.conn
	if r.holes, err = holesOf(r.plan, r.args); err != nil {
		return false, nil
	}
	n := r.holes.Counts[0]
	room := g.keyRoom[:0]
	if n > 1 {
		n += keys.Spare(r.plan, r.plan.Draws[0], n)
		room = nil
	}
	drawn, err := g.Give(ctx, room, r.table, r.key, n)
	if err != nil {
		return true, r.table.KeyError(r.key, err)
	}
	drawn = drawn[:r.holes.Counts[0]]
	if r.first = drawn[0]; n > 1 {
		r.keys = drawn
	}
	r.sent = r.plan.Bind(r.args, r.holes, [][]driver.Value{drawn})
	return true, nil
}

// leavesSession reports whether the text leaves what is known of the session. asSession
// says that the first key goes as LAST_INSERT_ID(key).
func (p *plain) leavesSession(asSession bool) bool {
	if asSession {
		return p.leaves[1]
	}
	return p.leaves[0]
}

// isSession reports whether the first key goes as LAST_INSERT_ID(key).
func (p *plain) isSession(f *keys.Facts) bool {
	return p.plan.Session() && f.LastIDUnread && !f.NumbersOther &&
		(p.table.LastIDKey < 0 || p.in.Rows == 1 || p.table.KeyColumns[p.table.LastIDKey].Adjacent())
}

// execution returns the run as an execution, for what a run does not do.
func (r *plainRun) execution() *execution {
	x := r.conn.execution()
	keys := r.keys
	if keys == nil {
		keys = []driver.Value{r.first}
	}
	*x = execution{
		conn: r.conn, plan: r.plan, query: r.query, args: r.args, holes: r.holes, keys: [][]driver.Value{keys},
		session: r.session, text: r.plan.BoundText(r.session), sent: r.sent,
	}
	return x
}

// execPlain executes a text by its plain executor. It reports false where the text is
// to be decided; nothing was done then.
func (db *Database) execPlain(ctx context.Context, g *Conn, s *seenText, args []driver.NamedValue) (res driver.Result, done bool, err error) {
	p := db.plainOn(ctx, g, s)
	if p == nil || !g.Execs {
		return nil, false, nil
	}
	if len(args) > 0 && g.Skips[session.ByExec].IsExpected() {
		return nil, true, driver.ErrSkip
	}
	r := plainRun{plain: p, conn: g, query: s.query, args: args, facts: p.table.Facts()}
	r.session = p.isSession(r.facts)
	g.AlteredTables.Created = nil
	if suits, err := r.draw(ctx); !suits || err != nil {
		return nil, suits, err
	}
	if text := p.plan.BoundText(r.session); r.leavesSession(r.session) {
		res, err = g.ExecQuiet(ctx, text, r.sent)
	} else {
		res, err = g.ExecContext(ctx, text, r.sent)
	}
	if err == driver.ErrSkip {
		g.park(r.execution())
		return nil, true, err
	}
	res, err = r.executed(ctx, res, err)
	return res, true, err
}

// executed finishes an Exec.
func (r *plainRun) executed(ctx context.Context, res driver.Result, err error) (driver.Result, error) {
	if err == nil {
		if answer := r.answer(res); answer != nil {
			r.count()
			return answer, nil
		}
	}
	x := r.execution()
	res, err = x.executed(ctx, res, err)
	r.conn.release(x, err)
	return res, err
}

// answer returns the result of an execution that has succeeded, nil where the result
// has to be looked at more closely.
func (r *plainRun) answer(res driver.Result) driver.Result {
	t := r.table
	tells := t.LastIDKey >= 0 && !r.session && !r.facts.NumbersOther
	sets := r.plan.Dialect().Grammar.ValueSets
	if !tells && !sets {
		return res
	}
	affected, err := res.RowsAffected()
	switch {
	case err != nil || affected > int64(r.in.Rows):
		return nil
	case !tells:
		return res
	}
	id, isInteger := r.first.(int64)
	if !isInteger || r.in.Rows != 1 || affected != 1 || r.in.Conflict != rewrite.ConflictError || r.in.Returning || r.facts.OwnConflicts || t.LastIDKey != r.key {
		return nil
	}
	return withSeveral(ownResult{res, id})
}

// count counts the execution in the statistics.
func (r *plainRun) count() {
	t := r.conn.DB.Tally.Of(r.table.Table, r.table)
	t.Filled.Add(1)
	t.Keys.Add(uint64(r.holes.Counts[0]))
}

// queryPlain is execPlain for a text that gives rows.
func (db *Database) queryPlain(ctx context.Context, g *Conn, s *seenText, args []driver.NamedValue) (rows driver.Rows, done bool, err error) {
	p := db.plainOn(ctx, g, s)
	if p == nil || !g.Queries {
		return nil, false, nil
	}
	if len(args) > 0 && g.Skips[session.ByQuery].IsExpected() {
		return nil, true, driver.ErrSkip
	}
	r := plainRun{plain: p, conn: g, query: s.query, args: args, facts: p.table.Facts()}
	r.session = p.isSession(r.facts)
	g.AlteredTables.Created = nil
	if suits, err := r.draw(ctx); !suits || err != nil {
		return nil, suits, err
	}
	if text := p.plan.BoundText(r.session); r.leavesSession(r.session) {
		rows, err = g.QueryQuiet(ctx, text, r.sent)
	} else {
		rows, err = g.QueryContext(ctx, text, r.sent)
	}
	if err == driver.ErrSkip {
		g.park(r.execution())
		return nil, true, err
	}
	rows, err = r.queried(ctx, rows, err)
	return rows, true, err
}

// queried finishes a Query.
func (r *plainRun) queried(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	if err == nil && r.table.KeyColumns[r.key].Source != nil {
		r.count()
		return rows, nil
	}
	return r.execution().queried(ctx, rows, err)
}

// preparePlain prepares a text that has a plain executor. It reports false where the
// text is to be decided; nothing was done then.
func (db *Database) preparePlain(ctx context.Context, g *Conn, s *seenText) (stmt driver.Stmt, done bool, err error) {
	p := db.plainOn(ctx, g, s)
	if p == nil || slices.ContainsFunc(g.parked, func(x *execution) bool { return x.inline }) {
		return nil, false, nil
	}
	g.AlteredTables.Created = nil
	asSession := p.isSession(p.table.Facts())
	own := &statement{conn: g, plan: p.plan, query: s.query, session: asSession, plain: p}
	if f := s.plain.Load(); f.home != nil && s.engine.Dialect.Place.Moves {
		own.at = f.home
	}
	if text := p.plan.BoundText(asSession); p.leavesSession(asSession) {
		own.Stmt, err = g.PrepareQuiet(ctx, text)
	} else {
		own.Stmt, err = g.PrepareContext(ctx, text)
	}
	if isBadConn(err) {
		g.loseParked(s.query, nil)
	}
	stmt, err = own.orError(setRefused(p.plan, err))
	return stmt, true, err
}

// run returns a run of a prepared statement, and false where the execution is to be
// decided; nothing was done then. What was parked for the statement is executed first.
func (s *statement) run(ctx context.Context, args []driver.NamedValue) (r plainRun, suits bool, err error) {
	g := s.conn
	if s.plain == nil || len(g.parked) > 0 || s.at != nil && !(g.Place.Asked && g.Place.At == s.at) || !s.plain.suits(ctx, g) {
		return r, false, nil
	}
	r = plainRun{plain: s.plain, conn: g, query: s.query, args: args, facts: s.plain.table.Facts(), session: s.session}
	suits, err = r.draw(ctx)
	return r, suits, err
}
