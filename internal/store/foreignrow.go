package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

const (
	maxNext     = math.MaxInt64 // the greatest next value there is
	maxReserved = maxNext - 1
)

// form returns the statements for a sequence whose row is read before it is
// changed, or is in a key table; nil for others.
func (s *Store) form(ctx context.Context, q *Sequence) (*rowStatements, error) {
	switch {
	case q.Table != nil:
		return s.learn(ctx, q)
	case q.optimistic(), s.engine.answersID && q.Procedure == "":
		return s.engine.ownForm(), nil
	}
	return nil, nil
}

// rowValues returns the arguments that a row is found by.
func (q *Sequence) rowValues() values {
	v := values{pName: q.Name, pRow: q.Name}
	if q.Table != nil {
		v[pRow] = q.Table.Row
	}
	return v
}

// stateOf is state for a sequence that may have no form of its own use.
func (s *Store) stateOf(ctx context.Context, q *Sequence, f *rowStatements) (*storedRow, error) {
	if q.Table == nil {
		return s.read(ctx, q.Name)
	}
	return s.state(ctx, q, f)
}

// state returns the row of a sequence as it is, nil where there is none.
func (s *Store) state(ctx context.Context, q *Sequence, f *rowStatements) (*storedRow, error) {
	if f == nil {
		return s.read(ctx, q.Name)
	}
	query, err := s.withServer(ctx, f.read.text)
	if err != nil {
		return nil, s.failed(q.Name, err)
	}
	args := f.read.bind(q.rowValues())
	answer, err := s.conn.query(ctx, query, args)
	if errors.Is(err, ErrRows) && q.Table != nil {
		return nil, q.severalRows()
	}
	if err != nil {
		return nil, s.failed(q.Name, s.judge(ctx, q.meaning(), err, query, args))
	}
	return s.keyRow(q, f, answer)
}

// keyRow returns the row in an answer to the read of a form.
func (s *Store) keyRow(q *Sequence, f *rowStatements, answer []any) (*storedRow, error) {
	if answer == nil {
		return nil, nil
	}
	value, err := toInteger(answer[0])
	if err != nil {
		return nil, q.fail(ErrKeyValue, "its value is not an integer")
	}
	row := &storedRow{value: value, version: answer[1]}
	if q.Table == nil {
		row.version = toText(answer[1])
		row.next, row.server = value, serverOf(answer[1], answer[2])
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
	if row.next, err = q.decode(f, value); err != nil {
		return nil, q.fail(ErrKeyValue, "%v", err)
	}
	if row.next < 1 {
		return nil, q.fail(ErrKeyValue, "its value stands for an integer below 1")
	}
	return row, nil
}

// unfit returns why n integers cannot be taken from a row, which may be nil; nil
// where they can.
func (s *Store) unfit(ctx context.Context, q *Sequence, f *rowStatements, row *storedRow, n, floor int64) error {
	switch limit := q.limitOf(f); {
	case row == nil:
		greatest, _, err := s.greatest(ctx, q)
		if err != nil {
			return err
		}
		return s.noRow(ctx, q, f, greatest)
	case row.next < floor:
		e := q.fail(ErrBack, "")
		e.Next, e.server = row.next, row.server
		return e
	case row.next > limit-n+1:
		return q.exhausted(f, row.next)
	}
	return nil
}

// openForeign is open for a state that is in no table of this package. Where it
// is only a procedure's to know, there is nothing to read.
func (s *Store) openForeign(ctx context.Context, q *Sequence) (o opening, err error) {
	if s.inside {
		// Before anything is read.
		if err := s.lockKeysFirst(ctx, q); err != nil {
			return o, err
		}
	}
	if err := s.checkForeign(ctx, q); err != nil {
		return o, err
	}
	if q.Table == nil {
		return o, nil
	}
	if o.form, err = s.learn(ctx, q); err != nil {
		return o, err
	}
	// The keys come first, as in open.
	if o.greatest, _, err = s.greatest(ctx, q); err != nil {
		return o, err
	}
	stored, err := s.state(ctx, q, o.form)
	switch {
	case err != nil:
		return o, err
	case stored == nil:
		return o, s.noRow(ctx, q, o.form, o.greatest)
	}
	o.row.Next, o.known = stored.next, true
	return o, nil
}

// checkForeign returns [ErrTaken] when keyfill_sequences, where it can be read,
// has a state for the column. It does not look where an error would end the
// application's transaction.
func (s *Store) checkForeign(ctx context.Context, q *Sequence) error {
	if q.Exclusive || s.inside && !s.engine.sturdy || s.probe(ctx, tables[0]) != nil {
		return nil
	}
	b := q.binding()
	// A row of its name is another state's too.
	b.row, b.state = "", q.foreignState()
	return s.checkAll(ctx, b)
}

// keyInsertText returns the statement that gives a sequence its row in a key
// table; start is an expression for the lowest integer that is not reserved.
func (s *Store) keyInsertText(q *Sequence, f *rowStatements, start, from string) string {
	t := q.Table
	columns, values := "", ""
	if t.Key != "" {
		columns, values = t.Key+", ", s.literal(t.Row)+", "
	}
	switch {
	case q.Codec != nil:
		// What stands for the start can be worked out only here.
		if n, err := strconv.ParseInt(start, 10, 64); err == nil && n <= q.max()+1 {
			start = strconv.FormatInt(q.Codec.Residue(n), 10)
		} else {
			start = "<number of the last key>"
		}
	case t.Last:
		start = lessOne(start)
	}
	columns, values = columns+t.Value, values+start
	if f.version != "" {
		columns, values = columns+", "+t.Version, values+", "+f.version
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s%s", t.Name, columns, values, from)
}

// lessOne returns an expression that is one less than start.
func lessOne(start string) string {
	if n, err := strconv.ParseInt(start, 10, 64); err == nil {
		return strconv.FormatInt(n-1, 10)
	}
	const more = " + 1"
	if n := len(start) - len(more); n > 0 && start[n:] == more {
		return start[:n]
	}
	return start + " - 1"
}

// severalRows returns the error of a key table with more than one row for a
// sequence.
func (q *Sequence) severalRows() error {
	if q.Table == nil {
		return ErrRows
	}
	if q.Table.Key == "" {
		return q.fail(ErrKeyRows, "leave one, or name the column that tells them apart, and what it holds in this one")
	}
	return q.fail(ErrKeyRows, "leave one, and make %s the primary key", q.Table.Key)
}

// manyRows returns the error of a query for one row.
func (q *Sequence) manyRows(err error) error {
	if errors.Is(err, ErrRows) {
		return q.severalRows()
	}
	return err
}

// unlessOurs is failed for an error that may be one of this package, which stays
// as it is. That the table of the row is not there is said on a connection of the
// application too.
func (s *Store) unlessOurs(q *Sequence, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return s.failedAs(q.meaning(), q.Name, s.refuseGone(q.meaning(), err))
}

// refuseGone returns the error of a statement about a state as a refusal where it says
// that the table is not there, any other as it is.
func (s *Store) refuseGone(meaning, err error) error {
	var refused *refusal
	if errors.As(err, &refused) || sqlcode.ClassOf(s.dialect, err) != dialect.ErrorNoObject {
		return err
	}
	return s.refuse(meaning, err)
}

// meaning returns what it means that the engine refuses a statement about the row
// of a sequence.
func (q *Sequence) meaning() error {
	if q.Table != nil {
		return ErrKeyTable
	}
	return ErrTables
}
