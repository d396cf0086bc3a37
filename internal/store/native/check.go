package native

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/nativecatalog"
)

// open checks the sequence when it is first used, and returns the result of that check
// until a draw fails.
func (r *Reserver) open(ctx context.Context) (*opened, error) {
	if q := r.opened.Load(); q != nil {
		return q, nil
	}
	if nativecatalog.Of(r.store).Statements == nil {
		return nil, r.fail(nil, store.ErrNoNative, "")
	}
	name, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := nativecatalog.Of(r.store).Facts(ctx, *name)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		return nil, r.fail(nil, store.ErrNoSequence, "")
	}
	q := &opened{Name: *name, max: facts.Max}
	if nativecatalog.Of(r.store).Statements.Clusters {
		server, err := r.store.Server.After(ctx)
		if err != nil {
			return nil, r.store.Failed(name.Shown(), err)
		}
		q.byTurns = onCluster(server)
	}
	if err := r.check(q, facts); err != nil {
		return nil, err
	}
	for _, c := range r.native.Columns {
		err := r.checkColumn(ctx, q, c)
		if errors.Is(err, store.ErrBegun) && r.native.Exclusive && r.once.Load() {
			// A sequence with a StartAt has begun to serve the column while this process,
			// which could not know of it, drew from the engine's sequence. A process that
			// starts does not stop one that is running, so the error is ignored.
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	r.opened.Store(q)
	r.once.Store(true)
	return q, nil
}

// find returns the name of the sequence as the catalog has it.
func (r *Reserver) find(ctx context.Context) (*nativecatalog.Name, error) {
	catalog := nativecatalog.Of(r.store)
	if r.native.Sequence == "" {
		if len(r.native.Columns) != 1 {
			return nil, r.fail(nil, store.ErrNoOwn, "%d columns share the source", len(r.native.Columns))
		}
		own, worked, err := catalog.Own(ctx, r.native.Columns[0])
		switch {
		case err != nil:
			return nil, err
		case own == nil || worked:
			return nil, r.fail(nil, store.ErrNoOwn, "")
		}
		return own, nil
	}
	schema, name, err := nativecatalog.SplitName(r.store.Dialect, r.native.Sequence)
	if err != nil {
		return nil, r.fail(nil, store.ErrNoSequence, "%v", err)
	}
	found, err := catalog.Find(ctx, schema, name)
	if err == nil && found == nil {
		err = r.fail(nil, store.ErrNoSequence, "")
	}
	return found, err
}

// check returns the error of a sequence that cannot be used safely, or nil.
func (r *Reserver) check(q *opened, f *nativecatalog.Facts) error {
	alter := func(e *store.Error, what string) error {
		e.SQL = fmt.Sprintf("ALTER SEQUENCE %s %s", q.Quoted, what)
		return e
	}
	switch {
	case q.byTurns && (f.Increment != 0 || r.native.Block != 1):
		return r.wrongNodes(q, f.Increment)
	case f.Increment != r.native.Block && !q.byTurns:
		return r.wrongIncrement(q, f.Increment)
	case f.Cycles:
		return alter(r.fail(q, store.ErrCycle, ""), nativecatalog.Of(r.store).Statements.NoCycle)
	case f.Cached:
		return alter(r.fail(q, store.ErrUnordered, ""), "CACHE 1")
	}
	return nil
}

// wrongIncrement returns the error of a sequence whose increment is not the block (how
// many integers a value stands for).
func (r *Reserver) wrongIncrement(q *opened, increment int64) error {
	e := r.fail(q, store.ErrIncrement, "INCREMENT BY %d, but block: %d", increment, r.native.Block)
	e.SQL = fmt.Sprintf("ALTER SEQUENCE %s INCREMENT BY %d", q.Quoted, r.native.Block)
	if increment > 0 {
		e.Detail += fmt.Sprintf("; say block: %d, or give it the block's", increment)
	}
	if increment > r.native.Block {
		// The blocks of values that other sessions hold end further up, so the sequence has
		// to restart above all keys.
		e.SQL += " RESTART WITH <a number above all keys>"
	}
	return e
}

// wrongNodes returns the error of a sequence on a Galera cluster whose nodes would give
// out the same values, or whose block is not 1.
func (r *Reserver) wrongNodes(q *opened, increment int64) error {
	e := r.fail(q, store.ErrNodes, "INCREMENT BY %d and block: %d", increment, r.native.Block)
	if increment != 0 {
		// Nodes that hold values of the former increment still give those out.
		e.SQL = fmt.Sprintf("ALTER SEQUENCE %s INCREMENT BY 0 RESTART WITH <a number above all keys>", q.Quoted)
	}
	return e
}

// checkColumn returns an error if the default of a column draws from another sequence,
// or if the column belongs to another state (a stored counter) in keyfill_sequences.
func (r *Reserver) checkColumn(ctx context.Context, q *opened, c store.Column) error {
	fail := func(cause error, format string, args ...any) *store.Error { return r.fail(q, cause, format, args...) }
	// Any other error is ignored: without the table keyfill_sequences no other stored
	// counter exists.
	b := &binding.Binding{State: q.State(), Exclusive: r.native.Exclusive, Fail: fail}
	if err := (binding.Binder{Store: r.states}).CheckTaken(ctx, b, c); errors.Is(err, store.ErrTaken) || errors.Is(err, store.ErrBegun) {
		return err
	}
	if r.native.Exclusive {
		return nil
	}
	if r.native.Sequence == "" {
		return nil // the sequence was found by the column's default
	}
	own, worked, err := nativecatalog.Of(r.store).Own(ctx, c)
	switch {
	case err != nil:
		return err
	case worked:
		return r.fail(q, store.ErrOtherSequence, "%s", c)
	case own != nil && *own != q.Name:
		return r.fail(q, store.ErrOtherSequence, "%s draws from %s", c, own.Shown())
	}
	return nil
}

// Bind checks one more column that gets keys from the sequence, as opening the sequence
// checks each of Columns.
func (r *Reserver) Bind(ctx context.Context, c store.Column) error {
	q, err := r.open(ctx)
	if err != nil {
		return err
	}
	return r.checkColumn(ctx, q, c)
}
