package store

import (
	"context"
	"errors"
	"fmt"
)

// open looks at the sequence, once as long as it is fit.
func (r *NativeReserver) open(ctx context.Context) (*nativeSequence, error) {
	if q := r.opened.Load(); q != nil {
		return q, nil
	}
	if catalogOf(r.store).engine == nil {
		return nil, r.fail(nil, ErrNoNative, "")
	}
	name, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := catalogOf(r.store).facts(ctx, *name)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		return nil, r.fail(nil, ErrNoSequence, "")
	}
	q := &nativeSequence{nativeName: *name, max: facts.max}
	if catalogOf(r.store).engine.clusters {
		server, err := r.store.server.after(ctx)
		if err != nil {
			return nil, r.store.failed(name.shown(), err)
		}
		q.byTurns = onCluster(server)
	}
	if err := r.check(q, facts); err != nil {
		return nil, err
	}
	for _, c := range r.native.Columns {
		err := r.checkColumn(ctx, q, c)
		if errors.Is(err, ErrBegun) && r.native.Exclusive && r.once.Load() {
			// The other sequence has begun while this one was drawn from, and could not
			// know of that. A process that runs is not stopped by one that starts.
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

// find returns the sequence's name as it is found.
func (r *NativeReserver) find(ctx context.Context) (*nativeName, error) {
	catalog := catalogOf(r.store)
	if r.native.Sequence == "" {
		if len(r.native.Columns) != 1 {
			return nil, r.fail(nil, ErrNoOwn, "%d columns share the source", len(r.native.Columns))
		}
		own, worked, err := catalog.own(ctx, r.native.Columns[0])
		switch {
		case err != nil:
			return nil, err
		case own == nil || worked:
			return nil, r.fail(nil, ErrNoOwn, "")
		}
		return own, nil
	}
	schema, name, err := splitNative(r.store.dialect, r.native.Sequence)
	if err != nil {
		return nil, r.fail(nil, ErrNoSequence, "%v", err)
	}
	found, err := catalog.find(ctx, schema, name)
	if err == nil && found == nil {
		err = r.fail(nil, ErrNoSequence, "")
	}
	return found, err
}

// check returns what makes a sequence unfit.
func (r *NativeReserver) check(q *nativeSequence, f *nativeFacts) error {
	alter := func(e *Error, what string) error {
		e.SQL = fmt.Sprintf("ALTER SEQUENCE %s %s", q.quoted, what)
		return e
	}
	switch {
	case q.byTurns && (f.increment != 0 || r.native.Block != 1):
		return r.wrongNodes(q, f.increment)
	case f.increment != r.native.Block && !q.byTurns:
		return r.wrongIncrement(q, f.increment)
	case f.cycles:
		return alter(r.fail(q, ErrCycle, ""), catalogOf(r.store).engine.noCycle)
	case f.cached:
		return alter(r.fail(q, ErrUnordered, ""), "CACHE 1")
	}
	return nil
}

// wrongIncrement returns the error of a sequence that does not count by the
// block.
func (r *NativeReserver) wrongIncrement(q *nativeSequence, increment int64) error {
	e := r.fail(q, ErrIncrement, "INCREMENT BY %d, but block: %d", increment, r.native.Block)
	e.SQL = fmt.Sprintf("ALTER SEQUENCE %s INCREMENT BY %d", q.quoted, r.native.Block)
	if increment > 0 {
		e.Detail += fmt.Sprintf("; say block: %d, or give it the block's", increment)
	}
	if increment > r.native.Block {
		// What others hold of the last value ends further up.
		e.SQL += " RESTART WITH <a number above all keys>"
	}
	return e
}

// wrongNodes returns the error of a sequence on a Galera cluster whose nodes give
// out the same values, or of a block there.
func (r *NativeReserver) wrongNodes(q *nativeSequence, increment int64) error {
	e := r.fail(q, ErrNodes, "INCREMENT BY %d and block: %d", increment, r.native.Block)
	if increment != 0 {
		// Nodes that hold values of the former increment give those out still.
		e.SQL = fmt.Sprintf("ALTER SEQUENCE %s INCREMENT BY 0 RESTART WITH <a number above all keys>", q.quoted)
	}
	return e
}

// checkColumn returns an error where a column fills itself from another sequence,
// or belongs to a state in keyfill_sequences.
func (r *NativeReserver) checkColumn(ctx context.Context, q *nativeSequence, c Column) error {
	fail := func(cause error, format string, args ...any) *Error { return r.fail(q, cause, format, args...) }
	// Who has no such table, has no such state.
	b := &binding{state: q.state(), exclusive: r.native.Exclusive, fail: fail}
	if err := (binder{r.states}).checkTaken(ctx, b, c); errors.Is(err, ErrTaken) || errors.Is(err, ErrBegun) {
		return err
	}
	if r.native.Exclusive {
		return nil
	}
	if r.native.Sequence == "" {
		return nil // the column's own, which is nothing else
	}
	own, worked, err := catalogOf(r.store).own(ctx, c)
	switch {
	case err != nil:
		return err
	case worked:
		return r.fail(q, ErrOtherSequence, "%s", c)
	case own != nil && *own != q.nativeName:
		return r.fail(q, ErrOtherSequence, "%s draws from %s", c, own.shown())
	}
	return nil
}

// Bind checks one more column that the keys go to, as opening the sequence
// checks each of Columns.
func (r *NativeReserver) Bind(ctx context.Context, c Column) error {
	q, err := r.open(ctx)
	if err != nil {
		return err
	}
	return r.checkColumn(ctx, q, c)
}
