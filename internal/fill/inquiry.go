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
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

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

// presentKeys returns which keys of a draw are in the table: Stored or NotStored for
// each, Unknown for one that was not found and need not be seen. It is nil where
// the table did not tell.
func presentKeys(ctx context.Context, x *execution, f *keys.RowFacts, draw int, affected int64) []outcome {
	q, ok := newInquiry(x, f, draw)
	gate := keys.TableOf(&x.plan.Inserts[0]).GateOf(&x.conn.Conn)
	if !ok || ctx.Err() != nil || time.Now().UnixNano() < gate.RowsPausedUntil.Load() {
		return nil
	}
	ctx, cancel := aside(ctx)
	defer cancel()
	err := q.ask(ctx, f.Leads[x.plan.Draws[draw].Key], affected)
	if err == nil {
		return q.found
	}
	if x.noteAsked(ctx, err); x.fate.gone == nil && sqlcode.Answered(err) {
		gate.RowsPausedUntil.Store(time.Now().Add(askedAgain).UnixNano())
	}
	return nil
}

// newInquiry prepares to ask for the keys of a draw. It reports false where they cannot
// be asked for.
func newInquiry(x *execution, f *keys.RowFacts, draw int) (*inquiry, bool) {
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
	if err := x.conn.ExecSavepoint(ctx, t.Set, askSavepoint); err != nil {
		if inside || !sqlcode.Answered(err) {
			return err
		}
		return q.plain(ctx, false) // PostgreSQL refuses it outside of a transaction
	}
	err := q.plain(ctx, true)
	if err != nil {
		if undone := x.conn.ExecSavepoint(ctx, t.Undo, askSavepoint); undone != nil {
			return undone
		}
	}
	return errors.Join(err, x.conn.ExecSavepoint(ctx, t.Release, askSavepoint))
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
	if g.parent != "" || !q.key.IsAdjacent() {
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

// errOtherKey is returned when the driver gives back a key that was not asked for.
var errOtherKey = anchor.Last("answer", "keyfill: the table shows another key than it was asked for")

// run notes the keys that a query shows, and returns their number.
func (q *inquiry) run(ctx context.Context, group int, query string) (seen int, err error) {
	err = dbconn.Query(ctx, q.x.conn.Own(), query, nil, func(row []any) error {
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
