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

// firstLook holds the facts about a sequence that a process needs before it first
// reserves integers: the greatest key, the row, and whether another stored counter has
// the column. One query returns all of them as of one moment. A key that it sees was
// reserved before, so the row stands above that key if it is in order.
type firstLook struct {
	greatest int64
	stored   *staterow.Row // nil if there is no row

	until time.Time // the facts are too old after this time
}

// firstLookHolds is how long the facts of a [firstLook] count as up to date. The
// reservation that follows [Reserver.MaxKey] uses the facts that MaxKey has queried.
const firstLookHolds = time.Second

// firstLookValues is how many values [engine.Engine.FirstLook] selects about a sequence.
const firstLookValues = 9

// firstLooker queries the facts about a sequence that are needed before its first use.
type firstLooker struct {
	store *store.Store
	q     *sequence.Sequence
}

// may reports whether one query can return all that is needed to open the sequence.
// Sequences with special settings are rarer and need more queries.
func (l firstLooker) may() bool {
	r, q := l.store, l.q
	switch {
	case !r.Engine.OpensAtOnce, !r.Pooled && !r.Engine.ErrorsKeepTransaction:
		return false // an error would abort the application's transaction
	case q.IsForeign(), q.Procedure != "", q.Upstream != nil, q.HoldsBlocks(), q.Shared, q.Exclusive, q.At != nil, q.Claim.ClaimsAt != nil:
		return false
	case q.Fresh, q.Codec != nil, q.Bounds.ArePart(), q.Made.Least > 0, q.Made.Gap > 0, q.End() > 0:
		return false
	}
	return len(q.Columns) == 1 && !q.Columns[0].Unranked && q.Columns[0].Texts == nil
}

// look returns the facts about a sequence, and changes nothing. It returns nil if
// something is wrong, and leaves the diagnosis to separate queries: tables or rights
// are missing, rows are hidden, the row has an end or is not above the keys, or another
// stored counter has the column.
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
	if err != nil || len(row) < firstLookValues || row[firstLookValues-1] != nil {
		return nil
	}
	r.Server.Know(server)
	if len(row) > firstLookValues {
		r.Peers.Note(row[firstLookValues])
	}
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

// lookMaking returns the same as look. If keyfill's tables were not found and may be
// created, it creates them and looks again.
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
