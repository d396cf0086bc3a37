package fill

import (
	"context"
	"database/sql/driver"
	"math"
	"sync/atomic"

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

	// bound are the text that is sent, and the text that is sent with the first key as
	// LAST_INSERT_ID(key). A statement that is prepared has no use for them.
	bound   [2]boundText
	session bool // the text allows LAST_INSERT_ID(key)
	sets    bool // a value may be a set: see storedMore
	isOne   bool // it is one row, which is stored where the statement succeeds

	tally atomic.Pointer[keys.TableTally] // of the table; nil before the first execution
}

// boundText is a text with a placeholder for its key.
type boundText struct {
	text   string
	leaves bool // it leaves what is known of the session: see [session.IsQuiet]
}

// plainOn returns the plain executor of a text on the connection, nil where the text
// has to be decided there.
func (s *seenText) plainOn(ctx context.Context, c *connection) *plain {
	if s == nil {
		return nil
	}
	f := s.plain.Load()
	if f == nil && s.concern != rewrite.ConcernsInsert {
		return nil
	}
	if f == nil {
		var known bool
		if f, known = newPlainText(c.DB.Tables, s.engine, s.query); !known {
			return nil
		}
		s.plain.Store(f)
	}
	if f.plain == nil || policy.Mode(c.DB.Mode.Load()) != policy.ModeFill || !session.MeansAsSeen(&c.Conn.Conn, f.home) || !f.suits(ctx, c) {
		return nil
	}
	return f.plain
}

// suits reports whether the plain executor may run: the transaction has changed no
// tables and is not one that is made again, the table's facts are known, and nobody
// records keys or traces.
func (p *plain) suits(ctx context.Context, c *connection) bool {
	return !c.Altered.On && c.attempt == nil && factsOf(c, p.table) != nil && !isWatched(ctx)
}

// factsOf returns what the catalog has said of a table, as far as it is true of a
// connection; nil before it was asked.
func factsOf(c *connection, t *keys.Table) *keys.Facts { return t.GateOf(&c.Conn).Facts.Load() }

// ExpectsSkip reports whether the driver will probably answer driver.ErrSkip to a text
// that Passes has just looked at, and that has a plain executor: database/sql then
// prepares the text at once, and keys are drawn when the statement is executed.
func (c *Conn) ExpectsSkip(ctx context.Context, by session.Route, args int) bool {
	return args > 0 && c.Skips[by].Any() && c.Can(by) && c.seen.plainOn(ctx, &c.connection) != nil && c.Skips[by].IsExpected()
}

// plainRun is one execution of a plain executor.
type plainRun struct {
	*plain
	conn    *connection
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
	c := r.conn
	if len(r.args) > 0 && !driver.IsValue(r.args[0].Value) && isOption(r.args[0].Value) {
		return false, nil
	}
	if r.holes, err = r.plan.Holes(r.args); err != nil {
		return false, nil
	}
	n := r.holes.Counts[0]
	room := c.keyRoom[:0]
	if n > 1 {
		n += keys.SpareKeys(r.plan, r.plan.Draws[0], n)
		room = nil
	}
	drawn, err := c.Give(ctx, room, r.table, r.key, n)
	if err != nil {
		if !isBadConn(err) {
			r.tableTally().AddNoKey(keys.CauseOfNoKey(err))
		}
		return true, r.table.KeyError(r.key, err)
	}
	drawn = drawn[:r.holes.Counts[0]]
	if r.first = drawn[0]; n > 1 {
		r.keys = drawn
	}
	r.sent = r.plan.Bind(r.args, r.holes, [][]driver.Value{drawn}, r.session)
	return true, nil
}

// textFor returns the text that is sent. asSession says that the first key goes as
// LAST_INSERT_ID(key).
func (p *plain) textFor(asSession bool) *boundText {
	if asSession {
		return &p.bound[1]
	}
	return &p.bound[0]
}

// isSession reports whether the first key goes as LAST_INSERT_ID(key).
func (p *plain) isSession(f *keys.Facts) bool {
	return p.session && f.LastIDUnread && !f.NumbersOther &&
		(p.table.LastIDKey < 0 || p.in.Rows == 1 || p.table.KeyColumns[p.table.LastIDKey].IsAdjacent())
}

// execution returns the run as an execution, for what a run does not do.
func (r *plainRun) execution() *execution {
	drawn := r.keys
	if drawn == nil {
		drawn = []driver.Value{r.first}
	}
	x := r.conn.emptyExecution()
	x.conn, x.plan, x.query, x.args, x.holes = r.conn, r.plan, r.query, r.args, r.holes
	x.keys, x.session = [][]driver.Value{drawn}, r.session
	x.text, x.sent = r.plan.BoundText(r.session), r.sent
	return x
}

// execPlain executes a text by its plain executor. It reports false where the text is
// to be decided; nothing was done then.
func (c *connection) execPlain(ctx context.Context, s *seenText, args []driver.NamedValue) (res driver.Result, done bool, err error) {
	p := s.plainOn(ctx, c)
	if p == nil || !c.Execs {
		return nil, false, nil
	}
	r := plainRun{plain: p, conn: c, query: s.query, args: args, facts: factsOf(c, p.table)}
	r.session = p.isSession(r.facts)
	c.AlteredTables.Created = nil
	if suits, err := r.draw(ctx); !suits || err != nil {
		return nil, suits, err
	}
	if b := p.textFor(r.session); b.leaves {
		res, err = c.ExecQuiet(ctx, b.text, r.sent)
	} else {
		res, err = c.ExecContext(ctx, b.text, r.sent)
	}
	if err != nil {
		res, err = sentAgain(ctx, c, p.plan, err, func() (driver.Result, error) { return c.ExecContext(ctx, p.textFor(r.session).text, r.sent) })
	}
	if err == driver.ErrSkip {
		c.parked.park(r.execution())
		return nil, true, err
	}
	res, err = r.executed(ctx, res, err)
	return res, true, err
}

// executed finishes an Exec.
func (r *plainRun) executed(ctx context.Context, res driver.Result, err error) (driver.Result, error) {
	if err == nil {
		if answer, affected := r.answer(res); answer != nil {
			r.count(res, affected)
			r.noteNumber()
			return answer, nil
		}
	}
	x := r.execution()
	res, err = x.executed(ctx, res, err)
	x.release(err)
	return res, err
}

// noteNumber is [noteNumber] for the run.
func (r *plainRun) noteNumber() {
	if r.facts.Columns[r.key].Counter != nil {
		r.conn.numbers.note(r.plan, r.facts)
	}
}

// notAsked stands for a number of affected rows that was not asked for.
const notAsked = math.MinInt64

// answer returns the result of an execution that has succeeded, nil where the result
// has to be looked at more closely, and how many rows the driver says were affected.
func (r *plainRun) answer(res driver.Result) (answer driver.Result, affected int64) {
	t := r.table
	tells := t.LastIDKey >= 0 && !r.session && !r.facts.NumbersOther
	if !tells && !r.sets {
		return res, notAsked
	}
	affected, err := res.RowsAffected()
	switch {
	case err != nil || affected > int64(r.in.Rows):
		return nil, affected
	case !tells:
		return res, affected
	}
	id, isInteger := r.first.(int64)
	if !isInteger || r.in.Rows != 1 || affected != 1 || r.in.Conflict != rewrite.ConflictError || r.in.Returning || r.facts.OwnConflicts || t.LastIDKey != r.key {
		return nil, affected
	}
	return withSeveral(ownResult{res, id}), affected
}

// count counts an execution that has succeeded. affected is as answer returns it. Most
// statements store one row that has one key, and are counted by one counter.
func (r *plainRun) count(res driver.Result, affected int64) {
	if affected == notAsked {
		var err error
		if affected, err = res.RowsAffected(); err != nil {
			affected = -1
		}
	}
	if t := r.tally.Load(); t != nil && r.isOne && affected == 1 && !r.facts.OwnConflicts {
		if t.Single.Add(1)%keys.NoteEvery == 0 {
			keys.NoteInserts(context.Background(), r.conn.DB.Tables)
		}
		return
	}
	r.countOther(res, affected)
}

// countOther is count for any statement. Where each row is counted that was sent, and none
// can have been left out or replaced, all keys are stored.
func (r *plainRun) countOther(res driver.Result, affected int64) {
	t := r.counts()
	if r.in.Conflict == rewrite.ConflictError && !r.facts.OwnConflicts && affected == int64(r.in.Rows) {
		t.Ended.Stored.Add(1)
		return
	}
	x := r.conn.emptyExecution()
	x.conn, x.plan = r.conn, r.plan
	account{x}.verdict(r.in, res).addTo(&t.Ended, 1)
	x.release(nil)
}

// tableTally returns the counts of the table.
func (r *plainRun) tableTally() *keys.TableTally {
	t := r.tally.Load()
	if t == nil {
		t = r.conn.DB.Tally.Of(r.table)
		r.tally.Store(t)
	}
	return t
}

// counts returns the counts of the table, and adds the keys to them.
func (r *plainRun) counts() *keys.TableTally {
	t := r.tableTally()
	n := uint64(r.holes.Counts[0])
	if t.Keys.Add(n)%keys.NoteEvery < n {
		keys.NoteInserts(context.Background(), r.conn.DB.Tables)
	}
	return t
}

// queryPlain is execPlain for a text that gives rows.
func (c *connection) queryPlain(ctx context.Context, s *seenText, args []driver.NamedValue) (rows driver.Rows, done bool, err error) {
	p := s.plainOn(ctx, c)
	if p == nil || !c.Queries {
		return nil, false, nil
	}
	r := plainRun{plain: p, conn: c, query: s.query, args: args, facts: factsOf(c, p.table)}
	r.session = p.isSession(r.facts)
	c.AlteredTables.Created = nil
	if suits, err := r.draw(ctx); !suits || err != nil {
		return nil, suits, err
	}
	if b := p.textFor(r.session); b.leaves {
		rows, err = c.QueryQuiet(ctx, b.text, r.sent)
	} else {
		rows, err = c.QueryContext(ctx, b.text, r.sent)
	}
	if err != nil {
		rows, err = sentAgain(ctx, c, p.plan, err, func() (driver.Rows, error) { return c.QueryContext(ctx, p.textFor(r.session).text, r.sent) })
	}
	if err == driver.ErrSkip {
		c.parked.park(r.execution())
		return nil, true, err
	}
	rows, err = r.queried(ctx, rows, err)
	return rows, true, err
}

// queried finishes a Query.
func (r *plainRun) queried(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	if err == nil && r.table.KeyColumns[r.key].Source != nil { // of a key that is no number of a sequence
		t := r.counts()
		t.Ended.AddUnknown(keys.CauseRows, 1)
		return rows, nil
	}
	return r.execution().queried(ctx, rows, err)
}
