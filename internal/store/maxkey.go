package store

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MaxKey returns the greatest key in a column, which an engine finds at the end
// of an index that the column leads. In an empty table it is 0. A key beyond
// 2⁶³−1 counts as 2⁶³−1.
func (s *Store) MaxKey(ctx context.Context, c Column) (int64, error) {
	query := fmt.Sprintf(s.engine.maxKey, s.dialect.QuoteIdent(c.Name), s.quoted(c))
	row, err := s.conn.query(ctx, query, nil)
	if err != nil {
		return 0, s.failed(c.String(), s.judge(ctx, ErrColumn, err, query, nil))
	}
	if row == nil || row[0] == nil {
		return 0, nil
	}
	key, err := toInteger(row[0])
	if err != nil {
		return 0, s.failed(c.String(), &refusal{ErrColumn, err})
	}
	return key, nil
}

// MaxKeyBelow is [Store.MaxKey] of the keys from 1 that are below a limit.
func (s *Store) MaxKeyBelow(ctx context.Context, c Column, limit int64) (int64, error) {
	return s.maxKeyIn(ctx, c, 1, limit-1)
}

// MaxDigits returns the greatest text in a column that consists of as many digits
// as from and to, and lies between the two, both included; "" when there is none.
func (s *Store) MaxDigits(ctx context.Context, c Column, from, to string) (string, error) {
	column := s.dialect.QuoteIdent(c.Name)
	query := fmt.Sprintf("SELECT MAX(%[1]s) FROM %[2]s WHERE %[1]s BETWEEN %[3]s AND %[4]s", column, s.quoted(c), s.literal(from), s.literal(to))
	row, err := s.conn.query(ctx, query, nil)
	if err != nil {
		return "", s.failed(c.String(), s.judge(ctx, ErrColumn, err, query, nil))
	}
	if row == nil {
		return "", nil
	}
	return toText(row[0]), nil
}

// greatest returns the greatest key in the columns of a sequence, 0 when the
// columns have no key that the sequence has to be above. It is not ranked when
// there is no column that can be asked.
func (s *Store) greatest(ctx context.Context, q *Sequence) (key int64, ranked bool, err error) {
	if q.Fresh || q.Codec != nil {
		return 0, false, nil
	}
	at := s.at(q)
	for _, c := range q.Columns {
		if c.Unranked {
			continue
		}
		one, err := at.MaxKey(ctx, c)
		if err != nil {
			return 0, false, err
		}
		key, ranked = max(key, one), true
	}
	return key, ranked, nil
}

// at returns the store whose database the columns of a sequence are in.
func (s *Store) at(q *Sequence) *Store {
	if q.At != nil {
		return q.At
	}
	return s
}

// used reports whether there is a key in the columns of a sequence.
func (s *Store) used(ctx context.Context, q *Sequence) (bool, error) {
	at := s.at(q)
	for _, c := range q.Columns {
		query := fmt.Sprintf("SELECT CASE WHEN EXISTS (SELECT 1 FROM %s WHERE %s IS NOT NULL) THEN 1 ELSE 0 END%s",
			at.quoted(c), at.dialect.QuoteIdent(c.Name), at.engine.dual)
		row, err := at.conn.query(ctx, query, nil)
		if err != nil {
			return false, at.failed(c.String(), at.judge(ctx, ErrColumn, err, query, nil))
		}
		if row == nil {
			continue
		}
		n, err := toInteger(row[0])
		if err != nil {
			return false, at.failed(c.String(), err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, nil
}

// freshText is insertText for a sequence whose keys are not its integers.
func (s *Store) freshText(q *Sequence, f *rowStatements, used bool) string {
	start := strconv.FormatInt(max(q.Start, 1), 10)
	if used {
		start = "<next number>" // only the reader knows
	}
	if q.Table != nil {
		return s.keyInsertText(q, f, start, s.engine.dual)
	}
	return s.ownInsertText(q, start, s.engine.dual)
}

// insertText returns the statement that gives a sequence its row. Where the
// columns are in the same database, the start is worked out when it runs.
func (s *Store) insertText(q *Sequence, f *rowStatements, greatest int64) string {
	start, from := "1", s.engine.dual
	var ranked []string
	for _, c := range q.Columns {
		if !c.Unranked {
			ranked = append(ranked, "SELECT MAX("+s.dialect.QuoteIdent(c.Name)+") AS m FROM "+s.quoted(c))
		}
	}
	switch {
	case q.Start != 0:
		start = strconv.FormatInt(q.Start, 10)
	case ranked == nil:
		start = "<start>" // only the reader knows
	case q.At != nil:
		start = strconv.FormatInt(greatest+1, 10)
	default:
		start = "COALESCE(MAX(m), 0) + 1"
		from = " FROM (" + strings.Join(ranked, " UNION ALL ") + ") k"
	}
	if q.Table != nil {
		return s.keyInsertText(q, f, start, from)
	}
	return s.ownInsertText(q, start, from)
}

// ownInsertText is insertText for keyfill_sequences.
func (s *Store) ownInsertText(q *Sequence, start, from string) string {
	table, column := q.bound()
	return "INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) SELECT " +
		strings.Join([]string{
			s.literal(q.Name), start, s.literal(table), s.literal(column), s.literal(q.Parameters),
			s.engine.random, s.engine.now,
		}, ", ") + from
}

// belowOne returns the error of a row whose next value is below 1.
func (s *Store) belowOne(q *Sequence, next int64) *Error {
	e := q.fail(ErrNextValue, "it is %d", next)
	if q.Table == nil {
		e.SQL = "UPDATE keyfill_sequences SET next_value = <number> WHERE name = " + s.literal(q.Name)
	}
	return e
}

// literal returns a text as it is written into a statement for people to run.
func (s *Store) literal(text string) string {
	if s.dialect.Lexis.BackslashEscapes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return s.engine.quote + strings.ReplaceAll(text, "'", "''") + "'"
}

// toInteger reads an integer as drivers give it: as one, or as its digits.
func toInteger(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case uint64:
		return int64(min(v, math.MaxInt64)), nil
	case []byte:
		return toInteger(string(v))
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil && n != math.MaxInt64 {
			return 0, ErrAnswer
		}
		return n, nil
	}
	return 0, fmt.Errorf("%w but a %T", ErrAnswer, v)
}

// toText reads a text; NULL is empty, and in Oracle an empty text is NULL.
func toText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
