package store

import (
	"context"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// ScopeRows are the rows of the parents of a numbering, inside the transaction that
// is open on the connection of the store.
type ScopeRows struct {
	run   *runner
	scope *Scope
}

// latestLimit bounds the time in which the other view has to answer: what it waits
// for may wait for the transaction.
const latestLimit = 5 * time.Second

// Reserve reserves n ≥ 1 consecutive numbers of a parent and returns the
// first, inside the transaction that is open on the connection of the store: the
// parent's row is locked until that ends, and what was reserved goes back with it.
// values are as for [Scope.RowFor]. Statements that need several parents ask in
// the order of the names of their rows, so that none waits for another that waits
// for it.
//
// A parent without a row gets one: it goes on above the greatest number in the
// table, which is asked for when the row is locked, so that where two
// transactions of one parent are the first, the second sees the rows that the
// first has stored.
//
// It returns keysource.ErrExhausted in an [*Error] of the state's name: the values
// are in no error of this package. Errors of the connection are the driver's.
func (s *ScopeRows) Reserve(ctx context.Context, values []any, n int64) (int64, error) {
	got, err := s.ReserveRow(ctx, values, n, 0)
	return got.First, err
}

// ReserveRow is Reserve. A row that it makes for a parent with numbers in the table begins
// at least or above. Of the Server it gives what tells the row from another one of its name
// that was made later.
func (s *ScopeRows) ReserveRow(ctx context.Context, values []any, n, least int64) (got keysource.Reservation, err error) {
	if n < 1 {
		return got, keysource.ErrCount
	}
	row := s.row(values)
	if err := lockOfRows(s.run).first(ctx); err != nil {
		return got, err
	}
	if !s.run.engine.gaps {
		// Elsewhere an UPDATE of a row that is not there locks what lies beside it.
		if got, err := s.reserveRow(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	stored, err := stateRows{s.run}.read(ctx, row.Name)
	switch {
	case err != nil:
		return got, s.run.toldGone(ctx, s.scope.Name, err)
	case stored != nil && stored.next > row.max()-n+1:
		return got, s.scope.exhausted(stored.next)
	case stored != nil:
		// It may have been made since the UPDATE.
		if got, err := s.reserveRow(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	// A row that is there and was not reserved from may have lacked the proof.
	if err := s.run.proof.prove(ctx); err != nil {
		return got, err
	}
	if err := s.create(ctx, row, values, least); err != nil {
		return got, err
	}
	got, err = s.reserveRow(ctx, row, n)
	if got.First == 0 && err == nil {
		if err = s.run.proof.prove(ctx); err == nil {
			err = s.scope.exhausted(0)
		}
	}
	return got, err
}

// Raise raises the row of a parent to next or above, after it was reserved from.
func (s *ScopeRows) Raise(ctx context.Context, values []any, next int64) error {
	return s.advance(ctx, s.row(values), next)
}

// Greatest returns the greatest number of a parent in the table, 0 for none.
func (s *ScopeRows) Greatest(ctx context.Context, values []any) (int64, error) {
	return s.greatest(ctx, values)
}

// ReserveAbove is Reserve for a parent in which a number was found in
// use. It compares the reserved numbers with the greatest number of the parent, and
// behind says that they were not above it. The remedy says what happens then: with
// keysource.RemedyAdvance the numbers come from above the greatest one, with
// keysource.RemedyWarn they stay as they are, and else the error is
// keysource.ErrStoreBehind in an [*Error] of the state's name.
func (s *ScopeRows) ReserveAbove(ctx context.Context, values []any, n int64, remedy keysource.Remedy) (first int64, behind bool, err error) {
	// The parent's row is locked by that before the table is read.
	if first, err = s.Reserve(ctx, values, n); err != nil || remedy == keysource.RemedyWarn {
		return first, false, err
	}
	greatest, err := s.greatest(ctx, values)
	switch {
	case err != nil || first > greatest:
		return first, false, err
	case remedy != keysource.RemedyAdvance:
		return 0, true, s.scope.behind()
	}
	row := s.row(values)
	if greatest >= row.max() {
		return 0, true, s.scope.exhausted(0)
	}
	if err = s.advance(ctx, row, greatest+1); err == nil {
		first, err = s.Reserve(ctx, values, n)
	}
	return first, true, err
}

// row returns the row of a parent.
func (s *ScopeRows) row(values []any) *Sequence {
	return &Sequence{Name: s.scope.RowFor(values), Columns: []Column{s.scope.Column}, Max: s.scope.Max}
}

// reserveRow reserves n integers of a row; First is 0 where there is no row, or
// they are not left.
func (s *ScopeRows) reserveRow(ctx context.Context, row *Sequence, n int64) (got keysource.Reservation, err error) {
	if s.run.engine.answersID {
		return s.reserveLocked(ctx, row, n)
	}
	if err := s.run.proof.prepare(ctx); err != nil {
		return got, err
	}
	answer, err := s.run.update(ctx, s.run.engine.reserve, values{pName: row.Name, pCount: n, pFloor: int64(1), pLimit: row.max() - n + 1})
	if err != nil || answer == nil {
		return got, s.run.toldGone(ctx, s.scope.Name, err)
	}
	next, err := toInteger(answer[0])
	if err != nil {
		return got, err
	}
	return keysource.Reservation{First: next - n, Server: serverOf(answer[1], answer[2])}, nil
}

// reserveLocked is reserveRow for an engine whose UPDATE does not answer.
func (s *ScopeRows) reserveLocked(ctx context.Context, row *Sequence, n int64) (got keysource.Reservation, err error) {
	swap := swapper{&sequenceRow{s.run, row, s.run.engine.ownForm()}}
	read, err := swap.lockedText(ctx)
	if err != nil {
		return got, err
	}
	stored, err := swap.readLocked(ctx, s.run.conn, read)
	if err != nil || stored == nil || stored.next > row.max()-n+1 {
		return got, err
	}
	if err := swap.replace(ctx, s.run.conn, stored, stored.next+n); err != nil {
		return got, err
	}
	return keysource.Reservation{First: stored.next, Server: stored.server}, nil
}

// create makes the row of a parent. Whoever makes it at the same time waits for the
// end of this transaction.
func (s *ScopeRows) create(ctx context.Context, row *Sequence, within []any, least int64) error {
	// The row is locked first, and raised then: what was read before could be old.
	v := values{pName: row.Name, pNext: int64(1), pTable: "", pColumn: "", pParameters: scopeParameters}
	create, engine := s.run.engine.create, s.run.engine
	if s.run.proof != nil && engine.proof.create.text != "" {
		create = engine.proof.create
	}
	if _, err := s.run.conn.exec(ctx, create.text, create.bind(v)); err != nil {
		return s.run.toldGone(ctx, s.scope.Name, err)
	}
	greatest, err := s.greatest(ctx, within)
	if err != nil {
		return err
	}
	if greatest >= row.max() {
		return s.scope.exhausted(0)
	}
	start := max(greatest+1, s.scope.Start, 1)
	if greatest > 0 {
		start = max(start, least)
	}
	if start == 1 {
		return nil
	}
	return s.advance(ctx, row, start)
}

// advance raises the row of a parent, which the transaction has locked.
func (s *ScopeRows) advance(ctx context.Context, row *Sequence, next int64) error {
	v := values{pName: row.Name, pNext: next}
	_, err := s.run.conn.exec(ctx, s.run.engine.advance.text, s.run.engine.advance.bind(v))
	return err
}

// greatest returns the greatest key of a parent, as the store sees it, with what its
// transaction has stored, or as it was committed last. Where the answer itself says that it
// is of all rows that are committed, nobody else is asked: a connection more could wait for
// this transaction.
func (s *ScopeRows) greatest(ctx context.Context, within []any) (int64, error) {
	columns, k := s.scope.Within, &KeyColumn{run: s.run, column: s.scope.Column}
	greatest, err := k.maxKeyWithin(ctx, columns, "", within)
	if err == nil && s.scope.Start == 0 && k.hidden {
		err = s.guarded(ctx, k.table())
	}
	if err != nil || s.scope.Latest == nil || k.current && !k.hidden {
		return greatest, err
	}
	limited, cancel := context.WithTimeout(ctx, latestLimit)
	defer cancel()
	latest, err := s.scope.Latest.Column(s.scope.Column).maxKeyWithin(limited, columns, s.run.engine.past, within)
	switch {
	case err == nil:
		return max(greatest, latest), nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	}
	return 0, fmt.Errorf("%w: %s cannot be read: %v", keysource.ErrStoreDown, s.scope.Column, err)
}
