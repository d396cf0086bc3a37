package store

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
)

// Reserve takes n ≥ 1 consecutive integers, of which it returns the first. seen
// is the end of what this process knows to be reserved: the lowest integer that
// it does not know to be, or 0.
//
// When it returns without an error the reservation has committed, or, on a
// store made by [Within], will with the transaction. After any other error but
// an [*Error] it may have, and the integers are lost.
//
// The [*Error] is [ErrNoRow]; [ErrBack] when the row stands below seen; or
// keysource.ErrExhausted when there are not n integers left up to the
// sequence's Max, though fewer may be: those from its Next on.
//
// The server in the answer tells the row from another one of its name that was
// made later or elsewhere, and the server from others that may stand in for it:
//
//	PostgreSQL   the system identifier and the timeline, which a standby that
//	             takes over, and a restore to a point in time, change
//	MySQL        @@server_uuid
//	MariaDB      @@server_id, @@hostname and @@port
//	SQL Server   @@SERVERNAME: the replica behind a listener
//	Oracle       DB_UNIQUE_NAME: the primary or a standby
//	SQLite       nothing: there is no server
//
// None of these needs a right, and none changes when a server is started again.
// Where a server has no answer (another kind that speaks PostgreSQL's protocol,
// say), and on a connection of the application, it is the row's part alone.
func (s *Store) Reserve(ctx context.Context, q Sequence, n, seen int64) (keysource.Reservation, error) {
	if n < 1 {
		return keysource.Reservation{}, keysource.ErrCount
	}
	if err := q.checkTable(s.dialect); err != nil {
		return keysource.Reservation{}, err
	}
	f, err := s.form(ctx, &q)
	if err != nil {
		return keysource.Reservation{}, err
	}
	return s.reserveAll(ctx, &q, f, n, seen)
}

// reserveAll is Reserve, with the statements of a form.
func (s *Store) reserveAll(ctx context.Context, q *Sequence, f *rowStatements, n, seen int64) (keysource.Reservation, error) {
	got, err := s.reserve(ctx, q, f, n, seen)
	if err == nil && got.First > q.limitOf(f)-n+1 {
		return keysource.Reservation{}, q.exhausted(f, got.First)
	}
	return got, err
}

// reserve is reserveAll, but that some of the integers which a procedure has
// reserved may be beyond the limit.
func (s *Store) reserve(ctx context.Context, q *Sequence, f *rowStatements, n, seen int64) (keysource.Reservation, error) {
	switch {
	case q.Procedure != "":
		return s.call(ctx, q, f, n)
	case q.optimistic() && !s.inside:
		return s.swap(ctx, q, f, n, seen)
	case f != nil && f.lockless:
		return keysource.Reservation{}, q.fail(ErrKeyEngine, "")
	case q.Codec != nil, s.engine.answersID && !s.ownAnswer():
		return s.swapLocked(ctx, q, f, n, seen)
	}
	return s.move(ctx, q, f, n, seen)
}

// ownAnswer reports whether LAST_INSERT_ID may be read from the answer to a
// statement. The connection has to be our own, so that nobody else reads it, and
// outside of transactions, so that the answer also says that the statement has
// committed.
func (s *Store) ownAnswer() bool { return s.pooled && !s.inside }

// move reserves by one UPDATE.
func (s *Store) move(ctx context.Context, q *Sequence, f *rowStatements, n, seen int64) (keysource.Reservation, error) {
	u, offset, limit := s.engine.reserve, int64(0), q.max()
	if q.Table != nil {
		u, offset, limit = f.reserve, f.offset, q.limitOf(f)
	}
	floor := max(seen, 1)
	v := q.rowValues()
	v[pCount], v[pFloor], v[pLimit] = n, floor-offset, limit-n+1-offset
	if s.engine.answersID && q.Table == nil && q.known == nil {
		if err := s.look(ctx, q, f, n, floor); err != nil {
			return keysource.Reservation{}, err
		}
	}
	for range reserveTries {
		if err := s.prepareProof(ctx); err != nil {
			return keysource.Reservation{}, err
		}
		row, err := s.updateKnown(ctx, q, u, v)
		if err != nil {
			return keysource.Reservation{}, s.unlessOurs(q, q.manyRows(err))
		}
		if row != nil {
			return s.moved(ctx, q, row, offset, n, floor)
		}
		if err := s.look(ctx, q, f, n, floor); err != nil {
			return keysource.Reservation{}, err
		}
		// It is another row than was known, or another process has moved it in
		// between: it would fit now. Or the transaction has ended, or has forgotten
		// its mark.
		if s.ongoing != nil {
			s.ongoing.marked = false
		}
	}
	if s.ongoing != nil {
		return keysource.Reservation{}, ErrEnded
	}
	return keysource.Reservation{}, s.failed(q.Name, errors.New("the row was moved each time after it was found unfit"))
}

// look reads the row, and returns why n integers cannot be taken from it.
func (s *Store) look(ctx context.Context, q *Sequence, f *rowStatements, n, floor int64) error {
	stored, err := s.stateOf(ctx, q, f)
	if err == nil {
		err = s.unfit(ctx, q, f, stored, n, floor)
	}
	if err != nil {
		return err
	}
	q.remember(stored)
	return nil
}

// updateKnown is update, for an engine that answers with an integer alone where the
// row's incarnation is known.
func (s *Store) updateKnown(ctx context.Context, q *Sequence, u update, v values) ([]any, error) {
	if !s.engine.answersID {
		return s.update(ctx, u, v)
	}
	incarnation := q.incarnation()
	v[pIncarnation] = incarnation
	next, changed, err := s.conn.execID(ctx, u.text, u.bind(v))
	switch {
	case err != nil || changed == 0:
		return nil, err
	case changed > 1:
		return nil, ErrRows
	case q.Table != nil:
		return []any{next}, nil
	}
	server, err := s.serverAfter(ctx)
	if err != nil {
		return nil, err
	}
	_, server, _ = strings.Cut(server, "@")
	return []any{next, incarnation, server}, nil
}

// moved returns what an UPDATE has reserved, from its answer.
func (s *Store) moved(ctx context.Context, q *Sequence, row []any, offset, n, floor int64) (got keysource.Reservation, err error) {
	value, err := toInteger(row[0])
	if err != nil {
		return got, s.failed(q.Name, err)
	}
	got.First = value + offset - n
	switch {
	case q.Table == nil:
		got.Server = serverOf(row[1], row[2])
	case got.First < floor:
		// The UPDATE has found it at floor or above: something else has changed
		// what was written.
		return keysource.Reservation{}, q.fail(ErrKeyValue, "it does not hold what was written into it")
	case len(row) > 1:
		got.Server = serverOf("", row[1])
	default:
		got.Server, err = s.serverAfter(ctx)
	}
	if err != nil {
		return keysource.Reservation{}, s.failed(q.Name, err)
	}
	return got, nil
}

// reserveTries is how often an UPDATE that finds no row is sent when the row is
// then found fit.
const reserveTries = 3

// noRow returns the error of a sequence that has no row.
func (s *Store) noRow(ctx context.Context, q *Sequence, f *rowStatements, greatest int64) error {
	if !q.Fresh && q.Codec == nil {
		e := q.fail(ErrNoRow, "")
		e.SQL = s.insertText(q, f, greatest)
		return e
	}
	used, err := s.used(ctx, q)
	if err != nil {
		return err
	}
	e := q.fail(ErrNoRow, "")
	if used {
		e = q.fail(ErrFresh, "")
	}
	e.SQL = s.freshText(q, f, used)
	return e
}

// Advance raises the next value of a sequence to next, the lowest integer that
// is not known to be in use. It never lowers it, and does nothing where there
// is no row. As with [Store.Reserve], it has committed when it returns. A
// procedure raises it by reserving.
func (s *Store) Advance(ctx context.Context, q Sequence, next int64) error {
	if err := q.checkTable(s.dialect); err != nil {
		return err
	}
	f, err := s.form(ctx, &q)
	if err != nil {
		return err
	}
	return s.advance(ctx, &q, f, next)
}

// advance is Advance, with the statements of a form.
func (s *Store) advance(ctx context.Context, q *Sequence, f *rowStatements, next int64) error {
	switch {
	case q.Procedure != "":
		return s.advanceByCall(ctx, q, f, next)
	case q.Codec != nil:
		return s.advanceCoded(ctx, q, f, next)
	}
	st, v := s.engine.advance, q.rowValues()
	v[pNext] = next
	if q.Table != nil {
		value, ok := q.encode(f, next)
		if !ok {
			return q.exhausted(f, 0)
		}
		st, v[pNext] = f.advance, value
	}
	if _, err := s.conn.exec(ctx, st.text, st.bind(v)); err != nil {
		return s.failedAs(q.meaning(), q.Name, err)
	}
	return nil
}

// advanceCoded raises a next value that is stored in another form, by reserving
// all integers below it.
func (s *Store) advanceCoded(ctx context.Context, q *Sequence, f *rowStatements, next int64) error {
	row, err := s.state(ctx, q, f)
	if err != nil || row == nil || row.next >= next {
		return err
	}
	_, err = s.reserve(ctx, q, f, next-row.next, 0)
	return err
}

// Reserver is the row of one sequence, for a [keysource.Sequence]. It opens the
// row when it is first used, and anew after it was missing. It is safe for
// concurrent use and must not be copied.
type Reserver struct {
	store    *Store
	sequence Sequence
	whole    bool // never fewer than asked for

	// All reservers that At returns share these.
	opened *atomic.Bool
	once   *atomic.Bool                   // it was opened before
	form   *atomic.Pointer[rowStatements] // nil inside for a row that needs none
}

var _ keysource.Reserver = (*Reserver)(nil)

// Reserver returns the row of a sequence. It does no I/O.
func (s *Store) Reserver(q Sequence) *Reserver {
	if q.Table != nil {
		table := *q.Table
		q.Table = &table
	}
	q.known = new(atomic.Pointer[string])
	return &Reserver{store: s, sequence: q, opened: new(atomic.Bool), once: new(atomic.Bool), form: new(atomic.Pointer[rowStatements])}
}

// At returns the same row as another view of the database finds it: a store of
// [On] or [Within]. What one of them has opened, the others need not.
func (r *Reserver) At(s *Store) *Reserver {
	other := *r
	other.store = s
	return &other
}

// Whole returns a Reserver of the same row that reserves all integers that it
// is asked for, or none. Fewer integers than one statement needs would be lost
// when its transaction commits.
func (r *Reserver) Whole() *Reserver {
	other := *r
	other.whole = true
	return &other
}

// Reserve is [Store.Reserve] with two differences. A row that stands below seen is
// an answer and not an error. Where fewer than n integers are left up to the Max
// of the sequence, or up to the greatest integer of its key table's column,
// Reserve reserves these, and N says how many, except for a Reserver of
// [Reserver.Whole].
func (r *Reserver) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if !r.opened.Load() {
		if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
			return keysource.Reservation{}, err
		}
	}
	again := r.store.pooled
	for asked := n; ; {
		got, err := r.reserve(ctx, n, seen)
		if err != nil && again && r.lost(ctx, err) {
			again = false
			if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
				return keysource.Reservation{}, err
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) {
			if err == nil && n < asked {
				got.N = n
			}
			return got, r.toldApart(ctx, err)
		}
		switch left := e.limit - e.Next + 1; {
		case e.Err == ErrBack && e.Next < 1:
			return keysource.Reservation{}, r.store.belowOne(&r.sequence, e.Next)
		case e.Err == ErrBack:
			return keysource.Reservation{First: e.Next, Server: e.server}, nil
		case e.Err == keysource.ErrExhausted && 0 < left && left < n && !r.whole:
			n = left
			continue
		case e.Err == ErrNoRow && r.opened.CompareAndSwap(true, false) && !r.store.pooled:
			// The transaction that had made it was rolled back, or it was removed.
			if err := r.openAs(ctx, r.resume(n, seen)); err != nil {
				return keysource.Reservation{}, err
			}
			continue
		}
		return got, err
	}
}

// toldApart returns an error of SQLite, which has no number for a table that is gone,
// as what the table says when it is read. On a connection of our own the row is looked
// at again, which tells.
func (r *Reserver) toldApart(ctx context.Context, err error) error {
	if err == nil || r.store.pooled || r.store.dialect.Name != dialect.SQLite().Name || r.sequence.Table != nil || r.sequence.Procedure != "" {
		return err
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return err
	}
	return r.store.failed(r.sequence.Name, r.store.judge(ctx, ErrTables, err, probeText(tables[0]), nil))
}

// lost reports whether a reservation has failed because the row, or the table, that
// had been opened is not there any more, and may be made again. The next call opens
// it anew.
func (r *Reserver) lost(ctx context.Context, err error) bool {
	q := &r.sequence
	if q.foreign() || isBroken(err) || ctx.Err() != nil {
		return false
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		if e.Err != ErrNoRow || !q.Create {
			return false
		}
	case !q.EnsureSchema:
		return false
	default:
		// Another process may have made the table again already.
		code, known := sqlcode.Of(err)
		if known && code.Class(r.store.dialect) != dialect.ErrorNoObject || !known && r.store.probe(ctx, tables[0]) == nil {
			return false
		}
	}
	r.opened.Store(false)
	return true
}

// remadeGap is the size of the gap below a row that is made again, in multiples
// of the number of integers that are asked for. Other processes may still hold
// integers of the row before, and cannot be asked for them.
const remadeGap = 100

// resume returns the sequence as it is opened: a row that was removed, while this
// process had reserved up to seen, is made again above that. On a connection of the
// application the transaction that had made it may have been rolled back instead,
// and nobody has anything of it: a seen of 1 says that nothing was reserved.
func (r *Reserver) resume(n, seen int64) Sequence {
	q := r.sequence
	if r.once.Load() && (seen > 1 || seen > 0 && r.store.pooled) {
		q.least, q.gap = seen, remadeGap*min(n, math.MaxInt32)
	}
	return q
}

// reserve asks once.
func (r *Reserver) reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	switch {
	case n < 1:
		return keysource.Reservation{}, keysource.ErrCount
	case r.whole:
		return r.store.reserveAll(ctx, &r.sequence, r.form.Load(), n, seen)
	}
	return r.store.reserve(ctx, &r.sequence, r.form.Load(), n, seen)
}

// Bind binds a shared sequence to one more column, as opening the sequence
// binds each of its Columns. It returns [ErrTaken] where another state serves
// the column. What is bound already stays so. Within a transaction that is
// undone with it.
func (r *Reserver) Bind(ctx context.Context, c Column) error {
	if err := r.open(ctx); err != nil || !r.sequence.Shared {
		return err
	}
	if r.store.inside {
		if err := r.store.lockRowsFirst(ctx); err != nil {
			return err
		}
	}
	q := r.sequence
	q.Columns = []Column{c}
	if q.foreign() {
		return r.store.checkForeign(ctx, &q)
	}
	_, err := r.store.bind(ctx, q.binding())
	return err
}

// Advance is [Store.Advance].
func (r *Reserver) Advance(ctx context.Context, to int64) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.store.advance(ctx, &r.sequence, r.form.Load(), to)
}

// MaxKey returns the greatest key in the sequence's columns, for
// [keysource.SequenceOptions]; 0 where there is none, or none can be asked for.
func (r *Reserver) MaxKey(ctx context.Context) (int64, error) {
	key, _, err := r.store.greatest(ctx, &r.sequence)
	return key, err
}

// Open does what the first call does before it reserves: it makes sure that the
// row can be used, and makes one where the sequence says so. Inside a transaction
// that sees what was committed when it began, a row that has come since is not
// found; what was opened on another store, before [Reserver.At], is.
func (r *Reserver) Open(ctx context.Context) error { return r.open(ctx) }

// open opens the row once. Several goroutines may call it at the same time.
func (r *Reserver) open(ctx context.Context) error {
	if r.opened.Load() {
		return nil
	}
	return r.openAs(ctx, r.sequence)
}

// openAs is open for the sequence of [Reserver.resume].
func (r *Reserver) openAs(ctx context.Context, q Sequence) error {
	if r.opened.Load() {
		return nil
	}
	o, err := r.store.open(ctx, &q)
	if err != nil {
		return err
	}
	r.form.Store(o.form)
	if o.bound && r.store.inside {
		// What binds it may be rolled back, and nobody would notice: the next
		// one looks again.
		return nil
	}
	r.opened.Store(true)
	r.once.Store(true)
	return nil
}
