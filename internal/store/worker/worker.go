// Package worker keeps the time marks of snowflake workers (until when each worker has
// reserved the time for its keys) in keyfill_workers, for a [counting.Snowflake].
package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Worker names one worker number of a snowflake source: a row of keyfill_workers.
type Worker struct {
	Name   string // the name of the source's stored counter: 1 to 190 characters
	Number int64
	Owner  string // the process that raises the mark, for people; at most 190 characters

	// Columns are the columns that get the keys. A [Marker] binds the stored counter to
	// them by rows of keyfill_sequences, as a shared [sequence.Sequence] is bound.
	Columns []store.Column

	// Parameters describe the bits of a key. They are stored in the binding row of each
	// column. If that row has other parameters, [store.ErrLayout] is returned, since keys
	// of two layouts can be equal.
	Parameters string

	// Exclusive reports that no other source fills the columns, as in a
	// [sequence.Sequence].
	Exclusive bool

	OfValue bool // as in a [binding.Binding]

	EnsureSchema bool // a [Marker] creates missing tables

	// Past is shared by all Markers of the stored counter in this process; nil if there is
	// only one.
	Past *Past
}

// Past records whether other processes may have used a stored counter of snowflakes before
// this one. The zero value knows nothing. It is safe for concurrent use.
type Past struct {
	bound atomic.Bool // this process has bound the stored counter to a column
	found atomic.Bool
}

// Find records that the application's database had a claim of the stored counter before
// this process wrote one.
func (p *Past) Find() { p.found.Store(true) }

// Found reports whether Find was called.
func (p *Past) Found() bool { return p != nil && p.found.Load() }

// Mark raises the mark of a worker (the end of the time that is reserved for it) to
// until, in milliseconds since 1970. It returns the mark before, 0 if it was never
// raised. A mark is never lowered. As with [sequence.Reserve], the change has committed
// when Mark returns.
//
// The time from before to until belongs to the caller alone, since marks are raised one
// after the other. The caller has no time if before is not below until.
func Mark(ctx context.Context, s *store.Store, w Worker, until int64) (before int64, err error) {
	return mark(ctx, s, w, until, 0)
}

// mark raises a mark as [Mark] does. known is what the caller believes the mark to be,
// 0 if it does not know.
func mark(ctx context.Context, s *store.Store, w Worker, until, known int64) (before int64, err error) {
	if err := store.CheckName(w.Name); err != nil {
		return 0, err
	}
	if utf8.RuneCountInString(w.Owner) > store.MaxName {
		return 0, fmt.Errorf("%w: worker %q has an owner of more than %d characters", keysource.ErrOptions, w.Name, store.MaxName)
	}
	v := engine.Values{Name: w.Name, Worker: w.Number, Owner: w.Owner, Until: until}
	row, err := raise(ctx, s, v, known)
	if err == nil && row == nil {
		_, enrolErr := s.Conn.Exec(ctx, s.Engine.Workers.Enrol.Text, s.Engine.Workers.Enrol.Bind(v))
		if enrolErr != nil && s.Inside {
			return 0, enrolErr
		}
		// If two processes insert the row of one worker at once, Oracle reports a duplicate
		// key to one of them. The row exists then.
		for try := 1; err == nil && row == nil; try++ {
			if row, err = raise(ctx, s, v, 0); row != nil || err != nil {
				break
			}
			if enrolErr != nil || try == staterow.SeenTries || s.Inside || store.Pause(ctx, s.Random, try) != nil {
				err = cmp.Or(enrolErr, staterow.ErrRemoved)
			}
		}
	}
	if err != nil {
		return 0, s.Failed(w.Name, s.Judge(ctx, store.ErrTables, err, store.ProbeText(engine.WorkersTable), nil))
	}
	if before, err = store.Integer(row[0]); err != nil {
		return 0, s.Failed(w.Name, err)
	}
	return before, nil
}

// raise raises a mark and returns the value before; nil if there is no row. On an engine
// where a mark is read before it is changed, a known mark is not read first: the change
// succeeds only if the known mark is right.
func raise(ctx context.Context, s *store.Store, v engine.Values, known int64) ([]any, error) {
	if s.Engine.Workers.MarkRead.Text == "" {
		return s.Update(ctx, s.Engine.Workers.Mark, v)
	}
	if 0 < known && known < v.Until.(int64) {
		if row, err := raiseFrom(ctx, s, v, known); row != nil || err != nil {
			return row, err
		}
	}
	read := s.Engine.Workers.MarkRead
	if s.Inside {
		read.Text += s.Engine.Words.LockEnd
	}
	for try := range store.SwapTries {
		if try > 0 {
			if err := store.Pause(ctx, s.Random, try); err != nil {
				return nil, err
			}
		}
		row, err := s.Conn.Query(ctx, read.Text, read.Bind(v))
		if err != nil || row == nil {
			return nil, err
		}
		before, err := store.Integer(row[0])
		if err != nil || before >= v.Until.(int64) {
			return row, err // nothing has to be raised, and no time is reserved
		}
		if row, err := raiseFrom(ctx, s, v, before); row != nil || err != nil {
			return row, err
		}
	}
	return nil, store.ErrContention
}

// raiseFrom raises the mark if its value is the argument before, and returns that value; it
// returns nil if the mark has another value.
func raiseFrom(ctx context.Context, s *store.Store, v engine.Values, before int64) ([]any, error) {
	v.Old = before
	changed, err := s.Conn.Exec(ctx, s.Engine.Workers.Mark.Text, s.Engine.Workers.Mark.Bind(v))
	switch {
	case err != nil || changed == 0:
		return nil, err
	case changed > 1:
		return nil, store.ErrRows
	}
	return []any{before}, nil
}

// Marker raises the mark of one worker, for a [counting.Snowflake]. It is safe for
// concurrent use and must not be copied.
type Marker struct {
	store  *store.Store
	worker Worker
	opened atomic.Bool
	known  atomic.Int64 // the mark after the last call; 0 if it is not known
}

var _ keysource.Marker = (*Marker)(nil)

// New returns the Marker of a worker. It does no I/O.
func New(s *store.Store, w Worker) *Marker {
	w.Past = cmp.Or(w.Past, new(Past))
	return &Marker{store: s, worker: w}
}

// Mark raises the mark as the function [Mark] does. Before the first mark it checks the
// tables and binds the stored counter to its columns; it returns [store.ErrTaken] if
// another stored counter has a column.
//
// If the mark was never raised although other processes have used the stored counter, the
// first call returns until: the row may have been deleted, and a process that runs may
// have reserved as far ahead of the clock as this one.
func (m *Marker) Mark(ctx context.Context, until int64) (before int64, err error) {
	if err := m.open(ctx); err != nil {
		return 0, err
	}
	first := m.known.Load() == 0
	if before, err = m.mark(ctx, until); err == nil || !m.lost(ctx, err) {
		if first && err == nil && before == 0 {
			return m.afterOthers(ctx, until)
		}
		return before, err
	}
	// The table of marks is made again. The mark in it is below the mark that the source
	// knows, so the source gives up all time that other processes may have reserved.
	if err := m.open(ctx); err != nil {
		return 0, err
	}
	return m.mark(ctx, until)
}

// afterOthers returns until if other processes have used the stored counter before, else 0.
func (m *Marker) afterOthers(ctx context.Context, until int64) (before int64, err error) {
	if m.worker.Past.Found() || len(m.worker.Columns) > 0 && !m.worker.Past.bound.Load() {
		return until, nil
	}
	claims, err := binding.ClaimsOf(ctx, m.store, State(m.worker.Name))
	if slices.ContainsFunc(claims, func(c binding.StoredClaim) bool { return !slices.ContainsFunc(m.worker.Columns, c.IsOf) }) {
		return until, nil
	}
	return 0, err
}

// mark raises the mark, and remembers its new value.
func (m *Marker) mark(ctx context.Context, until int64) (before int64, err error) {
	if before, err = mark(ctx, m.store, m.worker, until, m.known.Load()); err == nil {
		m.known.Store(max(before, until))
	}
	return before, err
}

// lost reports whether an error means that the table of marks is missing, and the table
// may be made again. The next [Marker.open] makes it.
func (m *Marker) lost(ctx context.Context, err error) bool {
	if !m.worker.EnsureSchema || ctx.Err() != nil || sqlcode.ClassOf(m.store.Dialect, err) != dialect.ErrorNoObject {
		return false
	}
	m.opened.Store(false)
	return true
}

// Bind binds the worker's stored counter to one more column, as
// [reserver.Reserver.Bind] does.
func (m *Marker) Bind(ctx context.Context, c store.Column) error {
	if err := m.open(ctx); err != nil {
		return err
	}
	w := m.worker
	w.Columns = []store.Column{c}
	made, err := binding.Binder{Store: m.store}.Bind(ctx, w.binding())
	if made {
		w.Past.bound.Store(true)
	}
	return err
}

// open checks and binds the stored counter, once for a Marker. Several goroutines may
// call it at the same time.
func (m *Marker) open(ctx context.Context) error {
	if m.opened.Load() {
		return nil
	}
	if err := store.CheckName(m.worker.Name); err != nil {
		return err
	}
	if m.worker.EnsureSchema {
		if err := schema.Of(m.store).Ensure(ctx); err != nil {
			return err
		}
	} else if err := m.store.Probe(ctx, engine.WorkersTable); err != nil {
		return m.store.Failed(m.worker.Name, m.store.Judge(ctx, store.ErrTables, err, store.ProbeText(engine.WorkersTable), nil))
	}
	made, err := binding.Binder{Store: m.store}.Bind(ctx, m.worker.binding())
	if err != nil {
		return err
	}
	if made {
		m.worker.Past.bound.Store(true)
	}
	m.opened.Store(true)
	return nil
}

// State returns the [binding.Claim].State of a snowflake source, which all its worker
// numbers share.
func State(name string) string { return name + " (workers)" }

// binding returns the binding of the stored counter to its columns. All worker numbers
// of a source share it. A sequence with the same name is another stored counter.
func (w *Worker) binding() *binding.Binding {
	b := &binding.Binding{State: State(w.Name), Columns: w.Columns, Exclusive: w.Exclusive, OfValue: w.OfValue, Parameters: binding.Parameters, Fail: w.fail}
	if w.Parameters != "" {
		b.Parameters += ": " + w.Parameters
	}
	return b
}

// fail returns an Error about a worker's stored counter.
func (w *Worker) fail(cause error, format string, args ...any) *store.Error {
	return &store.Error{Name: w.Name, Columns: w.Columns, Err: cause, Detail: fmt.Sprintf(format, args...), Workers: true}
}

// Look returns the error that a [Marker] would return before its first mark: another
// stored counter has a column of the worker, or the tables do not exist.
func (w *Worker) Look(ctx context.Context, s *store.Store) error {
	if err := store.CheckName(w.Name); err != nil {
		return err
	}
	for _, table := range []string{engine.WorkersTable, engine.SequencesTable} {
		err := s.Probe(ctx, table)
		if err != nil && w.EnsureSchema && s.IsMissing(err) {
			return nil
		}
		if err != nil {
			return s.Failed(w.Name, s.Judge(ctx, store.ErrTables, err, store.ProbeText(table), nil))
		}
	}
	return binding.Binder{Store: s}.CheckAll(ctx, w.binding())
}
