package reserver

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// writer follows which server has written a row, by the hint in the row's incarnation (its
// random text).
//
// A row that names another server than the one that answers comes from elsewhere: another
// server has taken over, or has the row from a backup, a clone, or by replication. The source
// gives up its blocks and compares, since it sees another server, and the row gets the name
// of the server that answers. Only where that happens a second time, while the server that
// answers has stayed the same, do two servers take changes of the row.
type writer struct {
	settled atomic.Bool // the row names the server, or cannot

	mu      sync.Mutex
	drawn   bool      // integers were reserved before
	server  string    // the server that has answered last
	own     bool      // the row has named that server
	flipped time.Time // when the row named another one after that; zero if it never did
}

// flipWindow is for how long the row's coming from elsewhere is remembered, while the server
// that answers stays the same. A process that was idle while another server had taken over,
// and given back, sees the same, but not often.
const flipWindow = time.Hour

// judge notes whether another server than the one that has answered has written the row of a
// reservation. first reports that this was the first reservation, and fine is false if the
// row comes from elsewhere again and again.
func (w *writer) judge(server string, foreign bool, now time.Time) (first, fine bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, w.drawn = !w.drawn, true
	if server != w.server {
		w.server, w.own, w.flipped = server, false, time.Time{}
	}
	switch {
	case !foreign:
		return first, true
	case !w.own:
	case now.Sub(w.flipped) < flipWindow:
		return first, false
	default:
		w.flipped = now
	}
	return first, true
}

// sign records that the row names the server.
func (w *writer) sign() {
	w.settled.Store(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own = true
}

// Signs reports whether rows in the store name the server that writes them. They do on
// engines whose clusters have one identity, so that the nodes of a cluster are one writer.
func Signs(s *store.Store) bool { return s.Engine.TwoWay.Hint != "" }

// namesWriter reports whether the row of the sequence names the server that writes it.
func namesWriter(r *Reserver) bool {
	q := &r.sequence
	return r.store.Pooled && Signs(r.store) && !q.IsForeign() && q.Procedure == "" && q.Upstream == nil && !q.HoldsBlocks()
}

// noteWriter lets the row of a reservation name the server that has answered, if it does
// not. It leaves that to the second reservation of a process if the row names none, so that
// it is not on the way of the first key. It returns [store.ErrWriters] if two servers write
// the row; the database itself has to say that they replicate to each other, and one that
// cannot be asked has not said it. Any other error is the next call's.
func noteWriter(ctx context.Context, r *Reserver, got *keysource.Reservation) error {
	at, _, foreign := strings.Cut(got.Server, store.ForeignMark)
	_, server, _ := strings.Cut(at, "@")
	if server == "" || !namesWriter(r) {
		r.writer.settled.Store(true)
		got.Server = at
		return nil
	}
	first, fine := r.writer.judge(server, foreign, time.Now())
	if !fine {
		if sign, err := store.TwoWay(ctx, r.store); err == nil && sign != "" {
			return r.sequence.Fail(store.ErrWriters, "")
		}
	}
	switch {
	case foreign:
	case staterow.WriterOf(r.sequence.Incarnation()) == staterow.Hint(server):
		r.writer.sign()
		return nil
	case first:
		return nil
	}
	row, err := staterow.Read(ctx, r.store, r.sequence.Name)
	if err != nil || row == nil || row.Server != at {
		return nil
	}
	switch signed, err := sign(ctx, r.store, r.sequence.Name, row); {
	case err != nil:
		r.writer.settled.Store(true) // the row stays without a name
	case signed:
		r.sequence.Remember(row)
		r.writer.sign()
	}
	return nil
}

// sign lets a row that was read name the server on which it was read, and reports whether it
// does now. It changes row.Incarnation.
func sign(ctx context.Context, s *store.Store, name string, row *staterow.Row) (bool, error) {
	_, server, _ := strings.Cut(row.Server, "@")
	with := staterow.WithWriter(row.Incarnation, server)
	if with == row.Incarnation {
		return true, nil
	}
	st := s.Engine.MarkRow()
	changed, err := s.Conn.Exec(ctx, st.Text, st.Bind(engine.Values{Version: with, Name: name, Incarnation: row.Incarnation, Limit: int64(store.MaxNext)}))
	if err != nil || changed != 1 {
		return false, err
	}
	row.Incarnation = with
	return true, nil
}

// SignAll lets all rows of keyfill_sequences that name a server name the one that answers. It
// returns how many do now, and is not stopped by programs that reserve meanwhile.
func SignAll(ctx context.Context, s *store.Store) (named int, err error) {
	names, err := s.Conn.Rows(ctx, "SELECT name FROM "+engine.SequencesTable, nil)
	if err != nil {
		return 0, err
	}
	for _, one := range names {
		name := store.Text(one[0])
		for signed := false; !signed; {
			row, err := staterow.Read(ctx, s, name)
			if err != nil {
				return named, err
			}
			if row == nil || staterow.WriterOf(row.Incarnation) == "" {
				break
			}
			if signed, err = sign(ctx, s, name, row); err != nil {
				return named, err
			}
			if signed {
				named++
			}
		}
	}
	return named, nil
}
