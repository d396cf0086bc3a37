package outcome

//row:ways | leaves open which rows are stored | `fill/outcome/inquiry.go` asks the table for the keys

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

// Inquiry queries a table, on a statement's connection, for the keys of a draw that it
// contains.
type Inquiry struct {
	x      *execution.Execution
	column string
	key    *table.Column
	Groups []group // the keys that are queried together
	Found  []execution.Outcome
	places map[any]int // the index of each key in Found
}

// group holds the keys of one parent (such as the lines of one order), or all keys if
// they are not numbered within parents.
type group struct {
	Parent string // the condition for the parent's values
	At     []int  // the indexes of the keys in the draw
}

// presentKeys returns which keys of a draw are in the table: OutcomeStored or
// OutcomeNotStored for each key, or OutcomeUnknown for a key that was not found but
// might not be visible. It returns nil if the table could not be read.
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

// NewInquiry returns an Inquiry for the keys that the execution has drawn for one
// column; draw is the index of that draw in the plan. It returns false if the keys
// cannot be queried, or prove nothing.
func NewInquiry(x *execution.Execution, f *table.RowFacts, draw int) (*Inquiry, bool) {
	d := x.Plan.Draws[draw]
	t := table.Of(&x.Plan.Inserts[0])
	q := &Inquiry{x: x, column: f.Columns[d.Key], key: &t.KeyColumns[d.Key], places: map[any]int{}}
	n := x.Holes.Counts[draw]
	if q.column == "" || n == 0 || x.Plan.Inserts[0].Target.Keys[d.Key].FromRow {
		return nil, false // a key that is made from the row may have been stored by an earlier delivery
	}
	q.Found = make([]execution.Outcome, n)
	if !q.group(draw, n) {
		return nil, false
	}
	return q, true
}

// group puts keys with the same parent into one group. It returns false if the parents
// cannot be written into a query.
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

// place identifies a key in a group.
type place struct {
	group int
	key   any
}

// parentCondition returns the condition for the rows of a parent (such as an order). It
// returns false if a value would have to be escaped.
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

// ask sends the queries, in the way that the engine and the transaction need.
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
		// A row that the statement has stored is locked already, so a query that locks the
		// row too does not wait.
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

// maxLocked is the greatest number of rows that are queried separately, to lock each.
const maxLocked = 256

// outside queries outside of a transaction. A replica shows either all rows of a
// statement or none, so a result that shows some of them is enough, even if it is not
// the latest state.
func (q *Inquiry) outside(ctx context.Context, locks bool) error {
	err := q.Plain(ctx, false)
	if err != nil || !locks || slices.Contains(q.Found, execution.OutcomeStored) {
		return err
	}
	_ = q.locked(ctx, q.x.Plan.Dialect.Latest.NoWait)
	return nil
}

// afterSavepoint queries after a savepoint, since an error of the engine would abort
// the transaction. inside reports that a transaction is open; otherwise that is not
// known.
func (q *Inquiry) afterSavepoint(ctx context.Context, inside bool) error {
	x := q.x
	t := &x.Plan.Dialect.Transactions
	if err := x.Conn.ExecSavepoint(ctx, t.Set, askSavepoint); err != nil {
		if inside || !sqlcode.Answered(err) {
			return err
		}
		return q.Plain(ctx, false) // PostgreSQL refuses a savepoint outside of a transaction, so none is open that an error could abort
	}
	err := q.Plain(ctx, true)
	if err != nil {
		if undone := x.Conn.ExecSavepoint(ctx, t.Undo, askSavepoint); undone != nil {
			return undone
		}
	}
	return errors.Join(err, x.Conn.ExecSavepoint(ctx, t.Release, askSavepoint))
}

// askSavepoint is the name of the savepoint that keyfill sets before queries about stored
// rows. No application uses the name.
const askSavepoint = "keyfill_ask"

// maxListed is the greatest number of keys in one query.
const maxListed = 500

// Plain sends queries that lock nothing. sure reports that they see the rows that the
// statement has stored. Otherwise only a result that shows some of the rows proves
// something, since all were stored together.
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

// Where returns the query for keys of a parent (such as an order).
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

// value returns the n-th key as it was sent.
func (q *Inquiry) value(n int) driver.Value {
	for i := range q.x.Plan.Draws {
		if d := q.x.Plan.Draws[i]; &table.Of(&q.x.Plan.Inserts[0]).KeyColumns[d.Key] == q.key {
			return q.x.Drawn.Keys[i][n]
		}
	}
	return nil
}

// consecutive reports whether the keys of a group are consecutive integers that are not
// numbered within parents, so that no other program has keys between them.
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

// locked queries each row separately, so that no other row is locked.
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

// errOtherKey is returned when the driver returns a key that was not asked for.
var errOtherKey = anchor.Last("answer", "keyfill: the table shows another key than it was asked for")

// Run sends a query, records the keys in its result as stored, and returns how many
// there were.
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

// shown returns the key of a row in the type that a recorder (see keyfill.Record) shows.
func (q *Inquiry) shown(v any) any {
	switch v := q.key.Reported(v).(type) {
	case int64, uuid.UUID:
		return v
	case string:
		return strings.TrimRight(v, " ") // a char(n) column pads with spaces
	}
	return nil
}
