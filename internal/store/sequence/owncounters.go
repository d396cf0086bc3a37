package sequence

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// ProveBelow asks the engine how far its own counters of the columns have counted, and
// returns [store.ErrBelow] if one of them is below the sequence's Below. A column
// without a counter needs no proof.
//
// The result holds until a counter is set back: TRUNCATE does that, and a server that
// is killed may lose a counter that was set a moment before. So the counters are
// queried again whenever the greatest key is: after a duplicate key, and first by each
// process.
func (s Columns) ProveBelow(ctx context.Context) error {
	if s.q.Bounds.Below == 0 || s.q.Bounds.PastCounter {
		return nil
	}
	for _, k := range s.all() {
		if !k.Column.Live {
			continue
		}
		counter, err := k.Counter(ctx)
		if err != nil {
			return err
		}
		if counter.Next < s.q.Bounds.Below {
			return s.notBelow(k, counter)
		}
	}
	return nil
}

// notBelow returns the error of a column whose counter is below the sequence's Below.
func (s Columns) notBelow(k *keycolumn.KeyColumn, counter keycolumn.Counter) *store.Error {
	e := s.q.Fail(store.ErrBelow, "")
	switch {
	case k.Column.Counted:
		e.SQL = k.RaiseText(s.q.Bounds.Below)
	case counter.Sequence != "":
		// If the setval is run late, it does not lower a sequence that has advanced meanwhile.
		e.SQL = fmt.Sprintf("SELECT setval(%s, GREATEST(last_value, %d)) FROM %s", k.Store.Literal(counter.Sequence), s.q.Bounds.Below, counter.Sequence)
	default:
		e.Detail = "let the column's default be nextval of one sequence that ascends and does not cycle, or leave below out"
	}
	return e
}

// StartKnown returns [store.ErrStart] for a sequence without a start if the engine's
// counter may have given numbers below the sequence's Below that no row shows yet:
// PostgreSQL raises a sequence while transactions are open and while sessions hold
// numbers in advance. The ALTER TABLE of MySQL and MariaDB waits for transactions, and
// SQLite has one writer.
func (s Columns) StartKnown() error {
	if s.q.Bounds.Below == 0 || !keycolumn.CountsInAdvance(s.store) {
		return nil
	}
	for _, c := range s.q.Columns {
		if c.Live {
			return s.q.Fail(store.ErrStart, "above the value that its own counter had when it was raised, plus CACHE times the number of sessions")
		}
	}
	return nil
}

// Counted returns the last number that the engine's own counters have given to the columns,
// or have passed; 0 if the columns have no such counter, or if the counters give only
// integers above the sequence's.
func (s Columns) Counted(ctx context.Context) (int64, error) {
	if s.q.Bounds.Below > 0 {
		return 0, nil
	}
	var last int64
	for _, k := range s.all() {
		one, err := k.Counted(ctx)
		if err != nil {
			return 0, err
		}
		last = max(last, one)
	}
	return last, nil
}

// InUse returns greatest, or the last number that the engine's own counters have given
// where that is greater: a row that is made begins above the result. ranked reports whether
// greatest is known.
func (s Columns) InUse(ctx context.Context, greatest int64, ranked bool) (int64, error) {
	if err := s.StartKnown(); err != nil || !ranked {
		return greatest, err
	}
	counted, err := s.Counted(ctx)
	return max(greatest, counted), err
}
