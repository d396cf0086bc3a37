package fill

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/rewrite"
)

// unknownRows describes tables that the catalog has not shown. plainRows describes
// tables in tests without a database: no triggers, and nothing is asked.
var (
	unknownRows = new(keys.RowFacts)
	plainRows   = &keys.RowFacts{Stays: true}
)

// rowFacts returns what is known of the rows of the execution's table. It asks the
// catalog once; if that fails, nothing is known, and it is asked again after a while.
func (x *execution) rowFacts(ctx context.Context) *keys.RowFacts {
	g, t := x.conn, keys.TableOf(&x.plan.Inserts[0])
	db := g.DB
	if f := t.Gate.Rows.Load(); f != nil {
		return f
	}
	if db.StandIn != nil {
		return plainRows
	}
	if time.Now().UnixNano() < t.Gate.RowsPausedUntil.Load() {
		return unknownRows
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	d := db.AnyEngine().Dialect
	found, err := db.CatalogTable(ctx, &g.Conn, d, t.Rule.Schema, t.Rule.Name)
	if x.asked(ctx, err); err != nil {
		t.Gate.RowsPausedUntil.Store(time.Now().Add(keys.RecheckPause).UnixNano())
		return unknownRows
	}
	f := keys.NewRowFacts(d, t, found)
	t.Gate.Rows.Store(f)
	return f
}

// asidePatience is for how long a statement that has succeeded waits for what is
// asked about it.
const asidePatience = 10 * time.Second

// aside returns the context of questions about a statement that has succeeded: a
// caller whose time is up just then is not to lose the connection for them.
func aside(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), asidePatience)
}

// askedAgain is after how long a table whose rows could not be read is asked again.
const askedAgain = time.Minute

// inquiry asks a table on a statement's connection which keys of a draw it has.
type inquiry struct {
	x      *execution
	column string
	key    *keys.Column
	groups []group // of keys that are asked for together
	found  []outcome
	places map[any]int // of the keys among found, where there is one group
}

// group is keys of one parent; all keys where they are not numbered within others.
type group struct {
	parent string // the condition that the parent's values make
	at     []int  // the keys' places in the draw
}

// present returns which keys of a draw are in the table: Stored or NotStored for
// each, Unknown for one that was not found and need not be seen. It is nil where
// the table did not tell.
func (x *execution) present(ctx context.Context, f *keys.RowFacts, draw int, affected int64) []outcome {
	q, ok := x.inquiry(f, draw)
	gate := keys.TableOf(&x.plan.Inserts[0]).Gate
	if !ok || ctx.Err() != nil || time.Now().UnixNano() < gate.RowsPausedUntil.Load() {
		return nil
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	err := q.ask(ctx, f.Leads[x.plan.Draws[draw].Key], affected)
	if err == nil {
		return q.found
	}
	if x.asked(ctx, err); x.gone == nil && sqlcode.Answered(err) {
		gate.RowsPausedUntil.Store(time.Now().Add(askedAgain).UnixNano())
	}
	return nil
}

// asked notes the error of a question about a statement that has succeeded: where the
// transaction has ended by then, the statement has failed.
func (x *execution) asked(ctx context.Context, err error) {
	if x.gone == nil {
		x.gone = x.conn.undoneBehind(ctx, err)
	}
}

// inquiry prepares to ask for the keys of a draw. It reports false where they cannot
// be asked for.
func (x *execution) inquiry(f *keys.RowFacts, draw int) (*inquiry, bool) {
	d := x.plan.Draws[draw]
	t := keys.TableOf(&x.plan.Inserts[0])
	q := &inquiry{x: x, column: f.Columns[d.Key], key: &t.KeyColumns[d.Key], places: map[any]int{}}
	n := x.holes.Counts[draw]
	if q.column == "" || n == 0 {
		return nil, false
	}
	q.found = make([]outcome, n)
	if !q.group(draw, n) {
		return nil, false
	}
	return q, true
}

// group puts the keys of the same parent together.
func (q *inquiry) group(draw, n int) bool {
	x := q.x
	parents, err := x.plan.Scopes(x.args, x.holes, x.plan.Draws[draw].Insert, x.plan.Draws[draw].Key)
	if err != nil {
		return false
	}
	scope := x.plan.Inserts[0].Target.Keys[x.plan.Draws[draw].Key].Scope
	for i := range n {
		parent := ""
		if scope != nil {
			var ok bool
			if parent, ok = parentCondition(x.plan.Dialect(), scope, parents[i]); !ok {
				return false
			}
		}
		at := slices.IndexFunc(q.groups, func(g group) bool { return g.parent == parent })
		if at < 0 {
			at = len(q.groups)
			q.groups = append(q.groups, group{parent: parent})
		}
		q.groups[at].at = append(q.groups[at].at, i)
		q.places[place{at, q.key.Reported(x.keys[draw][i])}] = i
	}
	return true
}

// place is a key of a group.
type place struct {
	group int
	key   any
}

// parentCondition returns the condition for the rows of a parent. It reports false
// where a value has to be escaped.
func parentCondition(d *dialect.Dialect, columns []string, values []driver.Value) (string, bool) {
	var b strings.Builder
	for i, v := range values {
		var text string
		switch v := v.(type) {
		case int64, uint64:
			text = fmt.Sprint(v)
		case []byte:
			text = "'" + string(v) + "'"
		case string:
			text = "'" + v + "'"
		default:
			return "", false
		}
		if strings.ContainsAny(strings.Trim(text, "'"), `'\`) || strings.ContainsRune(text, 0) {
			return "", false
		}
		fmt.Fprintf(&b, "%s = %s AND ", d.QuoteIdent(columns[i]), text)
	}
	return b.String(), true
}

// ask asks, in the way that suits the engine and the transaction.
func (q *inquiry) ask(ctx context.Context, leads bool, affected int64) error {
	x := q.x
	latest := x.plan.Dialect().Latest
	inside, outside := x.conn.Tx == session.Inside, x.conn.Tx == session.Outside
	switch {
	case latest.Lock == "":
		return q.plain(ctx, true)
	case x.plan.Dialect().ErrorsAbort && !outside:
		return q.behindSavepoint(ctx, inside)
	case latest.Gaps && leads && len(q.found) == 1 && (inside || outside):
		// A row that the statement has stored is locked already.
		lock := latest.Lock
		if outside {
			lock = latest.NoWait
		}
		err := q.locked(ctx, lock)
		if err == nil || !outside || !sqlcode.Answered(err) {
			return err
		}
		return q.plain(ctx, false)
	case latest.Gaps && leads && inside && affected == int64(len(q.found)) && len(q.found) <= maxLocked:
		return q.locked(ctx, latest.Lock)
	case inside:
		return q.plain(ctx, true)
	}
	return q.outside(ctx, leads && outside && (len(q.found) <= maxLocked || !latest.Gaps))
}

// maxLocked is how many rows are asked for, each by itself.
const maxLocked = 256

// outside asks outside of a transaction. A replica shows all rows of a statement or
// none, so that it need not be the latest state that shows some of them.
func (q *inquiry) outside(ctx context.Context, locks bool) error {
	err := q.plain(ctx, false)
	if err != nil || !locks || slices.Contains(q.found, outcomeStored) {
		return err
	}
	_ = q.locked(ctx, q.x.plan.Dialect().Latest.NoWait)
	return nil
}

// behindSavepoint asks where an error of the engine would end the transaction.
// inside says that one is open, else it is not known.
func (q *inquiry) behindSavepoint(ctx context.Context, inside bool) error {
	x := q.x
	t := &x.plan.Dialect().Transactions
	if err := x.control(ctx, t.Set, askSavepoint); err != nil {
		if inside || !sqlcode.Answered(err) {
			return err
		}
		return q.plain(ctx, false) // PostgreSQL refuses it outside of a transaction
	}
	err := q.plain(ctx, true)
	if err != nil {
		if undone := x.control(ctx, t.Undo, askSavepoint); undone != nil {
			return undone
		}
	}
	return errors.Join(err, x.control(ctx, t.Release, askSavepoint))
}

// askSavepoint is the name of ours, which nobody else uses.
const askSavepoint = "keyfill_ask"

// maxListed is how many keys a query names.
const maxListed = 500

// plain asks by queries that lock nothing. sure says that they see what the
// statement has stored; else a query that shows some of the rows does, since they
// were stored together.
func (q *inquiry) plain(ctx context.Context, sure bool) error {
	for i, g := range q.groups {
		size := maxListed
		if q.consecutive(g) {
			size = len(g.at)
		}
		for at := range slices.Chunk(g.at, size) {
			seen, err := q.run(ctx, i, q.where(g.parent, at))
			if err != nil {
				return err
			}
			for _, n := range at {
				if q.found[n] != outcomeStored && (sure || seen > 0) {
					q.found[n] = outcomeNotStored
				}
			}
		}
	}
	return nil
}

// where returns a query for keys of a parent.
func (q *inquiry) where(parent string, at []int) string {
	d := q.x.plan.Dialect()
	column := d.QuoteIdent(q.column)
	b := fmt.Appendf(nil, "SELECT %s FROM %s WHERE %s%s ", column, q.x.plan.Inserts[0].TableText, parent, column)
	if len(at) > 1 && q.consecutive(group{parent, at}) {
		b = d.AppendLiteral(append(b, "BETWEEN "...), q.value(at[0]))
		return string(d.AppendLiteral(append(b, " AND "...), q.value(at[len(at)-1])))
	}
	b = append(b, "IN ("...)
	for i, n := range at {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = d.AppendLiteral(b, q.value(n))
	}
	return string(append(b, ')'))
}

// value returns a key as it was sent.
func (q *inquiry) value(n int) driver.Value {
	for i := range q.x.plan.Draws {
		if d := q.x.plan.Draws[i]; &keys.TableOf(&q.x.plan.Inserts[0]).KeyColumns[d.Key] == q.key {
			return q.x.keys[i][n]
		}
	}
	return nil
}

// consecutive reports whether keys are consecutive integers of no parent, between
// which nobody else has any.
func (q *inquiry) consecutive(g group) bool {
	if g.parent != "" || !q.key.Adjacent() {
		return false
	}
	for i := range g.at {
		first, ok := q.value(g.at[0]).(int64)
		n, _ := q.value(g.at[i]).(int64)
		if !ok || n != first+int64(i) {
			return false
		}
	}
	return true
}

// locked asks for each row by itself, so that no other is locked.
func (q *inquiry) locked(ctx context.Context, lock string) error {
	for i, g := range q.groups {
		if !q.x.plan.Dialect().Latest.Gaps {
			for at := range slices.Chunk(g.at, maxListed) {
				if _, err := q.run(ctx, i, q.where(g.parent, at)+lock); err != nil {
					return err
				}
			}
			continue
		}
		var parts []string
		for _, n := range g.at {
			d := q.x.plan.Dialect()
			column := d.QuoteIdent(q.column)
			b := fmt.Appendf(nil, "SELECT %s FROM %s WHERE %s%s = ", column, q.x.plan.Inserts[0].TableText, g.parent, column)
			parts = append(parts, string(d.AppendLiteral(b, q.value(n)))+lock)
		}
		query := parts[0]
		if len(parts) > 1 {
			query = "(" + strings.Join(parts, ") UNION ALL (") + ")"
		}
		if _, err := q.run(ctx, i, query); err != nil {
			return err
		}
	}
	for i := range q.found {
		if q.found[i] != outcomeStored {
			q.found[i] = outcomeNotStored
		}
	}
	return nil
}

// errOtherKey is for a key that was not asked for, as the driver gives it.
var errOtherKey = errors.New("keyfill: the table shows another key than it was asked for")

// run notes the keys that a query shows, and returns their number.
func (q *inquiry) run(ctx context.Context, group int, query string) (seen int, err error) {
	err = dbconn.Query(ctx, q.x.conn.Raw, query, nil, func(row []any) error {
		n, ok := q.places[place{group, q.shown(row[0])}]
		if !ok {
			return errOtherKey
		}
		q.found[n] = outcomeStored
		seen++
		return nil
	})
	return seen, err
}

// shown returns a key of a row as a recorder shows it.
func (q *inquiry) shown(v any) any {
	switch v := q.key.Reported(v).(type) {
	case int64, uuid.UUID:
		return v
	case string:
		return strings.TrimRight(v, " ") // char(n)
	}
	return nil
}

// firstNumbered returns the first key of an INSERT … SELECT that the table has, on
// SQLite the last one, where its rows need not all be stored; 0 where there is none
// or nobody wants to know.
func (x *execution) firstNumbered(ctx context.Context, res driver.Result) (id int64) {
	in := &x.plan.Inserts[0]
	d := slices.IndexFunc(x.plan.Draws, func(d rewrite.Draw) bool { return d.Key == keys.TableOf(in).LastIDKey })
	if d < 0 || !x.tellsID() || in.Conflict == rewrite.ConflictError || in.UpdatesKey || x.rows[0] == 0 || x.affected(res) == 0 || x.idiomTells(res) {
		return 0
	}
	f := x.rowFacts(ctx)
	before, ok := x.keys[d][1].(int64)
	column := f.Column(x.plan.Draws[d].Key)
	if !ok || !f.Stays || column == "" || !keys.TableOf(in).KeyColumns[x.plan.Draws[d].Key].Integer() {
		return 0
	}
	which := "MIN"
	if x.plan.Dialect().LastRowID {
		which = "MAX"
	}
	column = x.plan.Dialect().QuoteIdent(column)
	query := fmt.Sprintf("SELECT %s(%s) FROM %s WHERE %s BETWEEN %d AND %d", which, column, in.TableText, column, before+1, before+x.rows[0])
	ctx, cancel := aside(ctx)
	defer cancel()
	row, err := x.conn.QueryRow(ctx, query, nil)
	if x.asked(ctx, err); err != nil || row[0] == nil {
		return 0
	}
	id, _ = session.IntegerOf(row[0])
	return id
}

// spares reports whether unused keys were reserved after those of the statement. A
// caller such as GORM, which counts up from LastInsertId for each row, then never
// reaches keys of other statements.
func (x *execution) spares(id filledID) bool {
	draw := x.plan.Filled(x.holes)[id.place].Draw
	return keys.Spare(x.plan, x.plan.Draws[draw], x.holes.Counts[draw]) > 0
}
