package keyfill

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/rewrite"
)

// An INSERT whose rows come from a query takes as many keys as the query has
// rows. They are counted first, and that many keys are reserved. Rows may come
// and go before the INSERT: with fewer some keys are a gap, and a row too many is
// an error of the engine, for which the statement itself sees. Then everything is
// done again.

// maxCounts is how often the rows are counted for one execution.
const maxCounts = 3

// errRowsGrew is for an execution for which there were more rows to insert than had been
// counted, three times.
var errRowsGrew = errors.New("its query had more rows than were counted just before, three times: send it in a transaction that keeps others from adding rows, or again")

// errUndo is for a query that may change something where what counting it does
// cannot be undone.
var errUndo = errors.New("its query calls functions that may change something, and whether a transaction is open is not known: begin it with BeginTx, or name the key column and select its values")

// savepoint is the name of ours, which nobody else uses.
const savepoint = "keyfill_rows"

// countRows counts the rows of an INSERT … SELECT.
func (x *execution) countRows(ctx context.Context) error {
	g := x.guard
	in := &x.plan.Inserts[0]
	t := tableOf(in)
	g.mount.lock(ctx, g, t, 0)
	undo := func() error { return nil }
	if in.Query.Unsure {
		var err error
		if undo, err = g.undoable(ctx); err != nil {
			return t.keyError(0, err)
		}
	}
	query, args := x.plan.Count(0, x.args)
	row, err := g.row(ctx, query, args)
	if undone := undo(); err == nil {
		err = undone
	}
	if err != nil {
		return err
	}
	if reason := unnumbered(x.plan.Dialect(), row[1:]); reason != "" {
		return x.plan.Refused(reason)
	}
	var ok bool
	if x.rows, ok = integerOf(row[0]); !ok {
		return errNoNumber
	}
	if x.counts++; x.counts > 1 {
		// Somebody else is adding rows.
		x.rows += x.rows/8 + 1
	}
	return nil
}

// unnumbered says why a server does not number the rows of a query as it should,
// by what it answered to the dialect's questions.
func unnumbered(d *dialect.Dialect, answers []any) rewrite.Reason {
	n := &d.Numbering
	if len(n.Server) == 0 {
		return ""
	}
	var major, minor int
	if _, err := fmt.Sscanf(textOf(answers[0]), "%d.%d", &major, &minor); err == nil &&
		(major < n.Major || major == n.Major && minor < n.Minor) {
		return rewrite.ErrOldServer
	}
	if len(n.Server) == 3 {
		if on, _ := integerOf(answers[1]); on != 0 && !strings.EqualFold(textOf(answers[2]), "row") {
			return rewrite.ErrStatementLog
		}
	}
	return ""
}

// row returns the row that a query gives.
func (g *guard) row(ctx context.Context, query string, args []driver.NamedValue) (row []any, err error) {
	given := make([]any, len(args))
	for i := range args {
		given[i] = args[i]
	}
	err = dbconn.Query(ctx, g.conn, query, given, func(r []any) error {
		row = r
		return nil
	})
	if err == nil && row == nil {
		err = errNoNumber
	}
	return row, err
}

// textOf returns a text as drivers give it.
func textOf(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	s, _ := v.(string)
	return s
}

var errNoNumber = errors.New("keyfill: the driver gives the number of rows as no number")

// integerOf returns an integer as drivers give it.
func integerOf(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case []byte:
		return integerOf(string(v))
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// undoable makes what follows on the connection undoable, and returns what
// undoes it.
func (g *guard) undoable(ctx context.Context) (undo func() error, err error) {
	set, err := g.setSavepoint(ctx)
	if err != nil {
		return nil, err
	}
	if set {
		return func() error { return g.toSavepoint(ctx) }, nil
	}
	tx, err := dbconn.Begin(ctx, g.conn)
	if err != nil {
		return nil, err
	}
	return tx.Rollback, nil
}

// setSavepoint sets our savepoint if a transaction is open.
func (g *guard) setSavepoint(ctx context.Context) (set bool, err error) {
	d := g.mount.known().dialect
	switch {
	case g.tx == txOutside && isMySQL(d):
		// Without autocommit a transaction begins by itself.
		row, err := g.row(ctx, "SELECT @@autocommit", nil)
		if err != nil {
			return false, err
		}
		if on, _ := integerOf(row[0]); on == 1 {
			return false, nil
		}
	case g.tx == txOutside:
		return false, nil
	case g.tx == txUnknown && !d.ErrorsAbort:
		return false, errUndo
	}
	_, err = dbconn.Exec(ctx, g.conn, "SAVEPOINT "+savepoint, nil)
	if err != nil && g.tx == txUnknown && engineAnswered(err) {
		return false, nil // PostgreSQL refuses it outside of a transaction
	}
	return err == nil, err
}

// toSavepoint undoes what was done since our savepoint, which stays.
func (g *guard) toSavepoint(ctx context.Context) error {
	_, err := dbconn.Exec(ctx, g.conn, "ROLLBACK TO SAVEPOINT "+savepoint, nil)
	return err
}

// attempt sends an execution's statement, and again when it had more rows than
// were counted. point says that the answer has no rows that are still to come,
// so that a savepoint can be let go.
func attempt[T any](ctx context.Context, x *execution, point bool, send func() (T, error)) (T, error) {
	if !x.plan.Counts() {
		return send()
	}
	g := x.guard
	aborts := g.mount.known().dialect.ErrorsAbort && g.tx != txOutside
	set := false
	if aborts && point {
		var err error
		if set, err = g.setSavepoint(ctx); err != nil {
			var none T
			return none, err
		}
	}
	for {
		answer, err := send()
		if !x.outgrown(err) || aborts && !point {
			if err == nil && set {
				_, err = dbconn.Exec(ctx, g.conn, "RELEASE SAVEPOINT "+savepoint, nil)
			}
			return answer, err
		}
		if set {
			if err := g.toSavepoint(ctx); err != nil {
				return answer, err
			}
		}
		if x.counts == maxCounts {
			return answer, tableOf(&x.plan.Inserts[0]).keyError(0, errRowsGrew)
		}
		if err := x.refill(ctx); err != nil {
			return answer, err
		}
	}
}

// outgrown reports whether a statement failed because its query had more rows
// than were counted.
func (x *execution) outgrown(err error) bool {
	return err != nil && engineAnswered(err) &&
		strings.Contains(strings.ToLower(err.Error()), x.plan.Dialect().Numbering.Failure)
}

// refill counts the rows anew and draws keys for them.
func (x *execution) refill(ctx context.Context) error {
	if err := x.countRows(ctx); err != nil {
		return err
	}
	var err error
	if x.keys, err = draw(ctx, x.plan, x.holes, x.rows, x.guard); err != nil {
		return err
	}
	x.place()
	return nil
}

// block returns what an INSERT … SELECT takes of a column's draw: how many keys
// there are, and the number before the first.
func block(ctx context.Context, t *table, i int, rows int64, from giver) ([]driver.Value, error) {
	if rows == 0 {
		return []driver.Value{int64(0), int64(0)}, nil
	}
	first, err := from.reserve(ctx, t, i, rows)
	if err != nil {
		return nil, err
	}
	return []driver.Value{rows, first - 1}, nil
}

// numberedKeys returns the keys that the rows of a query may have got, all of
// them unknown: which rows were stored, and in which order they were numbered,
// the engine does not say.
func (x *execution) numberedKeys() []RecordedKey {
	t := tableOf(&x.plan.Inserts[0])
	var keys []RecordedKey
	for row := range x.rows {
		for i, d := range x.plan.Draws {
			k := &t.keys[d.Key]
			key := keysource.Integers(x.keys[i][1].(int64)+1+row, 1, k.layout)[0]
			keys = append(keys, RecordedKey{Table: t.Table, Column: k.column, Row: int(row), Key: k.reported(key)})
		}
	}
	return keys
}

// numberedResult is the result of an INSERT … SELECT: its first key, on SQLite
// its last one, if every row that was counted is stored.
func (x *execution) numberedResult(res driver.Result) driver.Result {
	in := &x.plan.Inserts[0]
	t := tableOf(in)
	d := slices.IndexFunc(x.plan.Draws, func(d rewrite.Draw) bool { return d.Key == t.lastID })
	if d < 0 {
		return res
	}
	affected, err := res.RowsAffected()
	f := t.gate.facts.Load()
	switch {
	case x.plan.Dialect().LastRowID && affected > 0 && f != nil && f.keys[t.lastID].rowID:
		return res // the rowid of the last row, which is its key
	case err != nil, affected != x.rows, x.rows == 0, in.Conflict != rewrite.ConflictError:
		return ownResult{res, 0}
	case x.plan.Dialect().LastRowID:
		return ownResult{res, x.keys[d][1].(int64) + x.rows}
	}
	return ownResult{res, x.keys[d][1].(int64) + 1}
}
