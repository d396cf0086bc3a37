package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/keysource"
)

// Sequence says which row of keyfill_sequences is meant and what is expected of
// it. Name and Columns are needed; all other zero values are safe.
type Sequence struct {
	// Name of the row: 1 to 190 characters, no space at either end.
	Name string

	// Columns are those that the keys go to: exactly one, unless Shared.
	Columns []Column

	// Shared says that the state is meant for several columns, those of other
	// programs included, now or later. Its row names none: it has another one
	// for each of Columns, which is made when it is missing. A row that names
	// one of Columns is taken as well.
	Shared bool

	// At is the store whose database the columns are in; nil: in this one's.
	At *Store

	// Parameters is the text of what may never change, at most 1,000
	// characters.
	Parameters string

	// Start is the first integer of a new row; 0 is the one after the greatest
	// key in the columns.
	Start int64

	// Max is the greatest integer to be reserved; 0 is the greatest there is,
	// 2⁶³−2: one less than fits, since the next one is stored.
	Max int64

	EnsureSchema bool // missing tables are created; not within a transaction
	Create       bool // a missing row is made

	// Exclusive says that rows of other states for the same column are right:
	// nobody uses them, or each numbers a part of the table.
	Exclusive bool

	// OnBehind is what [Store.Open] does about a next value that is not above
	// the greatest key in the columns; empty is an error. A [Reserver] does
	// not compare: its source does.
	OnBehind keysource.Remedy
}

// Column is a key column. Its names are as they are stored, without quotes.
type Column struct {
	Schema string // "" for the table that is found without one
	Table  string
	Name   string

	// Unranked says that the greatest key cannot be asked for: the column
	// holds text, or leads no index, so that all rows would be read.
	Unranked bool
}

// String returns schema.table.column.
func (c Column) String() string { return c.table() + "." + c.Name }

// table returns schema.table as it is stored in table_name.
func (c Column) table() string {
	if c.Schema == "" {
		return c.Table
	}
	return c.Schema + "." + c.Table
}

// Row is the state of a sequence when it was opened.
type Row struct {
	Next    int64 // the lowest integer that is not reserved
	Created bool  // by this call, or another one at the same time
	Behind  bool  // with keysource.RemedyWarn: a key in the columns is as great as Next or greater
}

const (
	maxName       = 190
	maxParameters = 1000
)

// checkName returns ErrName unless a name can be the key of a row on every
// engine: MySQL and SQL Server take "a" and "a " for the same.
func checkName(name string) error {
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0),
		strings.TrimSpace(name) != name, utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}

// check returns the error of a sequence that no database could serve.
func (q *Sequence) check() error {
	if err := checkName(q.Name); err != nil {
		return err
	}
	switch {
	case utf8.RuneCountInString(q.Parameters) > maxParameters:
		return fmt.Errorf("%w: sequence %q has more than %d characters of parameters", keysource.ErrOptions, q.Name, maxParameters)
	case !q.Shared && len(q.Columns) != 1:
		return fmt.Errorf("%w: sequence %q serves %d columns and is not shared", keysource.ErrOptions, q.Name, len(q.Columns))
	case q.Start < 0, q.Max < 0:
		return fmt.Errorf("%w: sequence %q starts or ends below 1", keysource.ErrOptions, q.Name)
	}
	return nil
}

// max returns the greatest integer to be reserved.
func (q *Sequence) max() int64 { return min(cmp.Or(q.Max, math.MaxInt64), math.MaxInt64-1) }

// bound returns what the row holds in table_name and column_name.
func (q *Sequence) bound() (table, column string) {
	if q.Shared {
		return "", ""
	}
	return q.Columns[0].table(), q.Columns[0].Name
}

// fail returns an Error about the sequence.
func (q *Sequence) fail(cause error, format string, args ...any) *Error {
	return &Error{Name: q.Name, Columns: q.Columns, Err: cause, Detail: fmt.Sprintf(format, args...)}
}

// Open makes sure that a sequence can be used: it has a row, or gets one where
// Create says so, the row serves its column with its parameters, and the next
// value is above the keys in use. It is to be called before the first
// [Store.Reserve]; by how many processes at once does not matter.
//
// What is wrong with the row is an [*Error]; what no row could be is [ErrName]
// or keysource.ErrOptions; tables that are not there are [ErrTables], a column
// that is not there is [ErrColumn].
//
// Within a transaction a row that is made is undone with it.
func (s *Store) Open(ctx context.Context, q Sequence) (Row, error) {
	row, greatest, _, err := s.open(ctx, &q)
	if err != nil || row.Next > greatest {
		return row, err
	}
	switch q.OnBehind {
	case keysource.RemedyWarn:
		row.Behind = true
		return row, nil
	case keysource.RemedyAdvance:
		if greatest >= q.max() {
			return Row{}, q.exhausted(row.Next)
		}
		row.Next = greatest + 1
		return row, s.Advance(ctx, q, row.Next)
	}
	e := q.fail(ErrBehind, "")
	e.Next = row.Next
	return Row{}, e
}

// open is Open but for the comparison. It returns the greatest key in the
// columns too, 0 where there is none to be compared with, and reports whether it
// has bound the sequence to a column.
func (s *Store) open(ctx context.Context, q *Sequence) (row Row, greatest int64, bound bool, err error) {
	if err := q.check(); err != nil {
		return Row{}, 0, false, err
	}
	if q.EnsureSchema {
		if err := s.EnsureSchema(ctx); err != nil {
			return Row{}, 0, false, err
		}
	}
	if s.inside {
		// What fails here, fails where the row is read.
		_ = s.lockRows(ctx)
	}
	// The keys come first: those that are in the column now were reserved
	// before, so that a row read later is above them. The other way round,
	// another process could reserve and insert in between.
	greatest, ranked, err := s.greatest(ctx, q)
	if err != nil {
		return Row{}, 0, false, err
	}
	stored, err := s.read(ctx, q.Name)
	if err != nil {
		return Row{}, 0, false, err
	}
	created := stored == nil
	if created {
		if stored, err = s.create(ctx, q, greatest, ranked); err != nil {
			return Row{}, 0, false, err
		}
	}
	if bound, err = s.checkRow(ctx, q, stored); err != nil {
		return Row{}, 0, false, err
	}
	return Row{Next: stored.next, Created: created}, greatest, bound, nil
}

// exhausted returns the error of a sequence whose next value is too near to its
// limit.
func (q *Sequence) exhausted(next int64) *Error {
	e := q.fail(keysource.ErrExhausted, "the limit is %d: a wider column and a higher limit, or another source", q.max())
	e.Next = next
	return e
}

// storedRow is a row as it was read.
type storedRow struct {
	next                      int64
	server                    string // as in keysource.Reservation
	table, column, parameters string
}

// serverOf joins what tells a row from another one with what tells its server
// from others.
func serverOf(incarnation, server any) string { return toText(incarnation) + "@" + toText(server) }

// read returns the row of a name, nil when there is none.
func (s *Store) read(ctx context.Context, name string) (*storedRow, error) {
	query, err := s.withServer(ctx, s.engine.read.text)
	if err != nil {
		return nil, s.failed(name, err)
	}
	args := s.engine.read.bind(values{pName: name})
	row, err := s.conn.query(ctx, query, args)
	switch {
	case err != nil:
		return nil, s.failed(name, s.judge(ctx, ErrTables, err, query, args))
	case row == nil:
		return nil, nil
	}
	next, err := toInteger(row[0])
	if err != nil {
		return nil, s.failed(name, err)
	}
	return &storedRow{
		next:       next,
		server:     serverOf(row[1], row[2]),
		table:      toText(row[3]),
		column:     toText(row[4]),
		parameters: toText(row[5]),
	}, nil
}

// create makes the row and returns it as it then is: another process may have
// made it, and used it, before.
func (s *Store) create(ctx context.Context, q *Sequence, greatest int64, ranked bool) (*storedRow, error) {
	if !q.Create {
		return nil, s.noRow(q, greatest)
	}
	start := q.Start
	switch {
	case start != 0:
	case !ranked:
		return nil, q.fail(ErrStart, "")
	case greatest >= q.max():
		return nil, q.exhausted(0)
	default:
		start = greatest + 1
	}
	// A row that is made in error would keep out the sequence that is right.
	if err := s.checkAll(ctx, q.binding()); err != nil {
		return nil, err
	}
	table, column := q.bound()
	v := values{pName: q.Name, pNext: start, pTable: table, pColumn: column, pParameters: q.Parameters}
	_, createErr := s.conn.exec(ctx, s.engine.create.text, s.engine.create.bind(v))
	if createErr != nil && s.inside {
		return nil, s.failed(q.Name, createErr)
	}
	if createErr != nil {
		// Of two who make it at once, Oracle gives one the error of the unique
		// key. The row of the other is as good when it is no lower.
		if err := s.Advance(ctx, *q, start); err != nil {
			return nil, s.failed(q.Name, createErr)
		}
	}
	stored, err := s.read(ctx, q.Name)
	if err == nil && stored == nil {
		err = s.failed(q.Name, cmp.Or(createErr, errRemoved))
	}
	return stored, err
}

// checkRow compares a row with what is expected of it, and binds a shared one to
// its columns. It reports whether it has made a row for that.
func (s *Store) checkRow(ctx context.Context, q *Sequence, row *storedRow) (bound bool, err error) {
	if !q.serves(row) {
		serves := row.table + "." + row.column
		if row.table == "" {
			serves = "several"
		}
		return false, q.fail(ErrBound, "%s", serves)
	}
	if row.parameters != q.Parameters {
		return false, q.fail(ErrParameters, "%q, not %q", row.parameters, q.Parameters)
	}
	if q.Shared {
		return s.bind(ctx, q.binding())
	}
	return false, s.checkAll(ctx, q.binding())
}

// serves reports whether a row is that of the sequence. One that is shared may
// have been that of one of its columns alone before.
func (q *Sequence) serves(row *storedRow) bool {
	if q.Shared && row.table == "" {
		return true
	}
	return slices.ContainsFunc(q.Columns, func(c Column) bool {
		return row.table == c.table() && row.column == c.Name
	})
}
