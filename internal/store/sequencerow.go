package store

import (
	"context"
	"errors"
	"math"

	"github.com/keyfill/keyfill/keysource"
)

// sequenceRow is the row of a sequence, in keyfill_sequences or in a key table. It
// reads the row, and says whether integers can be taken from it. How they are taken,
// [singleUpdate], [swapper] and [procedureCall] know.
type sequenceRow struct {
	store *Store
	q     *Sequence

	// form has the statements about a row that is read before it is changed, or is
	// in a key table; nil for others.
	form *rowStatements
}

// newRow returns the row of a sequence. form has its statements, nil for those of the
// engine.
func newRow(r *Store, q *Sequence, form *rowStatements) *sequenceRow {
	return &sequenceRow{r, q, form}
}

// rowOf returns the row of a sequence with its statements. It does not read the row.
func rowOf(ctx context.Context, r *Store, q *Sequence) (*sequenceRow, error) {
	if err := q.checkTable(r.dialect); err != nil {
		return nil, err
	}
	form, err := formOf(ctx, r, q)
	if err != nil {
		return nil, err
	}
	return &sequenceRow{r, q, form}, nil
}

// formOf returns the statements for a sequence whose row is read before it is
// changed, or is in a key table; nil for others.
func formOf(ctx context.Context, r *Store, q *Sequence) (*rowStatements, error) {
	switch {
	case q.Table != nil:
		return keyTableCatalog{r, q}.learn(ctx)
	case q.optimistic(), r.engine.answersID && q.Procedure == "":
		return r.engine.ownForm(), nil
	}
	return nil, nil
}

// limit returns the greatest integer to be reserved.
func (s *sequenceRow) limit() int64 {
	if s.form == nil {
		return s.q.max()
	}
	return min(s.q.max(), s.form.max)
}

// limitOf is limit for a row as it was read.
func (s *sequenceRow) limitOf(row *storedRow) int64 {
	end := endOf(row.incarnation)
	switch {
	case s.q.holdsBlocks():
		return min(s.q.last(), end-1) // the row may have another block than was known
	case end > 0:
		return min(s.limit(), end-1)
	}
	return s.limit()
}

// read returns the row as it is, nil where there is none.
func (s *sequenceRow) read(ctx context.Context) (*storedRow, error) {
	q, r := s.q, s.store
	if s.form == nil {
		return readRow(ctx, r, q.Name)
	}
	query, err := r.server.in(ctx, s.form.read.text)
	if err != nil {
		return nil, r.failed(q.Name, err)
	}
	args := s.form.read.bind(q.rowValues())
	answer, err := r.conn.query(ctx, query, args)
	if errors.Is(err, ErrRows) && q.Table != nil {
		return nil, s.manyRows(err)
	}
	if err != nil {
		return nil, r.failed(q.Name, r.judge(ctx, q.meaning(), err, query, args))
	}
	return s.parse(answer)
}

// readWhole is read, which asks for all columns of a row of keyfill_sequences.
func (s *sequenceRow) readWhole(ctx context.Context) (*storedRow, error) {
	if s.q.Table == nil {
		return readRow(ctx, s.store, s.q.Name)
	}
	return s.read(ctx)
}

// parse returns the row in an answer to the read of a form.
func (s *sequenceRow) parse(answer []any) (*storedRow, error) {
	if answer == nil {
		return nil, nil
	}
	q := s.q
	value, err := toInteger(answer[0])
	if err != nil {
		return nil, q.fail(ErrKeyValue, "its value is not an integer")
	}
	row := &storedRow{value: value, version: answer[1]}
	if q.Table == nil {
		row.version = toText(answer[1])
		row.next, row.server = value, rowServer(answer[1], answer[2])
		row.incarnation = toText(answer[1])
		return row, nil
	}
	if b, ok := answer[1].([]byte); ok {
		row.version = string(b)
	}
	row.server = serverOf("", answer[2])
	if q.Table.Version != "" && row.version == nil {
		return nil, q.fail(ErrKeyValue, "its version is NULL: set it, and let the column be NOT NULL")
	}
	if row.next, err = s.decode(value); err != nil {
		return nil, q.fail(ErrKeyValue, "%v", err)
	}
	if row.next < 1 {
		return nil, q.fail(ErrKeyValue, "its value stands for an integer below 1")
	}
	return row, nil
}

// unfit returns why n integers cannot be taken from a row, which may be nil; nil
// where they can.
func (s *sequenceRow) unfit(ctx context.Context, row *storedRow, n, floor int64) error {
	switch {
	case row == nil:
		greatest, _, err := columnsOf(s.store, s.q).greatest(ctx)
		if err != nil {
			return err
		}
		return s.noRow(ctx, greatest)
	case row.next < floor:
		e := s.q.fail(ErrBack, "")
		e.Next, e.server = row.next, row.server
		return e
	case row.next > s.limitOf(row)-n+1:
		s.q.remember(row)
		return s.exhausted(row.next)
	}
	return nil
}

// noRow returns the error of a sequence that has no row.
func (s *sequenceRow) noRow(ctx context.Context, greatest int64) error {
	if !s.q.Fresh && s.q.Codec == nil {
		if s.q.Start == 0 {
			if err := columnsOf(s.store, s.q).allShown(ctx); err != nil {
				return err // no number may be advised
			}
			if greatest >= s.q.ceiling() {
				return s.exhausted(0)
			}
		}
		e := s.q.fail(ErrNoRow, "")
		var counted int64
		if s.q.Below == 0 {
			var err error
			if counted, err = columnsOf(s.store, s.q).counted(ctx); err != nil {
				return err
			}
		}
		e.SQL = rowText{row: s}.above(ctx, greatest, counted)
		return e
	}
	used, err := columnsOf(s.store, s.q).used(ctx)
	if err != nil {
		return err
	}
	e := s.q.fail(ErrNoRow, "")
	if used {
		e = s.q.fail(ErrFresh, "")
	}
	e.SQL = rowText{row: s}.fresh(used)
	return e
}

// belowOne returns the error of a row whose next value is below 1.
func (s *sequenceRow) belowOne(next int64) *Error {
	e := s.q.fail(ErrNextValue, "it is %d", next)
	if s.q.Table == nil {
		e.SQL = "UPDATE keyfill_sequences SET next_value = <number> WHERE name = " + s.store.literal(s.q.Name)
	}
	return e
}

// exhausted returns the error of a sequence whose next value is too near to its
// limit.
func (s *sequenceRow) exhausted(next int64) *Error {
	limit := s.limit()
	e := s.q.fail(keysource.ErrExhausted, "the limit is %d: make the column wider and raise max_bits, or take another source", limit)
	switch {
	case s.q.end() > 0 && limit == s.q.end()-1 && !s.q.holdsBlocks():
		e = s.q.fail(keysource.ErrExhausted, "%s", EndRemedy)
	case s.q.Below > 0 && limit == s.q.Below-1:
		e = s.q.fail(keysource.ErrExhausted, "the remedy is %s", BelowRemedy)
	}
	e.Next, e.limit = next, limit
	return e
}

// manyRows returns the error of a query for one row. Where the query found several rows,
// the error is an [*Error] of the key table.
func (s *sequenceRow) manyRows(err error) error {
	t := s.q.Table
	switch {
	case t == nil || !errors.Is(err, ErrRows):
		return err
	case t.Key == "":
		return s.q.fail(ErrKeyRows, "leave one, or name the column that tells them apart, and what it holds in this one")
	}
	return s.q.fail(ErrKeyRows, "leave one, and make %s the primary key", t.Key)
}

// unlessOurs is [Store.failed] for an error that may be one of this package, which
// stays as it is. That the table of the row is not there is said on a connection of
// the application too.
func (s *sequenceRow) unlessOurs(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	meaning := s.q.meaning()
	return s.store.failedAs(meaning, s.q.Name, s.store.refuseGone(meaning, err))
}

// replacing returns the arguments that replace a row by one that stands at next.
func (s *sequenceRow) replacing(row *storedRow, next int64) (values, error) {
	value, ok := s.encode(next)
	if !ok {
		return values{}, s.exhausted(row.next)
	}
	v := s.q.rowValues()
	v.Old, v.Version, v.Next = row.value, row.version, value
	return v, nil
}

// encode returns what the table holds while next is the lowest integer that is
// not reserved. It is not ok where the table cannot hold that, or would mean
// another one.
func (s *sequenceRow) encode(next int64) (value int64, ok bool) {
	if s.q.Codec == nil {
		value = next - s.form.offset
		return value, value <= s.form.limit
	}
	value = s.q.Codec.Residue(next)
	back, err := s.q.Codec.NextOf(value)
	return value, value <= s.form.limit && err == nil && back == next
}

// decode is the inverse of encode.
func (s *sequenceRow) decode(value int64) (next int64, err error) {
	if s.q.Codec == nil {
		return min(value, math.MaxInt64-s.form.offset) + s.form.offset, nil
	}
	return s.q.Codec.NextOf(value)
}
