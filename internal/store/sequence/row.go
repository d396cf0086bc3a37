package sequence

import (
	"context"
	"errors"
	"math"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/keysource"
)

// Row reads the row of a sequence, in keyfill_sequences or in a key table of the
// application, and decides whether integers can be reserved from it. [singleUpdate],
// [replacement] and [procedureCall] reserve them.
type Row struct {
	store *store.Store
	q     *Sequence

	// Form holds the statements about a row that is read before it is changed, or is in a
	// key table of the application; it is nil for other rows.
	Form *engine.RowStatements
}

// NewRow returns the Row of a sequence. form holds its statements; nil means the
// statements of the engine.
func NewRow(s *store.Store, q *Sequence, form *engine.RowStatements) *Row {
	return &Row{s, q, form}
}

// RowOf returns the Row of a sequence with its statements. It does not read the row.
func RowOf(ctx context.Context, s *store.Store, q *Sequence) (*Row, error) {
	if err := q.checkTable(s.Dialect); err != nil {
		return nil, err
	}
	form, err := StatementsOf(ctx, s, q)
	if err != nil {
		return nil, err
	}
	return &Row{s, q, form}, nil
}

// StatementsOf returns the statements for a sequence whose row is read before it is
// changed, or is in a key table of the application; nil for other sequences.
func StatementsOf(ctx context.Context, s *store.Store, q *Sequence) (*engine.RowStatements, error) {
	switch {
	case q.Table != nil:
		return keyTableCatalog{s, q}.learn(ctx)
	case q.Lock == LockOptimistic, s.Engine.Rows.ReturnsLastInsertID && q.Procedure == "":
		return s.Engine.OwnForm(), nil
	}
	return nil, nil
}

// Limit returns the greatest integer that can be reserved.
func (s *Row) Limit() int64 {
	if s.Form == nil {
		return s.q.Greatest()
	}
	return min(s.q.Greatest(), s.Form.Max)
}

// limitOf returns the greatest integer that can be reserved from a row that was read.
func (s *Row) limitOf(row *staterow.Row) int64 {
	end := staterow.EndOf(row.Incarnation)
	switch {
	case s.q.HoldsBlocks():
		return min(s.q.last(), end-1) // the row may have another block (range of integers) than was known
	case end > 0:
		return min(s.Limit(), end-1)
	}
	return s.Limit()
}

// Read returns the row as it is now, nil if it does not exist.
func (s *Row) Read(ctx context.Context) (*staterow.Row, error) {
	q, r := s.q, s.store
	if s.Form == nil {
		return staterow.Read(ctx, r, q.Name)
	}
	query, err := r.Server.PutInto(ctx, s.Form.Read.Text)
	if err != nil {
		return nil, r.Failed(q.Name, err)
	}
	args := s.Form.Read.Bind(q.rowValues())
	answer, err := r.Conn.Query(ctx, query, args)
	if errors.Is(err, store.ErrRows) && q.Table != nil {
		return nil, s.manyRows(err)
	}
	if err != nil {
		return nil, r.Failed(q.Name, r.Judge(ctx, q.Meaning(), err, query, args))
	}
	return s.parse(answer)
}

// readWhole reads the row as Read does, with all columns if it is a row of
// keyfill_sequences.
func (s *Row) readWhole(ctx context.Context) (*staterow.Row, error) {
	if s.q.Table == nil {
		return staterow.Read(ctx, s.store, s.q.Name)
	}
	return s.Read(ctx)
}

// parse returns the row in an answer to the query Form.Read.
func (s *Row) parse(answer []any) (*staterow.Row, error) {
	if answer == nil {
		return nil, nil
	}
	q := s.q
	value, err := store.Integer(answer[0])
	if err != nil {
		return nil, q.Fail(store.ErrKeyValue, "its value is not an integer")
	}
	row := &staterow.Row{Value: value, Version: answer[1]}
	if q.Table == nil {
		row.Version = store.Text(answer[1])
		row.Next, row.Server = value, staterow.Server(answer[1], answer[2])
		row.Incarnation = store.Text(answer[1])
		return row, nil
	}
	if b, ok := answer[1].([]byte); ok {
		row.Version = string(b)
	}
	row.Server = store.ServerOf("", answer[2])
	if q.Table.Version != "" && row.Version == nil {
		return nil, q.Fail(store.ErrKeyValue, "its version is NULL: set it, and let the column be NOT NULL")
	}
	if row.Next, err = s.decode(value); err != nil {
		return nil, q.Fail(store.ErrKeyValue, "%v", err)
	}
	if row.Next < 1 {
		return nil, q.Fail(store.ErrKeyValue, "its value stands for an integer below 1")
	}
	return row, nil
}

// unfit returns the error for which n integers cannot be reserved from a row, nil if
// they can. row may be nil.
func (s *Row) unfit(ctx context.Context, row *staterow.Row, n, floor int64) error {
	switch {
	case row == nil:
		greatest, _, err := ColumnsOf(s.store, s.q).Greatest(ctx)
		if err != nil {
			return err
		}
		return s.NoRow(ctx, greatest)
	case row.Next < floor:
		e := s.q.Fail(store.ErrBack, "")
		e.Next, e.Server = row.Next, row.Server
		return e
	case row.Next > s.limitOf(row)-n+1:
		s.q.Remember(row)
		return s.Exhausted(row.Next)
	}
	return nil
}

// NoRow returns the error of a sequence that has no row.
func (s *Row) NoRow(ctx context.Context, greatest int64) error {
	if !s.q.Fresh && s.q.Codec == nil {
		if s.q.Made.Start == 0 {
			if err := ColumnsOf(s.store, s.q).AllShown(ctx); err != nil {
				return err // no start can be advised, since keys may be hidden
			}
			if greatest >= s.q.Ceiling() {
				return s.Exhausted(0)
			}
		}
		e := s.q.Fail(store.ErrNoRow, "")
		counted, err := ColumnsOf(s.store, s.q).Counted(ctx)
		if err != nil {
			return err
		}
		e.SQL = RowText{Row: s}.Above(ctx, greatest, counted)
		return e
	}
	used, err := ColumnsOf(s.store, s.q).Used(ctx)
	if err != nil {
		return err
	}
	e := s.q.Fail(store.ErrNoRow, "")
	if used {
		e = s.q.Fail(store.ErrFresh, "")
	}
	e.SQL = RowText{Row: s}.Fresh(used)
	return e
}

// BelowOne returns the error of a row whose next value is below 1.
func (s *Row) BelowOne(next int64) *store.Error {
	e := s.q.Fail(store.ErrNextValue, "it is %d", next)
	if s.q.Table == nil {
		e.SQL = "UPDATE keyfill_sequences SET next_value = <number> WHERE name = " + s.store.Literal(s.q.Name)
	}
	return e
}

// Exhausted returns the error of a sequence whose next value is too close to its limit.
func (s *Row) Exhausted(next int64) *store.Error {
	limit := s.Limit()
	e := s.q.Fail(keysource.ErrExhausted, "the limit is %d: make the column wider and raise max_bits, or take another source", limit)
	switch {
	case s.q.End() > 0 && limit == s.q.End()-1 && !s.q.HoldsBlocks():
		e = s.q.Fail(keysource.ErrExhausted, "%s", store.EndRemedy)
	case len(s.q.Columns) > 0 && s.q.Columns[0].Texts != nil:
		e = s.q.Fail(keysource.ErrExhausted, "the remedy is %s", store.TextRemedy)
	case s.q.Bounds.remedyAt(limit) != "":
		e = s.q.Fail(keysource.ErrExhausted, "the remedy is %s", s.q.Bounds.remedyAt(limit))
	}
	e.Next, e.Limit = next, limit
	return e
}

// manyRows returns the error of a query for one row. If the query found several rows,
// the error is an [*store.Error] about the key table of the application.
func (s *Row) manyRows(err error) error {
	t := s.q.Table
	switch {
	case t == nil || !errors.Is(err, store.ErrRows):
		return err
	case t.Key == "":
		return s.q.Fail(store.ErrKeyRows, "leave one, or name the column that distinguishes them, and what it holds in this one")
	}
	return s.q.Fail(store.ErrKeyRows, "leave one, and make %s the primary key", t.Key)
}

// unlessOurs returns an [*store.Error] as it is, and any other error as
// [store.Store.Failed] does. It reports a missing table also on a connection of the
// application.
func (s *Row) unlessOurs(err error) error {
	var e *store.Error
	if errors.As(err, &e) {
		return e
	}
	meaning := s.q.Meaning()
	return s.store.FailedAs(meaning, s.q.Name, s.store.RefuseGone(meaning, err))
}

// replacing returns the arguments of the statement that replaces the value of a row so
// that its next value is next.
func (s *Row) replacing(row *staterow.Row, next int64) (engine.Values, error) {
	value, ok := s.encode(next)
	if !ok {
		return engine.Values{}, s.Exhausted(row.Next)
	}
	v := s.q.rowValues()
	v.Old, v.Version, v.Next = row.Value, row.Version, value
	return v, nil
}

// encode returns the value that the table has while next is the lowest integer that is
// not reserved. ok is false if the table cannot hold that value, or if the value would
// mean another integer.
func (s *Row) encode(next int64) (value int64, ok bool) {
	if s.q.Codec == nil {
		value = next - s.Form.Offset
		return value, value <= s.Form.Limit
	}
	value = s.q.Codec.Residue(next)
	back, err := s.q.Codec.NextOf(value)
	return value, value <= s.Form.Limit && err == nil && back == next
}

// decode returns the next integer for a value in the table; it is the inverse of
// encode.
func (s *Row) decode(value int64) (next int64, err error) {
	if s.q.Codec == nil {
		return min(value, math.MaxInt64-s.Form.Offset) + s.Form.Offset, nil
	}
	return s.q.Codec.NextOf(value)
}
