package reserver

import (
	"context"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
)

// firstLook holds the facts about a sequence that a process needs before it first takes
// integers from it: the greatest key, the row, and whether another state has the column.
// One statement asks for all of them, and sees them as they were at one moment. A key
// that it sees was reserved before, so that a row in order stands above it.
type firstLook struct {
	greatest int64
	stored   *staterow.Row // nil where there is none

	until time.Time // the answer is too old then
}

// firstLookHolds is how long an answer is used as the present state. It is used by the
// call after the one that has asked.
const firstLookHolds = time.Second

// firstLooker looks at a sequence.
type firstLooker struct {
	store *store.Store
	q     *sequence.Sequence
}

// may reports whether one statement can ask for all that the opening of a sequence asks
// for. The others are rarer, and need more of it.
func (l firstLooker) may() bool {
	r, q := l.store, l.q
	switch {
	case !r.Engine.OpensAtOnce, !r.Pooled && !r.Engine.ErrorsKeepTransaction:
		return false // an error would end the application's transaction
	case q.IsForeign(), q.Procedure != "", q.Upstream != nil, q.HoldsBlocks(), q.Shared, q.Exclusive, q.At != nil, q.Claim.ClaimsAt != nil:
		return false
	case q.Fresh, q.Codec != nil, q.Bounds.Below > 0, q.Bounds.StartAt > 0, q.Bounds.Skip != store.Range{}, q.Made.Least > 0, q.Made.Gap > 0, q.End() > 0:
		return false
	}
	return len(q.Columns) == 1 && !q.Columns[0].Unranked
}

// look looks at a sequence, and changes nothing. It returns nil if something is amiss,
// and leaves the diagnosis to the single queries: tables or rights that are missing, rows
// that are hidden, a row with an end, a row that is not above the keys, another state of
// the column.
func (l firstLooker) look(ctx context.Context) *firstLook {
	if !l.may() {
		return nil
	}
	r, q := l.store, l.q
	asked := time.Now()
	k := keycolumn.Of(r, q.Columns[0])
	hides := "0"
	if r.Engine.Keys.Hides != "" {
		hides = r.HidesRows(k.Table())[len(", "):]
	}
	st := r.Engine.FirstLook(k.Name(), k.Table(), hides)
	table, column := q.Bound()
	v := engine.Values{Table: table, Column: column, Name: q.Name, Binding: q.Binding().RowFor(q.Columns[0]), Row: q.Name}
	var server string
	var row []any
	var err error
	for _, server = range r.Server.Likely() {
		row, err = r.Conn.Query(ctx, strings.Replace(st.Text, "{server}", server, 1), st.Bind(v))
		if !store.IsUnknownVariable(err) {
			break
		}
	}
	if err != nil || len(row) != 9 || row[8] != nil {
		return nil
	}
	r.Server.Know(server)
	look := &firstLook{until: asked.Add(firstLookHolds)}
	if hidden, err := store.Integer(row[1]); err != nil || hidden != 0 {
		return nil
	}
	if row[0] != nil {
		if look.greatest, err = store.Integer(row[0]); err != nil {
			return nil
		}
	}
	if row[2] == nil {
		return look
	}
	if look.stored, err = staterow.Of([6]any(row[2:8])); err != nil || staterow.EndOf(look.stored.Incarnation) != 0 || look.stored.Next <= look.greatest {
		return nil
	}
	return look
}

// lookMaking is look, which makes keyfill's tables first where the first look has not found
// them.
func (l firstLooker) lookMaking(ctx context.Context) *firstLook {
	found := l.look(ctx)
	if found != nil || !l.may() || !l.q.EnsureSchema || !l.store.Pooled || l.store.Found.WasFound() {
		return found
	}
	if schema.Of(l.store).MakeMissing(ctx, sequence.ColumnsOf(l.store, l.q).Reachable()) != nil {
		return nil
	}
	return l.look(ctx)
}
