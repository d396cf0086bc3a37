// Package native draws from a sequence of the engine, as CREATE SEQUENCE makes one, for a
// [keysource.Sequence]. It checks the sequence first: its increment, its end, its cache,
// and other fillings of the columns.
package native

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/nativecatalog"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Sequence names a sequence of the engine, as CREATE SEQUENCE makes one, with its
// expected properties. The engines with sequences are PostgreSQL, MariaDB (10.3 and
// later), SQL Server and Oracle.
//
// The sequence counts by Block: it has INCREMENT BY Block, and a program that draws v
// from it owns v to v+Block−1. So several programs may draw from one, provided that each
// of them counts up from v, and none down to it: what Hibernate calls the optimizer
// pooled-lo, not pooled.
type Sequence struct {
	// Sequence is its name as it is written in SQL, with a schema or without; empty
	// stands for the sequence from which the column's default draws, as with serial,
	// identity and DEFAULT nextval.
	Sequence string

	// Columns are the columns that the keys go to, as in [sequence.Sequence]. Exactly one
	// where Sequence is empty.
	Columns []store.Column

	// Block is how many integers a value stands for; 0 is 1.
	Block int64

	// Exclusive reports that no program inserts without a key, so that the defaults of
	// the columns do not matter.
	Exclusive bool
}

// Reserver draws from a sequence of the engine, for a [keysource.Sequence] with the same
// Block. It looks at the sequence when it is first used, and again after an error. It is
// safe for concurrent use and must not be copied.
//
// A setting that may repeat a key is an [*store.Error] before the first draw:
// [store.ErrIncrement], [store.ErrNodes], [store.ErrCycle], [store.ErrUnordered],
// [store.ErrOtherSequence]. One below 1 is [store.ErrBelowOne]. The increment is looked
// at again with each draw, so that one that is changed meanwhile stops this process too.
// Those that hold values from before the change go on with them: an increment that is
// made smaller needs a RESTART above all keys.
//
// # Caveats
//
// On a Galera cluster each node gives out values of its own only where the sequence
// has INCREMENT BY 0: those that leave the same remainder when they are divided by
// auto_increment_increment ("Auto-increment", "CREATE SEQUENCE" in the MariaDB
// documentation). So any other increment is [store.ErrNodes] there, Block has to be 1,
// and the values neither ascend nor follow each other.
//
// On Oracle with several instances the sequence has to be ORDER. Otherwise the
// values of two instances look as if the store had gone back. There, too, a draw
// that is under way at the moment of an ALTER SEQUENCE may see the increment from
// before it: stop what draws before you change it.
//
// On MariaDB 10.11.19 a server was seen to crash where several sessions execute
// prepared INSERTs at once that draw a column's default from a sequence. Those that
// are filled do not draw it.
//
// A database that goes back loses the later draws, as a [store.Store] does. Only
// PostgreSQL and SQL Server distinguish a sequence from a later one of the same name;
// elsewhere a new one is noticed by its lower values.
type Reserver struct {
	store  *store.Store
	states *store.Store // where keyfill's tables are read
	native Sequence
	opened atomic.Pointer[opened]
	once   atomic.Bool // it was opened before
}

// opened is a sequence that was found fit.
type opened struct {
	nativecatalog.Name
	max     int64 // its MAXVALUE
	byTurns bool  // nodes of a cluster give out values of their own
}

// onCluster reports whether a server, as in keysource.Reservation, is a Galera
// cluster.
func onCluster(server string) bool { return strings.HasPrefix(server, "@"+engine.ClusterServer) }

// byTurns reports whether the nodes of a cluster give out the values of the
// sequence by turns.
func (r *Reserver) byTurns(v value) bool {
	return v.increment == 0 && r.native.Block == 1 && onCluster(v.server)
}

// New returns the way to a sequence of the engine. It does no I/O.
func New(s *store.Store, n Sequence) *Reserver {
	n.Columns = slices.Clone(n.Columns)
	n.Block = max(n.Block, 1)
	return &Reserver{store: s, states: s, native: n}
}

// Within returns the same sequence as the transaction of s finds it, which may have
// changed it. Keyfill's own tables, which may not be there, are read as before: in
// the transaction an error would be its end.
func (r *Reserver) Within(s *store.Store) *Reserver {
	other := New(s, r.native)
	other.states = r.states
	return other
}

const (
	// drawTries is how often values are drawn until enough of them follow
	// each other.
	drawTries = 10

	// drawMore bounds how many times more values than needed are drawn when
	// other sessions take some of those between.
	drawMore = 8

	// drawChunk is how many values one query draws at most.
	drawChunk = 10_000
)

// Reserve draws as many values as n integers need, each of which stands for
// Block of them. Where other sessions have drawn values between, it draws again:
// those that do not follow each other are gaps.
//
// A value below seen is the answer as it is: the sequence has gone back. An
// [*store.Error] is [keysource.ErrExhausted] where the sequence ends before n, or
// [store.ErrScattered], or one of those that the comment on [Reserver] lists.
func (r *Reserver) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if n < 1 {
		return keysource.Reservation{}, keysource.ErrCount
	}
	q, err := r.open(ctx)
	if err != nil {
		return keysource.Reservation{}, err
	}
	got, err := r.drawEnough(ctx, q, n, seen)
	if err != nil {
		r.opened.CompareAndSwap(q, nil) // the mistake may have been mended by then
	}
	return got, err
}

func (r *Reserver) drawEnough(ctx context.Context, q *opened, n, seen int64) (keysource.Reservation, error) {
	block := r.native.Block
	need := (n-1)/block + 1
	want := need
	if q.byTurns {
		want = 1
	}
	var run streak
	for tries := 0; tries < drawTries; {
		drawn := run.values
		values, err := r.draw(ctx, q, min(want, drawChunk))
		if err != nil {
			return keysource.Reservation{}, err
		}
		for _, v := range values {
			switch {
			case v.increment != block && !r.byTurns(v):
				return keysource.Reservation{}, r.wrongIncrement(q, v.increment)
			case onCluster(v.server) && v.increment != 0:
				return keysource.Reservation{}, r.wrongNodes(q, v.increment)
			case v.first < 1:
				return keysource.Reservation{}, r.belowOne(q)
			case v.first > q.max-(block-1):
				return keysource.Reservation{}, r.exhausted(q)
			case r.byTurns(v):
				return keysource.Reservation{First: v.first, N: 1, Server: v.server, Apart: true}, nil
			case v.first < seen:
				return keysource.Reservation{First: v.first, Server: v.server}, nil
			}
			if run.add(v); run.values == need {
				return keysource.Reservation{First: run.first, Server: run.server}, nil
			}
		}
		if run.values == drawn+int64(len(values)) {
			want = need - run.values
			continue
		}
		tries++
		// No more than a query draws: the products of more may not fit.
		want = min(2*min(max(want, need), drawChunk), drawMore*min(need, drawChunk))
	}
	return keysource.Reservation{}, r.fail(q, store.ErrScattered,
		"%d values in a row were not found in %d tries: give it INCREMENT BY %d or more and say the same as block, or insert fewer rows at a time",
		need, drawTries, n)
}

// value is a value that was drawn, and the increment and server of the draw.
type value struct {
	first, increment int64
	server           string // as in keysource.Reservation
}

// streak are values that follow each other.
type streak struct {
	first, next int64
	server      string
	values      int64
}

// add adds a value, or begins anew with it.
func (r *streak) add(v value) {
	if r.values == 0 || v.first != r.next || v.server != r.server {
		*r = streak{first: v.first, server: v.server}
	}
	r.values++
	r.next = v.first + min(v.increment, math.MaxInt64-v.first)
}

// draw draws values, and sorts them: an engine gives them in the order of the
// rows that it happens to make.
func (r *Reserver) draw(ctx context.Context, q *opened, count int64) ([]value, error) {
	e := nativecatalog.Of(r.store).Statements
	query, err := r.store.Server.PutInto(ctx, e.DrawText(q.Quoted, count))
	if err != nil {
		return nil, r.store.Failed(q.Shown(), err)
	}
	rows, err := r.store.Conn.Rows(ctx, query, e.Draw.Bind(nativecatalog.Args{Name: q.Name, Count: count}))
	if err != nil {
		return nil, r.refused(ctx, q, count, err)
	}
	var values []value
	for _, row := range rows {
		first, err := store.Integer(row[0])
		if err != nil {
			return nil, r.store.Failed(q.Shown(), err)
		}
		increment, err := store.Integer(row[1])
		if err != nil {
			return nil, r.store.Failed(q.Shown(), err)
		}
		v := value{first, increment, staterow.Server(row[2], row[3])}
		values = append(values, v)
		for range e.Ranges(count) {
			v.first += min(increment, math.MaxInt64-max(v.first, 0))
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, r.fail(q, store.ErrNoSequence, "")
	}
	slices.SortFunc(values, func(a, b value) int { return cmp.Compare(a.first, b.first) })
	return values, nil
}

// refused returns the error of values that could not be drawn.
func (r *Reserver) refused(ctx context.Context, q *opened, count int64, err error) error {
	if store.IsBroken(err) || ctx.Err() != nil {
		return r.store.Failed(q.Shown(), err)
	}
	facts, factsErr := nativecatalog.Of(r.store).Facts(ctx, q.Name)
	switch {
	case factsErr != nil || facts == nil:
		return r.store.FailedAs(store.ErrNoSequence, q.Shown(), err)
	case facts.EndsWithin(count):
		return r.exhausted(q)
	}
	return r.store.Failed(q.Shown(), &store.Refused{Meaning: store.ErrNoSequence, Err: err})
}

// Advance returns an [*store.Error]: the statements that set a sequence may set it back,
// below the values that other sessions have drawn meanwhile.
func (r *Reserver) Advance(ctx context.Context, _ int64) error {
	q, err := r.open(ctx)
	if err != nil {
		return err
	}
	e := r.fail(q, store.ErrNoAdvance, "")
	e.SQL = fmt.Sprintf("ALTER SEQUENCE %s RESTART WITH <a number above all keys>", q.Quoted)
	return e
}

// State returns the [binding.Claim].State of the sequence, by whatever name it is called.
func (r *Reserver) State(ctx context.Context) (string, error) {
	q, err := r.open(ctx)
	if err != nil {
		return "", err
	}
	return q.State(), nil
}

// MaxKey returns the greatest key in the columns, for
// [keysource.SequenceOptions]; 0 where there is none, or none can be asked for.
func (r *Reserver) MaxKey(ctx context.Context) (int64, error) {
	key, _, err := sequence.ColumnsOf(r.store, &sequence.Sequence{Columns: r.native.Columns}).Greatest(ctx)
	return key, err
}

// belowOne returns the error of a sequence that gives a value below 1.
func (r *Reserver) belowOne(q *opened) *store.Error {
	e := r.fail(q, store.ErrBelowOne, "")
	e.SQL = fmt.Sprintf("ALTER SEQUENCE %s RESTART WITH <a number above all keys, at least 1>", q.Quoted)
	return e
}

// exhausted returns the error of a sequence that has come to its end.
func (r *Reserver) exhausted(q *opened) *store.Error {
	return r.fail(q, keysource.ErrExhausted, "its MAXVALUE is %d: give it a greater one and a wider column, or take another source", q.max)
}

// fail returns an Error about the sequence; q may be nil.
func (r *Reserver) fail(q *opened, cause error, format string, args ...any) *store.Error {
	name := r.native.Sequence
	if q != nil {
		name = q.Shown()
	}
	return &store.Error{Name: name, Columns: r.native.Columns, Err: cause, Detail: fmt.Sprintf(format, args...)}
}
