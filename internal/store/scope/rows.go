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

// Rows reserves numbers from the rows of the parents of a numbering (such as the orders
// whose lines are numbered), inside the transaction that is open on the store's
// connection.
type Rows struct {
	store *store.Store
	scope *Scope
}

// New returns the Rows of a numbering. It does no I/O.
func New(s *store.Store, q *Scope) *Rows { return &Rows{s, q} }

// latestLimit bounds how long a query on Scope.Latest may take: it may wait for a
// session that itself waits for this transaction.
const latestLimit = 5 * time.Second

// Reserve reserves n ≥ 1 consecutive numbers of a parent and returns the first, inside
// the transaction that is open on the store's connection: the parent's row is locked
// until the transaction ends, and a rollback undoes the reservation. values are as for
// [Scope.RowFor]. A statement that needs several parents must reserve in the order of
// the names of their rows, so that no two transactions wait for each other.
//
// A parent without a row gets one, which begins above the greatest number in the table.
// That number is queried after the row was locked: if two transactions are the first of
// one parent, the second one sees the rows that the first one has stored.
//
// It returns keysource.ErrExhausted in an [*store.Error] with the name of the stored
// counter, since no error of this package contains the values. Errors of the connection
// are the driver's.
func (s *Rows) Reserve(ctx context.Context, values []any, n int64) (int64, error) {
	got, err := s.ReserveRow(ctx, values, n, 0)
	return got.First, err
}

// ReserveRow reserves as Reserve does. If it makes a row for a parent (such as an order)
// that has numbers in the table, the row begins at least or above. The Server that it
// returns identifies only the row: a later row of the same name has another Server.
func (s *Rows) ReserveRow(ctx context.Context, values []any, n, least int64) (got keysource.Reservation, err error) {
	if n < 1 {
		return got, keysource.ErrCount
	}
	row := s.row(values)
	if err := store.LockOfRows(s.store).TakeFirst(ctx); err != nil {
		return got, err
	}
	if !s.store.Engine.Locks.LocksGaps {
		// On an engine with gap locks, an UPDATE of a row that does not exist would lock the
		// gap beside it.
		if got, err := s.takeFrom(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	stored, err := staterow.ReadOf(ctx, s.store, row.Name, s.scope.Name)
	switch {
	case err != nil:
		return got, s.store.ToldGone(ctx, s.scope.Name, err)
	case stored != nil && stored.Next > row.Greatest()-n+1:
		return got, s.scope.exhausted(stored.Next)
	case stored != nil:
		// Another transaction may have made the row since the UPDATE.
		if got, err := s.takeFrom(ctx, row, n); got.First > 0 || err != nil {
			return got, err
		}
	}
	// If the row exists but nothing was reserved, the proof that the transaction is open
	// may have failed.
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

// Raise raises the next number of a parent (such as an order) to next or above. The
// transaction must have reserved from the parent's row before.
func (s *Rows) Raise(ctx context.Context, values []any, next int64) error {
	return s.advance(ctx, s.row(values), next)
}

// Back returns the error of a parent (such as an order) whose next number is below a number
// that was committed. Its statement names no parent, since the text has no values: it lets
// all parents begin above their rows, and above what the process that has the error knows.
// Numbers by period have none: without its row, a closed period would be open again.
func (s *Rows) Back() error {
	q := s.scope
	state := sequence.Sequence{Name: q.Name, Columns: []store.Column{q.Column}}
	e := state.Fail(store.ErrBack, "a parent's next number is below one that was committed: raise its row, say on_store_rollback: advance, or begin above the rows")
	if q.Periods == nil && q.namesInFull() {
		e.SQL = fmt.Sprintf("DELETE FROM keyfill_sequences WHERE parameters = '%s' AND name >= %s AND name < %s",
			ParentParameters, s.store.Literal(q.Name+"["), s.store.Literal(q.Name+`\`))
	}
	return e
}

// ReserveAbove reserves as Reserve does, for a parent (such as an order) in which a
// number was found in use. It compares the reserved numbers with the greatest number of
// the parent; behind reports that they were not above it. The remedy decides what
// happens then: with keysource.RemedyAdvance the returned numbers are above the
// greatest one, with keysource.RemedyWarn they stay as they are, and otherwise the
// error is keysource.ErrStoreBehind in an [*store.Error] with the name of the stored
// counter.
func (s *Rows) ReserveAbove(ctx context.Context, values []any, n int64, remedy keysource.Remedy) (first int64, behind bool, err error) {
	// Reserving locks the parent's row before the table is read.
	if first, err = s.Reserve(ctx, values, n); err != nil || remedy == keysource.RemedyWarn {
		return first, false, err
	}
	greatest, err := s.Greatest(ctx, values)
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

// row returns the sequence that names the row of a parent (such as an order).
func (s *Rows) row(values []any) *sequence.Sequence {
	return &sequence.Sequence{Name: s.scope.RowFor(values), Columns: []store.Column{s.scope.Column}, Bounds: sequence.Bounds{Max: s.scope.Max}}
}

// takeFrom reserves n integers from a row; First is 0 if the row does not exist or has
// fewer integers left.
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

// create makes the row of a parent (such as an order). Another transaction that makes
// the same row at the same time waits until this one has ended.
func (s *Rows) create(ctx context.Context, row *sequence.Sequence, within []any, least int64) error {
	// The row is made and locked first, and raised afterwards: a greatest number that was
	// read before could be old.
	v := engine.Values{Name: row.Name, Next: int64(1), Table: "", Column: "", Parameters: ParentParameters}
	create, engine := s.store.Engine.Rows.Create, s.store.Engine
	if s.store.Proof != nil && engine.Proof.Create.Text != "" {
		create = engine.Proof.Create
	}
	if _, err := s.store.Conn.Exec(ctx, create.Text, create.Bind(v)); err != nil {
		return s.store.ToldGone(ctx, s.scope.Name, err)
	}
	greatest, err := s.Greatest(ctx, within)
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

// advance raises the row of a parent (such as an order), which the transaction has
// locked before.
func (s *Rows) advance(ctx context.Context, row *sequence.Sequence, next int64) error {
	v := engine.Values{Name: row.Name, Next: next}
	_, err := s.store.Conn.Exec(ctx, s.store.Engine.Rows.Advance.Text, s.store.Engine.Rows.Advance.Bind(v))
	return err
}

// Greatest returns the greatest number of a parent (such as an order) in the table, 0 if it
// has none: the greater one of what this transaction sees and what was committed last. If the first query is known
// to see all committed rows, scope.Latest is not asked: one more connection could wait
// for this transaction.
func (s *Rows) Greatest(ctx context.Context, within []any) (int64, error) {
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

// guarding is a query that counts the unique indexes of a table that consist of the key
// and of columns that it is numbered within, and of nothing else.
const guarding = `SELECT COUNT(*) FROM pg_catalog.pg_index i
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
AND NOT EXISTS (SELECT 1 FROM pg_catalog.generate_series(0, i.indnkeyatts - 1) p
	LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[p]
	WHERE a.attname IS NULL OR a.attname NOT IN (%s))
AND EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND a.attname = %s)`

// guarded returns [store.ErrHiddenParent] if no unique index keeps a number of a parent
// (such as an order) from being stored twice. With such an index, hidden rows do no
// harm.
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
