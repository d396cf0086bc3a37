package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Errors about a sequence of the engine. All come in an [*Error].
var (
	// ErrNoNative is returned for an engine without sequences.
	ErrNoNative = errors.New("this engine has no sequences: use kind sequence")

	// ErrNoSequence is returned when there is no such sequence, or it cannot be
	// drawn from.
	ErrNoSequence = errors.New("the engine has no such sequence that this user may draw from: create it, write its schema before the name, or let it be used")

	// ErrNoOwn is returned when no sequence is named, and the column draws from
	// none by itself.
	ErrNoOwn = errors.New("the column draws from no sequence by itself: name one in sequence")

	// ErrIncrement is returned when the sequence does not count by the block.
	ErrIncrement = errors.New("its increment is not the block")

	// ErrNodes is returned on a Galera cluster for a sequence that does not have
	// INCREMENT BY 0, or for blocks of more than one.
	ErrNodes = errors.New("the nodes of a Galera cluster give out the same values of a sequence unless it has INCREMENT BY 0, and then no blocks: say block: 1 and give it that increment, or take kind sequence")

	// ErrCycle is returned when the sequence begins again after its end.
	ErrCycle = errors.New("it has CYCLE, which repeats keys")

	// ErrBelowOne is returned when a value was drawn that is no key.
	ErrBelowOne = errors.New("it counts from below 1, where keys are not")

	// ErrUnordered is returned when the sequence gives each session values in
	// advance.
	ErrUnordered = errors.New("each session draws values in advance (CACHE), so that they come out of order")

	// ErrOtherSequence is returned when a column draws from another sequence by
	// itself, or changes the value that it draws.
	ErrOtherSequence = errors.New("the column fills itself in another way: let its default draw from the same sequence and nothing else, remove it, or say exclusive if nobody inserts without a key")

	// ErrScattered is returned when other sessions draw so often that no values
	// in a row are to be had.
	ErrScattered = errors.New("other sessions draw from it at the same time")

	// ErrNoAdvance is returned when a sequence would have to be set to another
	// value.
	ErrNoAdvance = errors.New("a sequence of the engine is not moved from here, since that might set it back: stop what draws from it")
)

// nativeFacts holds the facts about a sequence in the catalog.
type nativeFacts struct {
	increment, max int64
	last           int64 // drawn, or cached; 0 where that is not known
	cycles         bool
	cached         bool // by each session
}

// endsWithin reports whether that many values are more than there are left.
func (f *nativeFacts) endsWithin(count int64) bool {
	// A value below 0 counts as 0, since the difference might not fit an int64.
	left := f.max - max(f.last, 0)
	return f.increment > 0 && left/f.increment < count
}

// open looks at the sequence, once as long as it is fit.
func (r *NativeReserver) open(ctx context.Context) (*nativeSequence, error) {
	if q := r.opened.Load(); q != nil {
		return q, nil
	}
	if r.store.nativeEngine() == nil {
		return nil, r.fail(nil, ErrNoNative, "")
	}
	name, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	facts, err := r.store.nativeFacts(ctx, *name)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		return nil, r.fail(nil, ErrNoSequence, "")
	}
	q := &nativeSequence{nativeName: *name, max: facts.max}
	if r.store.nativeEngine().clusters {
		server, err := r.store.serverAfter(ctx)
		if err != nil {
			return nil, r.store.failed(name.shown(), err)
		}
		q.byTurns = onCluster(server)
	}
	if err := r.check(q, facts); err != nil {
		return nil, err
	}
	for _, c := range r.native.Columns {
		if err := r.checkColumn(ctx, q, c); err != nil {
			return nil, err
		}
	}
	r.opened.Store(q)
	return q, nil
}

// find returns the sequence's name as it is found.
func (r *NativeReserver) find(ctx context.Context) (*nativeName, error) {
	s := r.store
	if r.native.Sequence == "" {
		if len(r.native.Columns) != 1 {
			return nil, r.fail(nil, ErrNoOwn, "%d columns share the source", len(r.native.Columns))
		}
		own, worked, err := s.nativeOwn(ctx, r.native.Columns[0])
		switch {
		case err != nil:
			return nil, err
		case own == nil || worked:
			return nil, r.fail(nil, ErrNoOwn, "")
		}
		return own, nil
	}
	schema, name, err := s.parseNative(r.native.Sequence)
	if err != nil {
		return nil, r.fail(nil, ErrNoSequence, "%v", err)
	}
	found, err := s.findNative(ctx, schema, name)
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
		return alter(r.fail(q, ErrCycle, ""), r.store.nativeEngine().noCycle)
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
	if r.native.Exclusive {
		return nil
	}
	fail := func(cause error, format string, args ...any) *Error { return r.fail(q, cause, format, args...) }
	// Who has no such table, has no such state.
	if err := r.store.checkTaken(ctx, &binding{state: q.state(), fail: fail}, c); errors.Is(err, ErrTaken) {
		return err
	}
	if r.native.Sequence == "" {
		return nil // the column's own, which is nothing else
	}
	own, worked, err := r.store.nativeOwn(ctx, c)
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

// findNative returns the name of a sequence as it is found, nil where there is
// none.
func (s *Store) findNative(ctx context.Context, schema, name string) (*nativeName, error) {
	wanted := s.nativeName(schema, name)
	find := s.nativeEngine().find
	row, err := s.conn.query(ctx, find.text, find.bind(nativeArgs{name: wanted}))
	if err != nil || row == nil {
		return nil, s.failedNative(ctx, name, err, find, nativeArgs{name: wanted})
	}
	found := s.nativeName(toText(row[0]), toText(row[1]))
	return &found, nil
}

// nativeFacts returns what the catalog says of a sequence, nil where it is not
// there any more.
func (s *Store) nativeFacts(ctx context.Context, q nativeName) (*nativeFacts, error) {
	text := s.nativeEngine().facts
	text.text = strings.ReplaceAll(text.text, "{sequence}", q.quoted)
	row, err := s.conn.query(ctx, text.text, text.bind(nativeArgs{name: q}))
	if err != nil || row == nil {
		return nil, s.failedNative(ctx, q.shown(), err, text, nativeArgs{name: q})
	}
	var n [5]int64
	for i := range n {
		if row[i] == nil {
			continue
		}
		if n[i], err = toInteger(row[i]); err != nil {
			return nil, s.failed(q.shown(), err)
		}
	}
	if n[1] <= 0 {
		n[1] = math.MaxInt64
	}
	return &nativeFacts{increment: n[0], max: n[1], cycles: n[2] != 0, cached: n[3] != 0, last: n[4]}, nil
}

// nativeOwn returns the sequence that a column draws from by itself, nil where
// it draws from none. worked says that the column changes the value, or that
// the sequence cannot be told.
func (s *Store) nativeOwn(ctx context.Context, c Column) (own *nativeName, worked bool, err error) {
	e := s.nativeEngine()
	args := nativeArgs{column: c, table: s.quoted(c)}
	row, err := s.conn.query(ctx, e.own.text, e.own.bind(args))
	if err != nil || row == nil {
		return nil, false, s.failedNative(ctx, c.String(), err, e.own, args)
	}
	schema, name, worked := e.reads(s, row)
	if name == "" || worked {
		return nil, worked, nil
	}
	if own, err = s.findNative(ctx, schema, name); err == nil && own == nil {
		worked = true // it cannot be seen
	}
	return own, worked, err
}

// failedNative returns the error of a query about a sequence, nil where there is
// none.
func (s *Store) failedNative(ctx context.Context, name string, err error, text nativeText, args nativeArgs) error {
	if err == nil {
		return nil
	}
	return s.failed(name, s.judge(ctx, ErrNoSequence, err, text.text, text.bind(args)))
}
