package sequence

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// singleUpdate reserves by one UPDATE, which answers with the value that it has stored.
type singleUpdate struct{ row *Row }

// reserveTries is how often an UPDATE that finds no row is sent when the row is
// then found fit.
const reserveTries = 3

// take is [Reserve].
func (s singleUpdate) take(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	q, r := s.row.q, s.row.store
	u, offset, limit := r.Engine.Rows.Reserve, int64(0), q.Greatest()
	if q.Table != nil {
		u, offset, limit = s.row.Form.Reserve, s.row.Form.Offset, s.row.Limit()
	}
	floor := max(seen, 1)
	v := q.rowValues()
	v.Count, v.Floor = n, floor-offset
	if r.Engine.Rows.ReturnsLastInsertID && q.Table == nil && q.known == nil {
		if err := s.look(ctx, n, floor); err != nil {
			return keysource.Reservation{}, err
		}
	}
	for range reserveTries {
		if err := r.Proof.Prepare(ctx); err != nil {
			return keysource.Reservation{}, err
		}
		if q.HoldsBlocks() {
			limit = q.Greatest() // the row may have got another block
		}
		v.Limit = min(limit, q.Greatest()) - n + 1 - offset // the row may have got an end
		answer, err := s.update(ctx, u, v)
		if err != nil {
			return keysource.Reservation{}, s.row.unlessOurs(s.row.manyRows(err))
		}
		if answer != nil {
			got, err := s.reserved(ctx, answer, offset, n, floor)
			if err == nil && q.Table == nil && s.isBeyondEnd(answer, got, n) {
				continue // these are lost: another state begins below them
			}
			return got, err
		}
		if err := s.look(ctx, n, floor); err != nil {
			return keysource.Reservation{}, err
		}
		// It is another row than was known, or another process has moved it in
		// between: it would fit now. Or the transaction has ended, or has forgotten
		// its mark.
		r.Proof.Forget()
	}
	if r.Proof != nil {
		return keysource.Reservation{}, store.ErrEnded
	}
	return keysource.Reservation{}, r.Failed(q.Name, anchor.New("contention", "the row was moved each time after it was found unfit"))
}

// isBeyondEnd reports whether integers that an UPDATE has reserved reach beyond the end
// that the row was found to have, which it remembers.
func (s singleUpdate) isBeyondEnd(answer []any, got keysource.Reservation, n int64) bool {
	incarnation := store.Text(answer[1])
	end := staterow.EndOf(incarnation)
	if end == 0 && !s.row.q.HoldsBlocks() {
		return false
	}
	s.row.q.Remember(&staterow.Row{Incarnation: incarnation, Server: got.Server})
	return got.First > end-n
}

// look reads the row, and returns why n integers cannot be taken from it.
func (s singleUpdate) look(ctx context.Context, n, floor int64) error {
	stored, err := s.row.readWhole(ctx)
	if err == nil {
		err = s.row.unfit(ctx, stored, n, floor)
	}
	if err != nil {
		return err
	}
	s.row.q.Remember(stored)
	return nil
}

// readsOwnID reports whether LAST_INSERT_ID may be read from the answer to a statement.
// The connection has to be our own, so that the application does not read it, and outside
// of transactions, so that the answer also proves that the statement has committed.
func readsOwnID(s *store.Store) bool { return s.Pooled && !s.Inside }

// update is [store.Store.Update], also for an engine that answers with an integer alone
// where the row's incarnation is known. Where it is known on which server that was read,
// the UPDATE compares the server too.
func (s singleUpdate) update(ctx context.Context, u engine.Update, v engine.Values) ([]any, error) {
	q, r := s.row.q, s.row.store
	if !r.Engine.Rows.ReturnsLastInsertID {
		return r.Update(ctx, u, v)
	}
	known := lastRead(q)
	v.Incarnation = known.incarnation
	before := store.ServerOf("", known.server)
	switch {
	case q.Table != nil:
	case known.server == "":
		var err error
		if before, err = r.Server.Before(ctx); err != nil {
			return nil, err
		}
	case !r.Server.AsksAfter.Load():
		return s.updateOn(ctx, u, v, known)
	}
	next, changed, err := r.Conn.ExecID(ctx, u.Text, u.Bind(v))
	switch {
	case err != nil || changed == 0:
		return nil, err
	case changed > 1:
		return nil, store.ErrRows
	case q.Table != nil:
		return []any{next}, nil
	}
	server, err := r.Server.After(ctx)
	if err != nil || server != before {
		// Another server has taken over, and it is not known which of the two has
		// reserved. The integers are lost: the source would not compare integers of a
		// server that it takes for the one before.
		return nil, err
	}
	_, server, _ = strings.Cut(server, "@")
	return []any{next, known.incarnation, server}, nil
}

// updateOn is update on the server that the row was read on. It changes no row on another
// one. Where it changes none although the row, which is read again, is fit and on that
// server, a statement cannot compare the server there: see engine.onServer.
func (s singleUpdate) updateOn(ctx context.Context, u engine.Update, v engine.Values, known knownRow) ([]any, error) {
	r := s.row.store
	query, err := r.Server.PutInto(ctx, u.Text+r.Engine.Rows.OnServer)
	if err != nil {
		return nil, err
	}
	v.Server = known.server
	next, changed, err := r.Conn.ExecID(ctx, query, append(u.Bind(v), v.Server))
	switch {
	case err == nil && changed > 1:
		return nil, store.ErrRows
	case err == nil && changed == 1:
		return []any{next, known.incarnation, known.server}, nil
	case err != nil && !store.IsUnknownVariable(err):
		return nil, err
	case err == nil:
		row, err := s.row.readWhole(ctx)
		floor, limit := v.Floor.(int64), v.Limit.(int64)
		if err != nil || row == nil || row.Next < floor || row.Next > limit || staterow.IdentityOf(row.Incarnation) != staterow.IdentityOf(known.incarnation) || row.Server != staterow.Server(known.incarnation, known.server) {
			return nil, err // the caller reads it again, and judges
		}
	}
	r.Server.AsksAfter.Store(true)
	return s.update(ctx, u, v)
}

// reserved returns the reservation of an UPDATE, from its answer.
func (s singleUpdate) reserved(ctx context.Context, answer []any, offset, n, floor int64) (got keysource.Reservation, err error) {
	q, r := s.row.q, s.row.store
	value, err := store.Integer(answer[0])
	if err != nil {
		return got, r.Failed(q.Name, err)
	}
	got.First = value + offset - n
	switch {
	case q.Table == nil:
		got.Server = staterow.Server(answer[1], answer[2])
	case got.First < floor:
		// The UPDATE has found it at floor or above: something else has changed the
		// written value.
		return keysource.Reservation{}, q.Fail(store.ErrKeyValue, "it does not hold what was written into it")
	case len(answer) > 1:
		got.Server = store.ServerOf("", answer[1])
	default:
		got.Server, err = r.Server.After(ctx)
	}
	if err != nil {
		return keysource.Reservation{}, r.Failed(q.Name, err)
	}
	return got, nil
}
