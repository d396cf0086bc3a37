package fill

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/rewrite"
)

// An INSERT whose rows come from a query takes as many keys as the query has
// rows. They are counted first, and that many keys are reserved. Rows may come
// and go before the INSERT: with fewer some keys are a gap, and a row too many is
// an error of the engine, which the statement itself sees to. Then everything is
// done again.

// maxCounts is how often the rows are counted for one execution.
const maxCounts = 3

// errRowsGrew is for an execution that had more rows to insert than were counted,
// three times.
var errRowsGrew = errors.New("its query had more rows than were counted just before, three times: send it in a transaction that keeps others from adding rows, or again")

// errUndo is for a query that may change something where what counting it does
// cannot be undone.
var errUndo = errors.New("its query calls functions that may change something, and whether a transaction is open, or follows another by itself, is not known: begin it with BeginTx, or name the key column and select its values")

// savepoint is the name of ours, which nobody else uses.
const savepoint = "keyfill_rows"

// countRows counts the rows of each INSERT … SELECT of the statement. A query may read
// what an earlier INSERT of the text returns; that INSERT has its keys by then.
func (x *execution) countRows(ctx context.Context) error {
	beside := x.plan.CountsBeside()
	if beside {
		if err := x.sparesKeys(); err != nil {
			return err
		}
	}
	x.rows = map[int]int64{}
	for i, d := range x.plan.Draws {
		if x.keys != nil && x.plan.Inserts[d.Insert].Query != nil {
			x.keys[i] = nil
		}
	}
	x.counts++
	for _, i := range x.plan.Counted() {
		if i > 0 {
			drawn, err := keys.Draw(ctx, x.plan, x.args, x.holes, x.rows, x.keys, x.conn, nil)
			if err != nil {
				_ = x.release(ctx)
				return err
			}
			x.keys = drawn
		}
		n, err := x.countInsert(ctx, i)
		if err != nil {
			return err
		}
		switch {
		case beside:
			n = withSpare(n)
		case x.counts > 1:
			n += n/8 + 1 // somebody else is adding rows
		}
		x.rows[i] = n
	}
	return nil
}

// countInsert counts the rows of one INSERT … SELECT. Where that may change something
// it is undone: to a savepoint, which stays for the INSERT, or by the end of a
// transaction of its own.
func (x *execution) countInsert(ctx context.Context, i int) (n int64, err error) {
	g := x.conn
	in := &x.plan.Inserts[i]
	t := keys.TableOf(in)
	g.DB.LockBeforeRead(ctx, &g.Conn, t, 0)
	if err := x.setSavepoint(ctx); err != nil {
		return 0, t.KeyError(0, err)
	}
	var own driver.Tx
	if in.Query.Unsure && !x.saved {
		if own, err = dbconn.Begin(ctx, g.Raw); err != nil {
			return 0, err
		}
	}
	query, args := x.plan.Count(i, x.args, x.holes, x.keys)
	row, err := g.QueryRow(ctx, query, args)
	switch {
	case own != nil:
		if undone := own.Rollback(); err == nil {
			err = undone
		}
	case err != nil && x.plan.CountsBeside() && x.saved:
		if err = x.uncountable(ctx, err); x.saved {
			_ = x.lost(err)
		}
		return 0, err
	case x.lost(err):
		return 0, err // it has ended the transaction, as it would have with the INSERT
	case x.saved && in.Query.Unsure:
		if undone := x.toSavepoint(ctx); err == nil {
			err = undone
		}
	}
	if err == nil {
		n, err = x.counted(row)
	}
	if failed := x.uncounted(ctx, err); err == nil {
		err = failed
	}
	if err != nil && x.plan.CountsBeside() {
		return n, x.uncountable(ctx, err)
	}
	return n, x.conn.DB.unlessOld(ctx, g, x.plan, err)
}

// lost reports whether an error has ended what the transaction can do, our
// savepoint included.
func (x *execution) lost(err error) bool {
	if err == nil || !x.saved || !x.plan.Dialect().ErrorsAbort || !sqlcode.Answered(err) {
		return false
	}
	x.saved = false
	return true
}

// uncounted releases the savepoint after a failed count, or after a count that was its
// only use. Releasing it after the INSERT would change ROW_COUNT().
func (x *execution) uncounted(ctx context.Context, err error) error {
	if err == nil && x.plan.Dialect().ErrorsAbort {
		return nil
	}
	return x.release(ctx)
}

// counted returns the number in the row that a count gave.
func (x *execution) counted(row []any) (int64, error) {
	if reason := unnumbered(x.plan.Dialect(), row[1:]); reason != "" {
		return 0, x.plan.Refused(reason)
	}
	n, ok := session.IntegerOf(row[0])
	if !ok {
		return 0, session.ErrNoNumber
	}
	return n, nil
}

// unnumbered says why a server does not number the rows of a query as it should,
// by what it answered to the dialect's questions.
func unnumbered(d *dialect.Dialect, answers []any) rewrite.Reason {
	n := &d.Numbering
	if len(n.Server) == 0 {
		return ""
	}
	if major, minor, read := dbconn.MajorMinor(session.TextOf(answers[0])); read == 2 &&
		(major < n.Major || major == n.Major && minor < n.Minor) {
		return rewrite.ErrOldServer
	}
	if len(n.Server) == 3 {
		if on, _ := session.IntegerOf(answers[1]); on != 0 && !strings.EqualFold(session.TextOf(answers[2]), "row") {
			return rewrite.ErrStatementLog
		}
	}
	return ""
}

// unlessOld turns an error of a statement that numbers rows into a refusal if the server
// is too old for it. Such a server may lack WITH, and then cannot answer the question
// for its version that stands behind one.
func (db *Database) unlessOld(ctx context.Context, g *Conn, p *rewrite.Plan, err error) error {
	d := p.Dialect()
	n := &d.Numbering
	if err == nil || !p.Counts() || n.Major == 0 || d.Family != dialect.FamilyMySQL || !sqlcode.Answered(err) {
		return err
	}
	version, asked := g.Version(ctx)
	if asked != nil || unnumbered(d, []any{version, int64(0), ""}) != rewrite.ErrOldServer {
		return err
	}
	return p.Refused(rewrite.ErrOldServer)
}

// setSavepoint sets our savepoint if a transaction is open and the count, or an
// INSERT that fails, is to be undone.
func (x *execution) setSavepoint(ctx context.Context) error {
	g := x.conn
	d := g.DB.AnyEngine().Dialect
	unsure := slices.ContainsFunc(x.plan.Counted(), func(i int) bool { return x.plan.Inserts[i].Query.Unsure })
	switch {
	case x.saved, !unsure && !d.ErrorsAbort, g.Tx == session.Outside && d.Family != dialect.FamilyMySQL:
		return nil
	case g.Tx == session.Outside:
		// Without autocommit a transaction begins by itself, and where one follows
		// another there is one, too.
		alone, chains, err := g.AskCommits(ctx)
		switch {
		case err != nil:
			return err
		case alone && chains:
			return errUndo
		case alone:
			return nil
		}
	case g.Tx == session.Unknown && !d.ErrorsAbort:
		return errUndo
	}
	err := x.control(ctx, d.Transactions.Set, savepoint)
	if err != nil && g.Tx == session.Unknown && sqlcode.Answered(err) {
		return nil // PostgreSQL refuses it outside of a transaction
	}
	x.saved = err == nil
	return err
}

// toSavepoint undoes what was done since our savepoint, which stays.
func (x *execution) toSavepoint(ctx context.Context) error {
	// What was done has to be undone, even for a caller who has gone.
	return x.control(context.WithoutCancel(ctx), x.plan.Dialect().Transactions.Undo, savepoint)
}

// release lets our savepoint go.
func (x *execution) release(ctx context.Context) error {
	if !x.saved {
		return nil
	}
	x.saved = false
	t := &x.plan.Dialect().Transactions
	return x.control(context.WithoutCancel(ctx), cmp.Or(t.Release, t.Probe), savepoint)
}

// attempt sends an execution's statement, and again when it had more rows than
// were counted. whole says that the answer has no rows that are still to come, so
// that something can be sent behind it.
func attempt[T any](ctx context.Context, x *execution, whole bool, send func() (T, error)) (T, error) {
	var none T
	if !x.plan.Counts() {
		return send()
	}
	if x.plan.CountsBeside() {
		return sendText(ctx, x, send)
	}
	aborts := x.plan.Dialect().ErrorsAbort
	inside := x.saved
	if !whole {
		if err := x.release(ctx); err != nil {
			return none, err
		}
	}
	for {
		answer, err := send()
		grown := x.outgrown(err)
		switch {
		case err == nil:
			return answer, x.release(ctx)
		case err == driver.ErrSkip:
			return answer, err // it is sent again, prepared
		case !grown && x.lost(err):
			return answer, err
		case !grown, aborts && inside && !whole:
			_ = x.release(ctx) // the first error is the one to know
			return answer, err
		case aborts && inside:
			if err := x.toSavepoint(ctx); err != nil {
				return none, err
			}
		}
		if x.counts == maxCounts {
			_ = x.release(ctx)
			return none, keys.TableOf(&x.plan.Inserts[x.plan.Counted()[0]]).KeyError(0, fmt.Errorf("%w: %w", errRowsGrew, err))
		}
		if err := x.refill(ctx); err != nil {
			_ = x.release(ctx)
			return none, err
		}
	}
}

// outgrown reports whether a statement failed because its query had more rows
// than were counted.
func (x *execution) outgrown(err error) bool {
	code, ok := sqlcode.Of(err)
	n := &x.plan.Dialect().Numbering
	return ok && code.State == n.FailState && code.Number == n.FailNumber &&
		strings.Contains(strings.ToLower(err.Error()), n.Failure)
}

// refill counts the rows anew and draws keys for them. Where that fails the
// execution is what it was.
func (x *execution) refill(ctx context.Context) error {
	rows, drawn := x.rows, x.keys
	x.keys = slices.Clone(drawn)
	err := x.countRows(ctx)
	var anew [][]driver.Value
	if err == nil {
		anew, err = keys.Draw(ctx, x.plan, x.args, x.holes, x.rows, x.keys, x.conn, nil)
	}
	if err != nil {
		x.rows, x.keys = rows, drawn
		return err
	}
	x.keys = anew
	x.place()
	return nil
}

// numberedKeys returns the keys that the rows of a query may have got, all of
// them unknown: which rows were stored, and in which order they were numbered,
// the engine does not say.
func (x *execution) numberedKeys() []recordedKey {
	var numbered []recordedKey
	for _, insert := range x.plan.Counted() {
		t := keys.TableOf(&x.plan.Inserts[insert])
		for row := range x.rows[insert] {
			for i, d := range x.plan.Draws {
				if d.Insert != insert {
					continue
				}
				k := &t.KeyColumns[d.Key]
				key := keysource.Integers(x.keys[i][1].(int64)+1+row, 1, k.Layout)[0]
				numbered = append(numbered, recordedKey{Table: t.Table, Column: k.Name, Row: int(row), Key: k.Reported(key)})
			}
		}
	}
	return numbered
}

// numberedResult is the result of an INSERT … SELECT: its first key, on SQLite
// its last one, if every row that was counted is stored, or the table has said which
// are.
func (x *execution) numberedResult(res driver.Result) driver.Result {
	in := &x.plan.Inserts[0]
	t := keys.TableOf(in)
	d := slices.IndexFunc(x.plan.Draws, func(d rewrite.Draw) bool { return d.Key == t.LastIDKey })
	if d < 0 {
		return res
	}
	affected, err := res.RowsAffected()
	f := t.Facts()
	switch {
	case x.plan.Dialect().LastRowID && in.Conflict != rewrite.ConflictUpdate && affected > 0 && f != nil && f.Columns[t.LastIDKey].RowID:
		return res // the rowid of the last row, which is its key
	case in.Conflict != rewrite.ConflictError:
		return ownResult{res, x.changed}
	case err != nil, affected != x.rows[0], affected == 0:
		return ownResult{res, 0}
	case x.plan.Dialect().LastRowID:
		return ownResult{res, x.keys[d][1].(int64) + x.rows[0]}
	}
	return ownResult{res, x.keys[d][1].(int64) + 1}
}
