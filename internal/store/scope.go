package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keyfill/keyfill/keysource"
)

// Scope is a numbering of the rows of a table within the values of other columns:
// the lines of each order from 1 on. There is a row of keyfill_sequences for each
// of these values, besides that of the state itself, which says which column is
// numbered:
//
//	name            "lines.no[7]", of the state "lines.no"; several values have
//	                commas between them, texts are in quotes; one of more than 190
//	                characters ends in a hash of the whole instead
//	next_value      the next number of that parent
//	table_name      empty, as column_name
//	parameters      [Scope.Parameters]
//
// Such a row is made when it is first needed, in the transaction that needs it,
// wherever there is one of the state itself: parents come all the time.
type Scope struct {
	Name   string   // of the state
	Column Column   // the key column
	Within []string // the columns that it is numbered within, as they are stored, without quotes

	// Start is the least number of a parent; 0 is 1. A parent that has rows goes
	// on above them.
	Start int64

	// Max is as in [Sequence].
	Max int64

	// Latest is another view of the same database, which sees what has been
	// committed last whatever the transaction sees: that may be older, under
	// REPEATABLE READ. nil where a transaction that writes sees it, on SQLite.
	Latest *Store
}

// Parameters returns the [Sequence].Parameters that the row of the state has to
// have, since with other columns the rows of the parents would belong to others.
// types are the types of the columns.
func (q *Scope) Parameters(types []string) string {
	var b strings.Builder
	b.WriteString("scope")
	for i, c := range q.Within {
		fmt.Fprintf(&b, "%s %q %s", []string{"", ","}[min(i, 1)], c, types[i])
	}
	return b.String()
}

// RowFor returns the name of the row of a parent, by the values of the columns.
// Each value is an int64, a uint64 that does not fit into an int64, or a string.
// Equal values have one name, different ones have different names.
func (q *Scope) RowFor(values []any) string {
	var b strings.Builder
	b.WriteString(q.Name)
	for i, v := range values {
		b.WriteString([]string{"[", ","}[min(i, 1)])
		switch v := v.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case uint64:
			b.WriteString(strconv.FormatUint(v, 10))
		case string:
			b.WriteString("'" + strings.ReplaceAll(v, "'", "''") + "'")
		default:
			panic(fmt.Sprintf("store: a %T in a scope", v))
		}
	}
	b.WriteByte(']')
	name := b.String()
	if utf8.RuneCountInString(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := "-" + hex.EncodeToString(sum[:16]) // no name without one ends so
	return string([]rune(name)[:maxName-len(hash)]) + hash
}

// scopeParameters stands in the column parameters of a parent's row.
const scopeParameters = "scope of one parent"

// latestLimit bounds the time in which the other view has to answer: what it waits
// for may wait for the transaction.
const latestLimit = 5 * time.Second

// ReserveWithin reserves n ≥ 1 consecutive numbers of a parent and returns the
// first, inside the transaction that is open on the connection of the store: the
// parent's row is locked until that ends, and what was reserved goes back with it.
// values are as for [Scope.RowFor]. Statements that need several parents ask in
// the order of the names of their rows, so that none waits for another that waits
// for it.
//
// A parent without a row gets one: it goes on above the greatest number in the
// table, which is asked for when the row is locked, so that of two first
// transactions of one parent the second sees the rows that the first has
// stored.
//
// It returns keysource.ErrExhausted in an [*Error] of the state's name: the values
// are in no error of this package. Errors of the connection are the driver's.
func (s *Store) ReserveWithin(ctx context.Context, q *Scope, values []any, n int64) (int64, error) {
	if n < 1 {
		return 0, keysource.ErrCount
	}
	row := Sequence{Name: q.RowFor(values), Columns: []Column{q.Column}, Max: q.Max}
	if err := s.lockRowsFirst(ctx); err != nil {
		return 0, err
	}
	if !s.engine.gaps {
		// Elsewhere an UPDATE of a row that is not there locks what lies beside it.
		if first, err := s.reserveRow(ctx, &row, n); first > 0 || err != nil {
			return first, err
		}
	}
	stored, err := s.read(ctx, row.Name)
	switch {
	case err != nil:
		return 0, err
	case stored != nil && stored.next > row.max()-n+1:
		return 0, q.exhausted(stored.next)
	case stored != nil:
		// It may have been made since the UPDATE.
		if first, err := s.reserveRow(ctx, &row, n); first > 0 || err != nil {
			return first, err
		}
	}
	// A row that is there and was not reserved from may have lacked the proof.
	if err := s.Prove(ctx); err != nil {
		return 0, err
	}
	if err := s.createWithin(ctx, q, &row, values); err != nil {
		return 0, err
	}
	first, err := s.reserveRow(ctx, &row, n)
	if first == 0 && err == nil {
		if err = s.Prove(ctx); err == nil {
			err = q.exhausted(0)
		}
	}
	return first, err
}

// ReserveAbove is [Store.ReserveWithin] for a parent in which a number was found in
// use. It compares the reserved numbers with the greatest number of the parent, and
// behind says that they were not above it. The remedy says what happens then: with
// keysource.RemedyAdvance the numbers come from above the greatest one, with
// keysource.RemedyWarn they stay as they are, and else the error is
// keysource.ErrStoreBehind in an [*Error] of the state's name.
func (s *Store) ReserveAbove(ctx context.Context, q *Scope, values []any, n int64, remedy keysource.Remedy) (first int64, behind bool, err error) {
	// The parent's row is locked by that before the table is read.
	if first, err = s.ReserveWithin(ctx, q, values, n); err != nil || remedy == keysource.RemedyWarn {
		return first, false, err
	}
	greatest, err := s.greatestWithin(ctx, q, values)
	switch {
	case err != nil || first > greatest:
		return first, false, err
	case remedy != keysource.RemedyAdvance:
		return 0, true, q.behind()
	}
	row := Sequence{Name: q.RowFor(values), Columns: []Column{q.Column}, Max: q.Max}
	if greatest >= row.max() {
		return 0, true, q.exhausted(0)
	}
	if err = s.advanceWithin(ctx, &row, greatest+1); err == nil {
		first, err = s.ReserveWithin(ctx, q, values, n)
	}
	return first, true, err
}

// behind returns the error of a parent whose next number is not above its greatest one.
func (q *Scope) behind() *Error {
	state := Sequence{Name: q.Name, Columns: []Column{q.Column}}
	return state.fail(keysource.ErrStoreBehind, "the next number of a parent is not above the greatest one in the table: raise next_value in its row of keyfill_sequences, or say on_behind: advance")
}

// reserveRow returns the first of n integers of a row; 0 where there is no row, or
// they are not left.
func (s *Store) reserveRow(ctx context.Context, row *Sequence, n int64) (int64, error) {
	if s.engine.answersID {
		return s.reserveLocked(ctx, row, n)
	}
	if err := s.prepareProof(ctx); err != nil {
		return 0, err
	}
	answer, err := s.update(ctx, s.engine.reserve, values{pName: row.Name, pCount: n, pFloor: int64(1), pLimit: row.max() - n + 1})
	if err != nil || answer == nil {
		return 0, err
	}
	next, err := toInteger(answer[0])
	if err != nil {
		return 0, err
	}
	return next - n, nil
}

// reserveLocked is reserveRow for an engine whose UPDATE does not answer.
func (s *Store) reserveLocked(ctx context.Context, row *Sequence, n int64) (int64, error) {
	f := s.engine.ownForm()
	read, err := s.withServer(ctx, f.locked.text)
	if err != nil {
		return 0, err
	}
	answer, err := s.conn.query(ctx, read, f.locked.bind(row.rowValues()))
	if err != nil {
		return 0, err
	}
	stored, err := s.keyRow(row, f, answer)
	if err != nil || stored == nil || stored.next > row.max()-n+1 {
		return 0, err
	}
	if err := s.replace(ctx, s.conn, row, f, stored, stored.next+n); err != nil {
		return 0, err
	}
	return stored.next, nil
}

// createWithin makes the row of a parent. Whoever makes it at the same time waits
// for the end of this transaction.
func (s *Store) createWithin(ctx context.Context, q *Scope, row *Sequence, within []any) error {
	// The row is locked first, and raised then: what was read before could be old.
	v := values{pName: row.Name, pNext: int64(1), pTable: "", pColumn: "", pParameters: scopeParameters}
	create := s.engine.create
	if s.ongoing != nil && s.engine.proof.create.text != "" {
		create = s.engine.proof.create
	}
	if _, err := s.conn.exec(ctx, create.text, create.bind(v)); err != nil {
		return err
	}
	greatest, err := s.greatestWithin(ctx, q, within)
	if err != nil {
		return err
	}
	if greatest >= row.max() {
		return q.exhausted(0)
	}
	start := max(greatest+1, q.Start, 1)
	if start == 1 {
		return nil
	}
	return s.advanceWithin(ctx, row, start)
}

// advanceWithin raises the row of a parent, which the transaction has locked.
func (s *Store) advanceWithin(ctx context.Context, row *Sequence, next int64) error {
	v := values{pName: row.Name, pNext: next}
	_, err := s.conn.exec(ctx, s.engine.advance.text, s.engine.advance.bind(v))
	return err
}

// greatestWithin returns the greatest key of a parent, as the store sees it, with what
// its transaction has stored, or as it was committed last.
func (s *Store) greatestWithin(ctx context.Context, q *Scope, within []any) (int64, error) {
	greatest, err := s.maxWithin(ctx, q, "", within)
	if err != nil || q.Latest == nil {
		return greatest, err
	}
	limited, cancel := context.WithTimeout(ctx, latestLimit)
	defer cancel()
	latest, err := q.Latest.maxWithin(limited, q, s.engine.past, within)
	switch {
	case err == nil:
		return max(greatest, latest), nil
	case ctx.Err() != nil:
		return 0, ctx.Err()
	}
	return 0, fmt.Errorf("%w: %s cannot be read: %v", keysource.ErrStoreDown, q.Column, err)
}

// maxWithin returns the greatest key of a parent as the store sees it, 0 where
// there is none. hint follows the table's name.
func (s *Store) maxWithin(ctx context.Context, q *Scope, hint string, within []any) (int64, error) {
	query := fmt.Sprintf(s.engine.maxKey, s.dialect.QuoteIdent(q.Column.Name), s.quoted(q.Column)) + hint
	for i, c := range q.Within {
		place := s.engine.words.place
		if strings.Contains(place, "%") {
			place = fmt.Sprintf(place, i+1)
		}
		query += []string{" WHERE ", " AND "}[min(i, 1)] + s.dialect.QuoteIdent(c) + " = " + place
	}
	row, err := s.conn.query(ctx, query, within)
	if err != nil {
		return 0, s.failed(q.Column.String(), s.judge(ctx, ErrColumn, err, query, within))
	}
	if row == nil || row[0] == nil {
		return 0, nil
	}
	return toInteger(row[0])
}

// exhausted returns the error of a parent whose numbers do not suffice.
func (q *Scope) exhausted(next int64) *Error {
	state := Sequence{Name: q.Name, Columns: []Column{q.Column}, Max: q.Max}
	e := state.fail(keysource.ErrExhausted, "a parent has no number left up to the limit of %d: make the column wider and raise max_bits", state.max())
	e.Next = next
	return e
}
