package fill

import (
	"context"
	"database/sql/driver"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/fill/executor"
	"github.com/keyfill/keyfill/internal/fill/outcome"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/policy"
)

// plainOn returns the fast path ([execution.Plain]) for a text on the connection, nil
// if the treatment of the text has to be decided there. in is the way in which the driver
// sends arguments, by what a session may do to them.
func plainOn(ctx context.Context, s *execution.SeenText, c *execution.Conn, in session.Conversion) *execution.Plain {
	if s == nil {
		return nil
	}
	f := s.Plain.Load()
	if f == nil && s.Concern != words.ConcernsInsert {
		return nil
	}
	if f == nil {
		var known bool
		if f, known = newPlainText(c.DB.Tables, s.Engine, s.Query); !known {
			return nil
		}
		s.Plain.Store(f)
	}
	if f.Plain == nil || policy.Mode(c.DB.Mode.Load()) != policy.ModeFill || !session.MeansAsSeen(&c.Conn.Conn, f.Home) || !f.Plain.Suits(ctx, c, in) {
		return nil
	}
	return f.Plain
}

// ExpectsSkip reports whether database/sql has to prepare a text, for which Passes was
// called just before: the text has a fast path, and the driver will probably answer
// driver.ErrSkip when the text is executed directly. If the key is drawn in a transaction,
// it is enough that the driver may answer so. The keys are then drawn when the prepared
// statement is executed.
func (c *Conn) ExpectsSkip(ctx context.Context, by session.Route, args int) bool {
	if args == 0 || c.Seen == nil {
		return false
	}
	f := c.Seen.Plain.Load()
	if f == nil || f.Plain == nil {
		return false
	}
	waits := f.Joined && !c.DB.Driver.Executes
	return (waits || c.Skips[by].Times > 0) && c.Can[by] && plainOn(ctx, c.Seen, &c.Conn, session.ConvertsPrepared) != nil && (waits || c.Skips[by].IsExpected())
}

// plainRun is one execution of a text by the fast path ([execution.Plain]).
type plainRun struct {
	*execution.Plain
	conn    *execution.Conn
	query   string
	args    []driver.NamedValue
	sent    []driver.NamedValue
	holes   bind.Holes
	facts   *table.Facts
	session bool // the first key is sent as LAST_INSERT_ID(key)
	first   driver.Value
	keys    []driver.Value // all keys, if there is more than one; else nil
}

// draw draws the keys and adds them to the arguments. It returns false if the arguments
// do not fit the text.
func (r *plainRun) draw(ctx context.Context) (suits bool, err error) {
	c := r.conn
	if len(r.args) > 0 && !driver.IsValue(r.args[0].Value) && isOption(r.args[0].Value) {
		return false, nil
	}
	if r.holes, err = bind.FindHoles(r.Plan, r.args); err != nil {
		return false, nil
	}
	n := r.holes.Counts[0]
	room := c.KeyRoom[:0]
	if n > 1 {
		n += keys.SpareKeys(r.Plan, r.Plan.Draws[0], n)
		room = nil
	}
	drawn, err := c.Give(ctx, room, r.Table, r.Key, n)
	if err != nil {
		if !execution.IsBadConn(err) {
			r.tableTally().AddNoKey(report.CauseOfNoKey(err))
		}
		return true, r.Table.KeyError(r.Key, err)
	}
	drawn = drawn[:r.holes.Counts[0]]
	if r.first = drawn[0]; n > 1 {
		r.keys = drawn
	}
	r.sent = bind.Arguments(r.Plan, r.args, r.holes, [][]driver.Value{drawn}, r.session)
	return true, nil
}

// textFor returns the text to send, and whether the first key in it is
// LAST_INSERT_ID(key).
func textFor(p *execution.Plain, f *table.Facts) (text *execution.BoundText, asSession bool) {
	if p.Session && f.LastIDUnread && !f.NumbersOther &&
		(p.Table.LastIDKey < 0 || p.In.Rows == 1 || p.Table.KeyColumns[p.Table.LastIDKey].IsAdjacent()) {
		return &p.Bound[1], true
	}
	return &p.Bound[0], false
}

// execution returns the run as an [execution.Execution], for everything that the fast
// path does not do itself.
func (r *plainRun) execution() *execution.Execution {
	drawn := r.keys
	if drawn == nil {
		drawn = []driver.Value{r.first}
	}
	x := r.conn.EmptyExecution()
	x.Conn, x.Plan, x.Query, x.Args, x.Holes = r.conn, r.Plan, r.query, r.args, r.holes
	x.Drawn.Keys, x.Form.Session = [][]driver.Value{drawn}, r.session
	x.Outgoing.Text, x.Outgoing.Sent = bind.Text(r.Plan, r.session), r.sent
	return x
}

// execPlain executes a text by the fast path. done is false if the treatment of the
// text has to be decided; then nothing was done.
func execPlain(ctx context.Context, c *execution.Conn, s *execution.SeenText, args []driver.NamedValue) (res driver.Result, done bool, err error) {
	p := plainOn(ctx, s, c, session.ConvertsQuoted)
	if p == nil || p.Joined || !c.Can[session.ByExec] {
		return nil, false, nil
	}
	facts := execution.FactsOf(c, p.Table)
	b, asSession := textFor(p, facts)
	r := plainRun{Plain: p, conn: c, query: s.Query, args: args, facts: facts, session: asSession}
	c.AlteredTables.Created = nil
	if suits, err := r.draw(ctx); !suits || err != nil {
		return nil, suits, err
	}
	if b.Leaves {
		res, err = c.ExecQuiet(ctx, b.Text, r.sent)
	} else {
		res, err = c.ExecContext(ctx, b.Text, r.sent)
	}
	if err != nil {
		res, err = executor.SentAgain(ctx, c, p.Plan, err, func() (driver.Result, error) { return c.ExecContext(ctx, b.Text, r.sent) })
	}
	if err == driver.ErrSkip {
		c.Parked.Park(r.execution())
		return nil, true, err
	}
	res, err = r.executed(ctx, res, err)
	return res, true, err
}

// executed finishes an Exec: it returns the result, and counts the INSERT.
func (r *plainRun) executed(ctx context.Context, res driver.Result, err error) (driver.Result, error) {
	if err == nil {
		affected, failed := res.RowsAffected()
		if failed != nil {
			affected = -1
		}
		if answer := r.answer(res, affected, failed); answer != nil {
			// Most statements store one row with one key, and are counted by a single counter.
			if t := r.Tally.Load(); t == nil || !r.IsOne || affected != 1 || r.facts.OwnConflicts {
				r.countOther(res, affected)
			} else if t.Single.Add(1)%relation.NoteEvery == 0 {
				relation.NoteInserts(context.Background(), r.conn.DB.Tables)
			}
			if r.facts.Columns[r.Key].Counter != nil {
				r.conn.Numbers.Note(r.Plan, r.facts)
			}
			return answer, nil
		}
	}
	x := r.execution()
	res, err = outcome.Executed(ctx, x, res, err)
	x.Release(err)
	return res, err
}

// answer returns the result of a successful execution, or nil if it has to be examined more
// closely. affected and failed are the number of affected rows, and the error, that the
// driver has returned.
func (r *plainRun) answer(res driver.Result, affected int64, failed error) driver.Result {
	t := r.Table
	tells := t.LastIDKey >= 0 && !r.session && !r.facts.NumbersOther
	switch {
	case !tells && !r.Sets:
		return res
	case failed != nil || affected > int64(r.In.Rows):
		return nil
	case !tells:
		return res
	}
	id, isInteger := r.first.(int64)
	if !isInteger || r.In.Rows != 1 || affected != 1 || r.In.Upsert.Conflict != plans.ConflictError || r.In.Returning || r.facts.OwnConflicts || t.LastIDKey != r.Key {
		return nil
	}
	return outcome.WithSeveral(outcome.OwnResult{Result: res, Key: id})
}

// countOther counts any successful statement. If every row that was sent is counted,
// and none can have been skipped or replaced, all keys are stored.
func (r *plainRun) countOther(res driver.Result, affected int64) {
	t := r.counts()
	if r.In.Upsert.Conflict == plans.ConflictError && !r.facts.OwnConflicts && affected == int64(r.In.Rows) {
		t.Ended.Stored.Add(1)
		return
	}
	x := r.conn.EmptyExecution()
	x.Conn, x.Plan = r.conn, r.Plan
	outcome.Account{X: x}.Verdict(r.In, res).AddTo(&t.Ended, 1)
	x.Release(nil)
}

// tableTally returns the counts of INSERTs into the table.
func (r *plainRun) tableTally() *report.TableTally {
	t := r.Tally.Load()
	if t == nil {
		t = r.Table.TallyIn(&r.conn.DB.Tally)
		r.Tally.Store(t)
	}
	return t
}

// counts returns the counts of INSERTs into the table, after it has added the keys to
// them.
func (r *plainRun) counts() *report.TableTally {
	t := r.tableTally()
	relation.AddKeys(r.conn.DB.Tables, t, uint64(r.holes.Counts[0]))
	return t
}

// queryPlain does what execPlain does, for a text that returns rows.
func queryPlain(ctx context.Context, c *execution.Conn, s *execution.SeenText, args []driver.NamedValue) (rows driver.Rows, done bool, err error) {
	p := plainOn(ctx, s, c, session.ConvertsQuoted)
	if p == nil || p.Joined || !c.Can[session.ByQuery] {
		return nil, false, nil
	}
	facts := execution.FactsOf(c, p.Table)
	b, asSession := textFor(p, facts)
	r := plainRun{Plain: p, conn: c, query: s.Query, args: args, facts: facts, session: asSession}
	c.AlteredTables.Created = nil
	if suits, err := r.draw(ctx); !suits || err != nil {
		return nil, suits, err
	}
	if b.Leaves {
		rows, err = c.QueryQuiet(ctx, b.Text, r.sent)
	} else {
		rows, err = c.QueryContext(ctx, b.Text, r.sent)
	}
	if err != nil {
		rows, err = executor.SentAgain(ctx, c, p.Plan, err, func() (driver.Rows, error) { return c.QueryContext(ctx, b.Text, r.sent) })
	}
	if err == driver.ErrSkip {
		c.Parked.Park(r.execution())
		return nil, true, err
	}
	rows, err = r.queried(ctx, rows, err)
	return rows, true, err
}

// queried finishes a Query: it returns the rows, and counts the INSERT.
func (r *plainRun) queried(ctx context.Context, rows driver.Rows, err error) (driver.Rows, error) {
	if err == nil && r.Table.KeyColumns[r.Key].Source != nil { // the key is not a number of a counter
		t := r.counts()
		t.Ended.AddUnknown(report.CauseRows, 1)
		return rows, nil
	}
	return outcome.Queried(ctx, r.execution(), rows, err)
}
