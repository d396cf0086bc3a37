package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/keyfill/keyfill/internal/anchor"
)

// Errors about a sequence of the engine. All come in an [*Error].
var (
	// ErrNoNative is returned for an engine without sequences.
	ErrNoNative = anchor.New("native", "this engine has no sequences: use kind sequence")

	// ErrNoSequence is returned when there is no such sequence, or it cannot be
	// drawn from.
	ErrNoSequence = anchor.New("native", "the engine has no such sequence that this user may draw from: create it, write its schema before the name, or let it be used")

	// ErrNoOwn is returned when no sequence is named, and the column draws from
	// none by itself.
	ErrNoOwn = anchor.New("native", "the column draws from no sequence by itself: name one in sequence")

	// ErrIncrement is returned when the sequence does not count by the block.
	ErrIncrement = anchor.New("native", "its increment is not the block")

	// ErrNodes is returned on a Galera cluster for a sequence that does not have
	// INCREMENT BY 0, or for blocks of more than one.
	ErrNodes = anchor.New("native", "the nodes of a Galera cluster give out the same values of a sequence unless it has INCREMENT BY 0, and then no blocks: say block: 1 and give it that increment, or take kind sequence")

	// ErrCycle is returned when the sequence begins again after its end.
	ErrCycle = anchor.New("native", "it has CYCLE, which repeats keys")

	// ErrBelowOne is returned when a value was drawn that is no key.
	ErrBelowOne = anchor.New("native", "it counts from below 1, where keys are not")

	// ErrUnordered is returned when the sequence gives each session values in
	// advance.
	ErrUnordered = anchor.New("native", "each session draws values in advance (CACHE), so that they come out of order")

	// ErrOtherSequence is returned when a column draws from another sequence by
	// itself, or changes the value that it draws.
	ErrOtherSequence = anchor.New("native", "the column fills itself in another way: let its default draw from the same sequence and nothing else, remove it, or say exclusive if nobody inserts without a key")

	// ErrScattered is returned when other sessions draw so often that no values
	// in a row are to be had.
	ErrScattered = anchor.New("native", "other sessions draw from it at the same time")

	// ErrNoAdvance is returned when a sequence would have to be set to another
	// value.
	ErrNoAdvance = anchor.New("native", "a sequence of the engine is not moved from here, since that might set it back: stop what draws from it")
)

// open looks at the sequence, once as long as it is fit.
func (r *NativeReserver) open(ctx context.Context) (*nativeSequence, error) {
	if q := r.opened.Load(); q != nil {
		return q, nil
	}
	if catalogOf(r.run).engine == nil {
		return nil, r.fail(nil, ErrNoNative, "")
	}
	name, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := catalogOf(r.run).facts(ctx, *name)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		return nil, r.fail(nil, ErrNoSequence, "")
	}
	q := &nativeSequence{nativeName: *name, max: facts.max}
	if catalogOf(r.run).engine.clusters {
		server, err := r.run.server.after(ctx)
		if err != nil {
			return nil, r.run.failed(name.shown(), err)
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
	catalog := catalogOf(r.run)
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
	schema, name, err := splitNative(r.run.dialect, r.native.Sequence)
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
		return alter(r.fail(q, ErrCycle, ""), catalogOf(r.run).engine.noCycle)
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
	own, worked, err := catalogOf(r.run).own(ctx, c)
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
