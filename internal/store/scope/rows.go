package scope

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Rows are the rows of the parents of a numbering, inside the transaction that
// is open on the connection of the store.
type Rows struct {
	store *store.Store
	scope *Scope
}

// New returns the rows of the parents of a numbering. It does no I/O.
func New(s *store.Store, q *Scope) *Rows { return &Rows{s, q} }

// latestLimit bounds the time in which the other view has to answer: it may wait for a
// session that waits for the transaction.
const latestLimit = 5 * time.Second

// Reserve reserves n ≥ 1 consecutive numbers of a parent and returns the first, inside
// the transaction that is open on the connection of the store: the parent's row is locked
// until that ends, and a rollback undoes the reservation. values are as for
// [Scope.RowFor]. Statements that need several parents ask in the order of the names of
// their rows, so that none waits for another that waits for it.
//
// A parent without a row gets one: it goes on above the greatest number in the
// table, which is asked for when the row is locked, so that where two
// transactions of one parent are the first, the second sees the rows that the
// first has stored.
//
// It returns keysource.ErrExhausted in an [*store.Error] of the state's name: the values
// are in no error of this package. Errors of the connection are the driver's.
func (s *Rows) Reserve(ctx context.Context, values []any, n int64) (int64, error) {
	got, err := s.ReserveRow(ctx, values, n, 0)
	return got.First, err
}

// ReserveRow is Reserve. A row that it makes for a parent with numbers in the table
// begins at least or above. The Server that it returns identifies only the row, which a
// later row of the same name does not share.
func (s *Rows) ReserveRow(ctx context.Context, values []any, n, least int64) (got keysource.Reservation, err error) {
	if n < 1 {
		return got, keysource.ErrCount
	}
	row := s.row(values)
	if err := store.LockOfRows(s.store).TakeFirst(ctx); err != nil {
		return got, err
	}
	if !s.store.Engine.Locks.LocksGaps {
		// Elsewhere an UPDATE of a row that is not there locks what lies beside it.
		if got, err := s.takeFrom(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	stored, err := staterow.Read(ctx, s.store, row.Name)
	switch {
	case err != nil:
		return got, s.store.ToldGone(ctx, s.scope.Name, err)
	case stored != nil && stored.Next > row.Greatest()-n+1:
		return got, s.scope.exhausted(stored.Next)
	case stored != nil:
		// It may have been made since the UPDATE.
		if got, err := s.takeFrom(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	// A row that is there and was not reserved from may have lacked the proof.
	if err := s.store.Proof.Prove(ctx); err != nil {
		return got, err
	}
	if err := s.create(ctx, row, values, least); err != nil {
		return got, err
	}
	got, err = s.takeFrom(ctx, row, n)
	if got.First == 0 && err == nil {
		if err = s.store.Proof.Prove(ctx); err == nil {
			err = s.scope.exhausted(0)
		}
	}
	return got, err
}

// Raise raises the row of a parent to next or above, after it was reserved from.
func (s *Rows) Raise(ctx context.Context, values []any, next int64) error {
	return s.advance(ctx, s.row(values), next)
}

// Greatest returns the greatest number of a parent in the table, 0 for none.
func (s *Rows) Greatest(ctx context.Context, values []any) (int64, error) {
	return s.greatest(ctx, values)
}

// ReserveAbove is Reserve for a parent in which a number was found in use. It compares
// the reserved numbers with the greatest number of the parent; behind reports that they
// were not above it. The remedy decides what happens then: with keysource.RemedyAdvance
// the numbers come from above the greatest one, with keysource.RemedyWarn they stay as
// they are, and else the error is keysource.ErrStoreBehind in an [*store.Error] of the
// state's name.
func (s *Rows) ReserveAbove(ctx context.Context, values []any, n int64, remedy keysource.Remedy) (first int64, behind bool, err error) {
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
	if greatest >= row.Greatest() {
		return 0, true, s.scope.exhausted(0)
	}
	if err = s.advance(ctx, row, greatest+1); err == nil {
		first, err = s.Reserve(ctx, values, n)
	}
	return first, true, err
}

// row returns the row of a parent.
func (s *Rows) row(values []any) *sequence.Sequence {
	return &sequence.Sequence{Name: s.scope.RowFor(values), Columns: []store.Column{s.scope.Column}, Bounds: sequence.Bounds{Max: s.scope.Max}}
}

// takeFrom takes n integers of a row; First is 0 where there is no row, or
// they are not left.
func (s *Rows) takeFrom(ctx context.Context, row *sequence.Sequence, n int64) (got keysource.Reservation, err error) {
	if s.store.Engine.Rows.ReturnsLastInsertID {
		return sequence.TakeInTransaction(ctx, s.store, row, n)
	}
	if err := s.store.Proof.Prepare(ctx); err != nil {
		return got, err
	}
	answer, err := s.store.Update(ctx, s.store.Engine.Rows.Reserve, engine.Values{Name: row.Name, Count: n, Floor: int64(1), Limit: row.Greatest() - n + 1})
	if err != nil || answer == nil {
		return got, s.store.ToldGone(ctx, s.scope.Name, err)
	}
	next, err := store.Integer(answer[0])
	if err != nil {
		return got, err
	}
	return keysource.Reservation{First: next - n, Server: staterow.Server(answer[1], answer[2])}, nil
}

// create makes the row of a parent. Another transaction that makes it at the same time
// waits until this one has ended.
func (s *Rows) create(ctx context.Context, row *sequence.Sequence, within []any, least int64) error {
	// The row is locked first, and raised then: a value that was read before could be
	// old.
	v := engine.Values{Name: row.Name, Next: int64(1), Table: "", Column: "", Parameters: ParentParameters}
	create, engine := s.store.Engine.Rows.Create, s.store.Engine
	if s.store.Proof != nil && engine.Proof.Create.Text != "" {
		create = engine.Proof.Create
	}
	if _, err := s.store.Conn.Exec(ctx, create.Text, create.Bind(v)); err != nil {
		return s.store.ToldGone(ctx, s.scope.Name, err)
	}
	greatest, err := s.greatest(ctx, within)
	if err != nil {
		return err
	}
	if greatest >= row.Greatest() {
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
func (s *Rows) advance(ctx context.Context, row *sequence.Sequence, next int64) error {
	v := engine.Values{Name: row.Name, Next: next}
	_, err := s.store.Conn.Exec(ctx, s.store.Engine.Rows.Advance.Text, s.store.Engine.Rows.Advance.Bind(v))
	return err
}

// greatest returns the greatest key of a parent, including the transaction's own rows
// where the store sees them, or the rows that were committed last. If the answer itself
// covers all rows that are committed, the other view is not asked: one more connection
// could wait for this transaction.
func (s *Rows) greatest(ctx context.Context, within []any) (int64, error) {
	columns, k := s.scope.Within, keycolumn.Of(s.store, s.scope.Column)
	greatest, err := k.MaxKeyWithin(ctx, columns, "", within)
	if err == nil && s.scope.Start == 0 && k.Hidden {
		err = s.guarded(ctx, k.Table())
	}
	if err != nil || s.scope.Latest == nil || k.Current && !k.Hidden {
		return greatest, err
	}
	limited, cancel := context.WithTimeout(ctx, latestLimit)
	defer cancel()
	latest, err := keycolumn.Of(s.scope.Latest, s.scope.Column).MaxKeyWithin(limited, columns, s.store.Engine.Locks.SkipLocked, within)
	switch {
	case err == nil:
		return max(greatest, latest), nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	}
	return 0, fmt.Errorf("%w: %s cannot be read: %v", keysource.ErrStoreDown, s.scope.Column, err)
}

// guarding asks whether a table has a unique index of the key and columns that it is numbered
// within, and of nothing else.
const guarding = `SELECT COUNT(*) FROM pg_catalog.pg_index i
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
AND NOT EXISTS (SELECT 1 FROM pg_catalog.generate_series(0, i.indnkeyatts - 1) p
	LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[p]
	WHERE a.attname IS NULL OR a.attname NOT IN (%s))
AND EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND a.attname = %s)`

// guarded returns [store.ErrHiddenParent] where no unique index keeps a number of a parent from
// being stored twice. Where one does, rows that are hidden do no harm.
func (s *Rows) guarded(ctx context.Context, table string) error {
	key := store.NameLiteral(s.scope.Column.Name)
	columns := key
	for _, c := range s.scope.Within {
		columns += ", " + store.NameLiteral(c)
	}
	row, err := s.store.Conn.Query(ctx, fmt.Sprintf(guarding, store.NameLiteral(table), columns, key), nil)
	if err != nil {
		return err
	}
	if n, err := store.Integer(row[0]); n > 0 || err != nil {
		return err
	}
	return s.store.Failed(s.scope.Name, &store.Refused{Meaning: store.ErrHiddenParent, Err: errors.New(table)})
}
