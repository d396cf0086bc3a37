package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// ScopeRows are the rows of the parents of a numbering, inside the transaction that
// is open on the connection of the store.
type ScopeRows struct {
	store *Store
	scope *Scope
}

// NewScoped returns the rows of the parents of a numbering. It does no I/O.
func NewScoped(s *Store, q *Scope) *ScopeRows { return &ScopeRows{s, q} }

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
	if err := lockOfRows(s.store).first(ctx); err != nil {
		return got, err
	}
	if !s.store.engine.gaps {
		// Elsewhere an UPDATE of a row that is not there locks what lies beside it.
		if got, err := s.reserveRow(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	stored, err := readRow(ctx, s.store, row.Name)
	switch {
	case err != nil:
		return got, s.store.toldGone(ctx, s.scope.Name, err)
	case stored != nil && stored.next > row.max()-n+1:
		return got, s.scope.exhausted(stored.next)
	case stored != nil:
		// It may have been made since the UPDATE.
		if got, err := s.reserveRow(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	// A row that is there and was not reserved from may have lacked the proof.
	if err := s.store.proof.prove(ctx); err != nil {
		return got, err
	}
	if err := s.create(ctx, row, values, least); err != nil {
		return got, err
	}
	got, err = s.reserveRow(ctx, row, n)
	if got.First == 0 && err == nil {
		if err = s.store.proof.prove(ctx); err == nil {
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
	if s.store.engine.answersID {
		return reserveLockedRow(ctx, s.store, row, n)
	}
	if err := s.store.proof.prepare(ctx); err != nil {
		return got, err
	}
	answer, err := s.store.update(ctx, s.store.engine.reserve, values{Name: row.Name, Count: n, Floor: int64(1), Limit: row.max() - n + 1})
	if err != nil || answer == nil {
		return got, s.store.toldGone(ctx, s.scope.Name, err)
	}
	next, err := toInteger(answer[0])
	if err != nil {
		return got, err
	}
	return keysource.Reservation{First: next - n, Server: rowServer(answer[1], answer[2])}, nil
}

// create makes the row of a parent. Whoever makes it at the same time waits for the
// end of this transaction.
func (s *ScopeRows) create(ctx context.Context, row *Sequence, within []any, least int64) error {
	// The row is locked first, and raised then: what was read before could be old.
	v := values{Name: row.Name, Next: int64(1), Table: "", Column: "", Parameters: scopeParameters}
	create, engine := s.store.engine.create, s.store.engine
	if s.store.proof != nil && engine.proof.create.text != "" {
		create = engine.proof.create
	}
	if _, err := s.store.conn.exec(ctx, create.text, create.bind(v)); err != nil {
		return s.store.toldGone(ctx, s.scope.Name, err)
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
	v := values{Name: row.Name, Next: next}
	_, err := s.store.conn.exec(ctx, s.store.engine.advance.text, s.store.engine.advance.bind(v))
	return err
}

// greatest returns the greatest key of a parent, as the store sees it, with what its
// transaction has stored, or as it was committed last. Where the answer itself says that it
// is of all rows that are committed, nobody else is asked: a connection more could wait for
// this transaction.
func (s *ScopeRows) greatest(ctx context.Context, within []any) (int64, error) {
	columns, k := s.scope.Within, ColumnOf(s.store, s.scope.Column)
	greatest, err := k.maxKeyWithin(ctx, columns, "", within)
	if err == nil && s.scope.Start == 0 && k.hidden {
		err = s.guarded(ctx, k.table())
	}
	if err != nil || s.scope.Latest == nil || k.current && !k.hidden {
		return greatest, err
	}
	limited, cancel := context.WithTimeout(ctx, latestLimit)
	defer cancel()
	latest, err := ColumnOf(s.scope.Latest, s.scope.Column).maxKeyWithin(limited, columns, s.store.engine.past, within)
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

// guarded returns [ErrHiddenParent] where no unique index keeps a number of a parent from
// being stored twice. Where one does, rows that are hidden do no harm.
func (s *ScopeRows) guarded(ctx context.Context, table string) error {
	key := nameLiteral(s.scope.Column.Name)
	columns := key
	for _, c := range s.scope.Within {
		columns += ", " + nameLiteral(c)
	}
	row, err := s.store.conn.query(ctx, fmt.Sprintf(guarding, nameLiteral(table), columns, key), nil)
	if err != nil {
		return err
	}
	if n, err := toInteger(row[0]); n > 0 || err != nil {
		return err
	}
	return s.store.failed(s.scope.Name, &refusal{ErrHiddenParent, errors.New(table)})
}
