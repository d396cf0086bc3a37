package outcome

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
	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/session"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Inquiry asks a table on a statement's connection which keys of a draw it has.
type Inquiry struct {
	x      *execution.Execution
	column string
	key    *table.Column
	Groups []group // of keys that are asked for together
	Found  []execution.Outcome
	places map[any]int // of the keys among found, where there is one group
}

// group is keys of one parent; all keys where they are not numbered within others.
type group struct {
	Parent string // the condition that the parent's values make
	At     []int  // the keys' places in the draw
}

// presentKeys returns which keys of a draw are in the table: Stored or NotStored for
// each, Unknown for one that was not found and need not be seen. It is nil if the table
// could not be read.
func presentKeys(ctx context.Context, x *execution.Execution, f *table.RowFacts, draw int, affected int64) []execution.Outcome {
	q, ok := NewInquiry(x, f, draw)
	gate := x.Conn.GateOf(table.Of(&x.Plan.Inserts[0]))
	if !ok || ctx.Err() != nil || time.Now().UnixNano() < gate.RowsPausedUntil.Load() {
		return nil
	}
	ctx, cancel := execution.Aside(ctx)
	defer cancel()
	err := q.ask(ctx, f.Leads[x.Plan.Draws[draw].Key], affected)
	if err == nil {
		return q.Found
	}
	if NoteAsked(ctx, x, err); x.Fate.Gone == nil && sqlcode.Answered(err) {
		gate.RowsPausedUntil.Store(time.Now().Add(execution.AskedAgain).UnixNano())
	}
	return nil
}

// NewInquiry prepares to ask for the keys of a draw. It reports false where they cannot
// be asked for.
func NewInquiry(x *execution.Execution, f *table.RowFacts, draw int) (*Inquiry, bool) {
	d := x.Plan.Draws[draw]
	t := table.Of(&x.Plan.Inserts[0])
	q := &Inquiry{x: x, column: f.Columns[d.Key], key: &t.KeyColumns[d.Key], places: map[any]int{}}
	n := x.Holes.Counts[draw]
	if q.column == "" || n == 0 {
		return nil, false
	}
	q.Found = make([]execution.Outcome, n)
	if !q.group(draw, n) {
		return nil, false
	}
	return q, true
}

// group puts the keys of the same parent together.
func (q *Inquiry) group(draw, n int) bool {
	x := q.x
	parents, err := bind.Scopes(x.Plan, x.Args, x.Holes, x.Plan.Draws[draw].Insert, x.Plan.Draws[draw].Key)
	if err != nil {
		return false
	}
	scope := x.Plan.Inserts[0].Target.Keys[x.Plan.Draws[draw].Key].Scope
	for i := range n {
		parent := ""
		if scope != nil {
			var ok bool
			if parent, ok = parentCondition(x.Plan.Dialect, scope, parents[i]); !ok {
				return false
			}
		}
		at := slices.IndexFunc(q.Groups, func(g group) bool { return g.Parent == parent })
		if at < 0 {
			at = len(q.Groups)
			q.Groups = append(q.Groups, group{Parent: parent})
		}
		q.Groups[at].At = append(q.Groups[at].At, i)
		q.places[place{at, q.key.Reported(x.Drawn.Keys[draw][i])}] = i
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
func (q *Inquiry) ask(ctx context.Context, leads bool, affected int64) error {
	x := q.x
	latest := x.Plan.Dialect.Latest
	inside, outside := x.Conn.Tx == session.Inside, x.Conn.Tx == session.Outside
	switch {
	case latest.Lock == "":
		return q.Plain(ctx, true)
	case x.Plan.Dialect.ErrorsAbort && !outside:
		return q.afterSavepoint(ctx, inside)
	case latest.Gaps && leads && len(q.Found) == 1 && (inside || outside):
		// A row that the statement has stored is locked already.
		lock := latest.Lock
		if outside {
			lock = latest.NoWait
		}
		err := q.locked(ctx, lock)
		if err == nil || !outside || !sqlcode.Answered(err) {
			return err
		}
		return q.Plain(ctx, false)
	case latest.Gaps && leads && inside && affected == int64(len(q.Found)) && len(q.Found) <= maxLocked:
		return q.locked(ctx, latest.Lock)
	case inside:
		return q.Plain(ctx, true)
	}
	return q.outside(ctx, leads && outside && (len(q.Found) <= maxLocked || !latest.Gaps))
}

// maxLocked is how many rows are asked for, in one query each.
const maxLocked = 256

// outside asks outside of a transaction. A replica shows all rows of a statement or
// none, so that it need not be the latest state that shows some of them.
func (q *Inquiry) outside(ctx context.Context, locks bool) error {
	err := q.Plain(ctx, false)
	if err != nil || !locks || slices.Contains(q.Found, execution.OutcomeStored) {
		return err
	}
	_ = q.locked(ctx, q.x.Plan.Dialect.Latest.NoWait)
	return nil
}

// afterSavepoint runs the query after a savepoint, since an error of the engine would end
// the transaction. inside reports that one is open, else it is not known.
func (q *Inquiry) afterSavepoint(ctx context.Context, inside bool) error {
	x := q.x
	t := &x.Plan.Dialect.Transactions
	if err := x.Conn.ExecSavepoint(ctx, t.Set, askSavepoint); err != nil {
		if inside || !sqlcode.Answered(err) {
			return err
		}
		return q.Plain(ctx, false) // PostgreSQL refuses it outside of a transaction
	}
	err := q.Plain(ctx, true)
	if err != nil {
		if undone := x.Conn.ExecSavepoint(ctx, t.Undo, askSavepoint); undone != nil {
			return undone
		}
	}
	return errors.Join(err, x.Conn.ExecSavepoint(ctx, t.Release, askSavepoint))
}

// askSavepoint is the name of keyfill's savepoint, which no application uses.
const askSavepoint = "keyfill_ask"

// maxListed is how many keys a query names.
const maxListed = 500

// Plain asks by queries that lock nothing. sure reports that they see the rows that the
// statement has stored; else a query that shows some of the rows does, since they were
// stored together.
func (q *Inquiry) Plain(ctx context.Context, sure bool) error {
	for i, g := range q.Groups {
		size := maxListed
		if q.consecutive(g) {
			size = len(g.At)
		}
		for at := range slices.Chunk(g.At, size) {
			seen, err := q.Run(ctx, i, q.Where(g.Parent, at))
			if err != nil {
				return err
			}
			for _, n := range at {
				if q.Found[n] != execution.OutcomeStored && (sure || seen > 0) {
					q.Found[n] = execution.OutcomeNotStored
				}
			}
		}
	}
	return nil
}

// Where returns a query for keys of a parent.
func (q *Inquiry) Where(parent string, at []int) string {
	d := q.x.Plan.Dialect
	column := d.QuoteIdent(q.column)
	b := fmt.Appendf(nil, "SELECT %s FROM %s WHERE %s%s ", column, q.x.Plan.Inserts[0].Name.TableText, parent, column)
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
func (q *Inquiry) value(n int) driver.Value {
	for i := range q.x.Plan.Draws {
		if d := q.x.Plan.Draws[i]; &table.Of(&q.x.Plan.Inserts[0]).KeyColumns[d.Key] == q.key {
			return q.x.Drawn.Keys[i][n]
		}
	}
	return nil
}

// consecutive reports whether keys are consecutive integers of no parent, between
// which no other program has any.
func (q *Inquiry) consecutive(g group) bool {
	if g.Parent != "" || !q.key.IsAdjacent() {
		return false
	}
	for i := range g.At {
		first, ok := q.value(g.At[0]).(int64)
		n, _ := q.value(g.At[i]).(int64)
		if !ok || n != first+int64(i) {
			return false
		}
	}
	return true
}

// locked asks for each row in a query of its own, so that no other row is locked.
func (q *Inquiry) locked(ctx context.Context, lock string) error {
	for i, g := range q.Groups {
		if !q.x.Plan.Dialect.Latest.Gaps {
			for at := range slices.Chunk(g.At, maxListed) {
				if _, err := q.Run(ctx, i, q.Where(g.Parent, at)+lock); err != nil {
					return err
				}
			}
			continue
		}
		var parts []string
		for _, n := range g.At {
			d := q.x.Plan.Dialect
			column := d.QuoteIdent(q.column)
			b := fmt.Appendf(nil, "SELECT %s FROM %s WHERE %s%s = ", column, q.x.Plan.Inserts[0].Name.TableText, g.Parent, column)
			parts = append(parts, string(d.AppendLiteral(b, q.value(n)))+lock)
		}
		query := parts[0]
		if len(parts) > 1 {
			query = "(" + strings.Join(parts, ") UNION ALL (") + ")"
		}
		if _, err := q.Run(ctx, i, query); err != nil {
			return err
		}
	}
	for i := range q.Found {
		if q.Found[i] != execution.OutcomeStored {
			q.Found[i] = execution.OutcomeNotStored
		}
	}
	return nil
}

// errOtherKey is returned when the driver gives back a key that was not asked for.
var errOtherKey = anchor.Last("answer", "keyfill: the table shows another key than it was asked for")

// Run notes the keys that a query shows, and returns their number.
func (q *Inquiry) Run(ctx context.Context, group int, query string) (seen int, err error) {
	err = dbconn.Query(ctx, q.x.Conn.Own(), query, nil, func(row []any) error {
		n, ok := q.places[place{group, q.shown(row[0])}]
		if !ok {
			return errOtherKey
		}
		q.Found[n] = execution.OutcomeStored
		seen++
		return nil
	})
	return seen, err
}

// shown returns a key of a row as a recorder shows it.
func (q *Inquiry) shown(v any) any {
	switch v := q.key.Reported(v).(type) {
	case int64, uuid.UUID:
		return v
	case string:
		return strings.TrimRight(v, " ") // char(n)
	}
	return nil
}
