// Package native draws values from a sequence of the engine (made by CREATE SEQUENCE),
// for a [counting.Sequence]. It first checks the sequence: its increment, its end, its
// cache, and whether something else fills the columns.
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

// Sequence names a sequence of the engine (made by CREATE SEQUENCE), with its expected
// properties. The engines with sequences are PostgreSQL, MariaDB (10.3 and later), SQL
// Server and Oracle.
//
// The sequence counts by Block: it has INCREMENT BY Block, and a program that draws the
// value v owns the integers v to v+Block−1. So several programs may draw from one sequence,
// provided that each of them counts up from v, and none counts down to v: Hibernate calls
// counting up the optimizer pooled-lo, and counting down the optimizer pooled.
type Sequence struct {
	// Sequence is the name of the sequence as it is written in SQL, with or without a
	// schema. If it is empty, the sequence is the one from which the column's default
	// draws, as with serial, identity and DEFAULT nextval.
	Sequence string

	// Columns are the columns that the keys go to, as in [sequence.Sequence]. There must
	// be exactly one if Sequence is empty.
	Columns []store.Column

	// Block is how many integers a value stands for; zero means 1.
	Block int64

	// Exclusive reports that no program inserts rows without a key, so that the defaults
	// of the columns do not matter.
	Exclusive bool
}

// Reserver draws from a sequence of the engine, for a [counting.Sequence] with the
// same Block. It checks the sequence when it is first used, and again after an error.
// It is safe for concurrent use and must not be copied.
//
// If a setting of the sequence could repeat a key, the first draw returns an
// [*store.Error]: [store.ErrIncrement], [store.ErrNodes], [store.ErrCycle],
// [store.ErrUnordered] or [store.ErrOtherSequence]. A value below 1 is
// [store.ErrBelowOne]. Each draw checks the increment again, so that a changed
// increment stops this process too. Processes that hold values from before the change
// go on using them: after an increment was made smaller, the sequence needs a RESTART
// above all keys.
//
// # Caveats
//
// On a Galera cluster, each node gives out values of its own only if the sequence has
// INCREMENT BY 0: all values of a node leave the same remainder when they are divided
// by auto_increment_increment ("Auto-increment", "CREATE SEQUENCE" in the MariaDB
// documentation). Any other increment is [store.ErrNodes] there, Block has to be 1, and
// the values neither ascend nor follow each other.
//
// On Oracle with several instances the sequence has to be ORDER. Otherwise the values
// of two instances look as if the store had gone back. On Oracle, a draw during an
// ALTER SEQUENCE may also see the increment from before it: stop the programs that draw
// before you change the increment.
//
// On MariaDB 10.11.19 a server was seen to crash when several sessions at once executed
// prepared INSERTs in which a column's default draws from a sequence. INSERTs that
// keyfill fills do not use that default.
//
// A database that goes back (a restored backup, for example) loses the later draws, as
// a [store.Store] does. Only PostgreSQL and SQL Server distinguish a sequence from a
// later one with the same name; on the other engines a new sequence is noticed by its
// lower values.
type Reserver struct {
	store  *store.Store
	states *store.Store // the store by which keyfill's tables are read
	native Sequence
	opened atomic.Pointer[opened]
	once   atomic.Bool // the sequence was opened before
}

// opened is a sequence that was checked and may be used.
type opened struct {
	nativecatalog.Name
	max     int64 // its MAXVALUE
	byTurns bool  // each node of a cluster gives out values of its own
}

// onCluster reports whether a server, as named in keysource.Reservation, is a Galera
// cluster.
func onCluster(server string) bool { return strings.HasPrefix(server, "@"+engine.ClusterServer) }

// byTurns reports whether each node of a cluster gives out values of its own, as the
// drawn value v shows.
func (r *Reserver) byTurns(v value) bool {
	return v.increment == 0 && r.native.Block == 1 && onCluster(v.server)
}

// New returns a Reserver for a sequence of the engine. It does no I/O.
func New(s *store.Store, n Sequence) *Reserver {
	n.Columns = slices.Clone(n.Columns)
	n.Block = max(n.Block, 1)
	return &Reserver{store: s, states: s, native: n}
}

// Within returns a Reserver for the same sequence in the transaction of s, which may have
// changed the sequence. Keyfill's own tables, which may not exist, are still read outside
// of the transaction, since an error would abort it.
func (r *Reserver) Within(s *store.Store) *Reserver {
	other := New(s, r.native)
	other.states = r.states
	return other
}

const (
	// drawTries is how often values are drawn until enough of them follow each other
	// without a gap.
	drawTries = 10

	// drawMore limits how many times more values than needed one query draws, if other
	// sessions draw values in between.
	drawMore = 8

	// drawChunk is the greatest number of values that one query draws.
	drawChunk = 10_000
)

// Reserve draws as many values as n integers need; each value stands for Block
// integers. If other sessions have drawn values in between, it draws again, and the
// values that do not follow each other are gaps.
//
// A value below seen (the lowest value that this process expects) is returned as it is:
// the sequence has gone back. The error is an [*store.Error] with
// [keysource.ErrExhausted] if the sequence ends before n integers, with
// [store.ErrScattered], or with one of the errors in the comment on [Reserver].
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
		r.opened.CompareAndSwap(q, nil) // check the sequence again next time: it may have been repaired
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
		// Limit want and need to what one query draws, so that the products do not
		// overflow.
		want = min(2*min(max(want, need), drawChunk), drawMore*min(need, drawChunk))
	}
	return keysource.Reservation{}, r.fail(q, store.ErrScattered,
		"%d values in a row were not found in %d tries: give it INCREMENT BY %d or more and say the same as block, or insert fewer rows at a time",
		need, drawTries, n)
}

// value is a value that was drawn, with the increment and the server of the draw.
type value struct {
	first, increment int64
	server           string // as in keysource.Reservation
}

// streak is a run of values that follow each other without a gap.
type streak struct {
	first, next int64
	server      string
	values      int64
}

// add adds v to the run, or begins a new run with it.
func (r *streak) add(v value) {
	if r.values == 0 || v.first != r.next || v.server != r.server {
		*r = streak{first: v.first, server: v.server}
	}
	r.values++
	r.next = v.first + min(v.increment, math.MaxInt64-v.first)
}

// draw draws count values and sorts them, since an engine returns them in no certain
// order.
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

// refused returns the error of a query that could not draw values.
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

// Advance always returns an error, an [*store.Error]: the statements that set a
// sequence could set it back, below the values that other sessions have drawn
// meanwhile.
func (r *Reserver) Advance(ctx context.Context, _ int64) error {
	q, err := r.open(ctx)
	if err != nil {
		return err
	}
	e := r.fail(q, store.ErrNoAdvance, "")
	e.SQL = fmt.Sprintf("ALTER SEQUENCE %s RESTART WITH <a number above all keys>", q.Quoted)
	return e
}

// State returns the [binding.Claim].State of the sequence, which is the same for all
// ways to write its name.
func (r *Reserver) State(ctx context.Context) (string, error) {
	q, err := r.open(ctx)
	if err != nil {
		return "", err
	}
	return q.State(), nil
}

// MaxKey returns the greatest key in the columns, for [counting.SequenceOptions]. It
// is 0 if there is none, or if the greatest key of no column can be queried.
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

// exhausted returns the error of a sequence that has reached its MAXVALUE.
func (r *Reserver) exhausted(q *opened) *store.Error {
	return r.fail(q, keysource.ErrExhausted, "its MAXVALUE is %d: give it a greater one and a wider column, or take another source", q.max)
}

// fail returns an Error about the sequence. q is the opened sequence, or nil if it is
// not open.
func (r *Reserver) fail(q *opened, cause error, format string, args ...any) *store.Error {
	name := r.native.Sequence
	if q != nil {
		name = q.Shown()
	}
	return &store.Error{Name: name, Columns: r.native.Columns, Err: cause, Detail: fmt.Sprintf(format, args...)}
}
