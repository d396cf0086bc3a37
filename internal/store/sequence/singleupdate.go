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

// singleUpdate reserves by one UPDATE, which returns the value that it has stored.
type singleUpdate struct{ row *Row }

// reserveTries is how often an UPDATE is sent that changes no row, although a query then
// finds that it could change the row.
const reserveTries = 3

// take reserves n integers as [Reserve] does.
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
		if r.Proof != nil {
			if err := r.Proof.Prepare(ctx); err != nil {
				return keysource.Reservation{}, err
			}
		}
		if q.HoldsBlocks() {
			limit = q.Greatest() // the row may have got another block (range of integers)
		}
		v.Limit = min(limit, q.Greatest()) - n + 1 - offset // the row may have got an end
		answer, err := s.update(ctx, u, v)
		if err != nil {
			return keysource.Reservation{}, s.row.unlessOurs(s.row.manyRows(err))
		}
		if answer != nil {
			got, lost, err := s.reserved(ctx, answer, offset, n, floor)
			if lost {
				continue
			}
			return got, err
		}
		if err := s.look(ctx, n, floor); err != nil {
			return keysource.Reservation{}, err
		}
		// The row has enough integers, but the UPDATE did not change it. Either the row is
		// another one than was known, or another process has changed it in between, and the
		// UPDATE would succeed now; or the transaction has ended, or its mark was undone.
		r.Proof.Forget()
	}
	if r.Proof != nil {
		return keysource.Reservation{}, store.ErrEnded
	}
	return keysource.Reservation{}, r.Failed(q.Name, anchor.New("contention", "another process moved the state's row each time after keyfill had read it"))
}

// look reads the row, and returns the error for which n integers cannot be reserved
// from it.
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

// update executes an UPDATE as [store.Store.Update] does. It also works for an engine
// that returns one integer only, if the row's incarnation (a random text) is known. If
// the server is known on which the row was read, the UPDATE compares the server too.
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
		// Another server has taken over, and which of the two has reserved is not known. The
		// integers are lost: the source would treat integers of the new server as integers of
		// the old one.
		return nil, err
	}
	_, server, _ = strings.Cut(server, "@")
	return []any{next, known.incarnation, server}, nil
}

// updateOn executes the UPDATE on the condition that the server is still the one on
// which the row was read. If it changes no row although the row, read again, could be
// reserved from and is on that server, then a statement cannot compare the server
// there: see engine.SequenceStatements.OnServer.
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
		if err != nil || row == nil || row.Next < floor || row.Next > limit || row.Incarnation != known.incarnation || row.Server != staterow.Server(known.incarnation, known.server) {
			return nil, err // the caller reads the row again, and decides
		}
	}
	r.Server.AsksAfter.Store(true)
	return s.update(ctx, u, v)
}

// reserved returns the reservation that the answer to an UPDATE contains. lost reports
// whether its integers reach beyond the end in the row's incarnation (a random text), which
// the UPDATE has returned: they may not be used, since the integers of another stored
// counter begin there. The sequence remembers that incarnation.
func (s singleUpdate) reserved(ctx context.Context, answer []any, offset, n, floor int64) (got keysource.Reservation, lost bool, err error) {
	q, r := s.row.q, s.row.store
	value, err := store.Integer(answer[0])
	if err != nil {
		return got, false, r.Failed(q.Name, err)
	}
	got.First = value + offset - n
	switch {
	case q.Table == nil:
		incarnation := store.Text(answer[1])
		if known := lastRead(q); known.incarnation == incarnation && known.server == store.Text(answer[2]) {
			got.Server = known.answered
		} else {
			got.Server = staterow.Answered(incarnation, answer[2])
		}
		if end := staterow.EndOf(incarnation); end > 0 || q.HoldsBlocks() {
			q.Remember(&staterow.Row{Incarnation: incarnation, Server: got.Server})
			lost = got.First > end-n
		}
	case got.First < floor:
		// The UPDATE found a value of floor or above, so something else has changed the value
		// that was written.
		return keysource.Reservation{}, false, q.Fail(store.ErrKeyValue, "it does not hold what was written into it")
	case len(answer) > 1:
		got.Server = store.ServerOf("", answer[1])
	default:
		got.Server, err = r.Server.After(ctx)
	}
	if err != nil {
		return keysource.Reservation{}, false, r.Failed(q.Name, err)
	}
	return got, lost, nil
}
