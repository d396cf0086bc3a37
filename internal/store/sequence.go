package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// Sequence names a row of keyfill_sequences and says what is expected of it.
// Name and Columns are needed; all other zero values are safe.
type Sequence struct {
	// Name of the row: 1 to 190 characters, no space at either end.
	Name string

	// Columns are the columns that the keys go to: exactly one, unless Shared.
	Columns []Column

	// Shared says that the state is meant for several columns, also of other
	// programs, now or later. Its row names none: it has another one for each
	// of Columns, which is made when it is missing. A row that names one of
	// Columns is taken as well.
	Shared bool

	// At is the store whose database the columns are in; nil: in this one's.
	At *Store

	// Parameters is the text of what may never change, at most 1,000
	// characters.
	Parameters string

	// Start is the first integer of a new row; 0 is the one after the greatest
	// key in the columns.
	Start int64

	// least and gap are set for a row that was there before and is made again: it
	// begins by gap above least and above the greatest key, whichever is greater.
	least, gap int64

	// Max is the greatest integer to be reserved; 0 is the greatest there is,
	// 2⁶³−2: one less than fits, since the next one is stored.
	Max int64

	EnsureSchema bool // missing tables are created; not within a transaction
	Create       bool // a missing row is made

	// Exclusive says that rows of other states for the same column are right:
	// nobody uses them, or each numbers a part of the table.
	Exclusive bool

	// Table is an existing table that holds the state; nil is keyfill_sequences.
	// It has no place for Parameters, so that none are compared, nor for what
	// binds the state to its columns; and its row is never made: EnsureSchema and
	// Create say nothing about it.
	Table *KeyTable

	// Lock is how the state is changed: [LockOptimistic], or [LockPessimistic],
	// which the empty one is too. Inside a transaction of the application it is
	// always the latter, since what was read there may be old.
	Lock string

	// Procedure is the name, as it is written in SQL, of what reserves instead of
	// statements; empty for none. See [ReserveProcedure]. With a name of the
	// application's own and without Table, the state is that procedure's to know:
	// nothing is read, made or compared but the greatest key.
	Procedure string

	// Fresh says that keys are not the integers themselves. A row that is made
	// begins at Start, or 1, and is made only while the columns hold no key. The
	// greatest key counts for nothing.
	Fresh bool

	// Codec is how Table stores the next integer; nil: as it is. Max must be
	// given: the greatest integer after which Codec can still tell the next one
	// from all others. The greatest key counts for nothing.
	Codec Codec

	// OnBehind says what [Store.Open] does about a next value that is not above
	// the greatest key in the columns. The empty one is an error. A [Reserver]
	// does not compare: its source does.
	OnBehind keysource.Remedy

	// known is the incarnation of the row as it was last read, for a [Reserver]; nil
	// for one that is read each time.
	known *atomic.Pointer[string]
}

// incarnation returns the incarnation of the row, "" where it is not known or the
// row has none.
func (q *Sequence) incarnation() string {
	if q.known == nil {
		return ""
	}
	if known := q.known.Load(); known != nil {
		return *known
	}
	return ""
}

// remember keeps the incarnation of a row that was read.
func (q *Sequence) remember(row *storedRow) {
	if q.known == nil {
		q.known = new(atomic.Pointer[string])
	}
	q.known.Store(&row.incarnation)
}

// Column is a key column. Its names are as they are stored, without quotes.
type Column struct {
	Schema string // "" for the table that is found without one
	Table  string
	Name   string

	// Unranked says that the greatest key cannot be asked for: the column
	// holds text, or leads no index, so that all rows would be read.
	Unranked bool

	// Counted says that the engine has a counter of its own for the column, which
	// may be above the greatest key: the AUTO_INCREMENT of a table of MySQL or
	// MariaDB, and SQLite's AUTOINCREMENT. Numbers of rows that were deleted are not
	// given again.
	Counted bool
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
func (q *Sequence) check(d *dialect.Dialect) error {
	if err := checkName(q.Name); err != nil {
		return err
	}
	if err := q.checkTable(d); err != nil {
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
func (q *Sequence) max() int64 { return min(cmp.Or(q.Max, math.MaxInt64), maxReserved) }

// bound returns what the row holds in table_name and column_name.
func (q *Sequence) bound() (table, column string) {
	if q.Shared {
		return "", ""
	}
	return q.Columns[0].table(), q.Columns[0].Name
}

// fail returns an Error about the sequence.
func (q *Sequence) fail(cause error, format string, args ...any) *Error {
	e := &Error{Name: q.Name, Columns: q.Columns, Err: cause, Detail: fmt.Sprintf(format, args...)}
	if q.Table != nil {
		e.Table = q.Table.Name
	}
	return e
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
//
// Where only a procedure of the application's knows the state, the Row is empty,
// and nothing is compared.
func (s *Store) Open(ctx context.Context, q Sequence) (Row, error) {
	o, err := s.open(ctx, &q)
	row := o.row
	if err == nil && o.known && row.Next < 1 && q.OnBehind != keysource.RemedyAdvance {
		return Row{}, s.belowOne(&q, row.Next)
	}
	if err != nil || !o.known || row.Next > o.greatest {
		return row, err
	}
	switch q.OnBehind {
	case keysource.RemedyWarn:
		row.Behind = true
		return row, nil
	case keysource.RemedyAdvance:
		if o.greatest >= q.limitOf(o.form) {
			return Row{}, q.exhausted(o.form, row.Next)
		}
		row.Next = o.greatest + 1
		return row, s.Advance(ctx, q, row.Next)
	}
	e := q.fail(ErrBehind, "")
	e.Next = row.Next
	return Row{}, e
}

// opening holds the results of opening a sequence.
type opening struct {
	row      Row
	known    bool           // row is
	greatest int64          // key in the columns, 0 where there is none to be compared with
	bound    bool           // the sequence was bound to a column
	form     *rowStatements // nil for a row of keyfill_sequences that is not read first
}

// open is Open but for the comparison.
func (s *Store) open(ctx context.Context, q *Sequence) (o opening, err error) {
	if err := q.check(s.dialect); err != nil {
		return o, err
	}
	if q.foreign() {
		return s.openForeign(ctx, q)
	}
	if err := s.ensure(ctx, q); err != nil {
		return o, err
	}
	if s.inside {
		if err := s.lockRowsFirst(ctx); err != nil {
			return o, err
		}
	}
	// The keys come first: those that are in the column now were reserved
	// before, so that a row read later is above them. The other way round,
	// another process could reserve and insert in between.
	greatest, ranked, err := s.greatest(ctx, q)
	if err != nil {
		return o, err
	}
	stored, err := s.read(ctx, q.Name)
	if err != nil {
		return o, err
	}
	created := stored == nil
	if created {
		if stored, err = s.create(ctx, q, greatest, ranked); err != nil {
			return o, err
		}
	}
	if o.bound, err = s.checkRow(ctx, q, stored); err != nil {
		return o, err
	}
	q.remember(stored)
	o.row, o.known, o.greatest = Row{Next: stored.next, Created: created}, true, greatest
	o.form, err = s.form(ctx, q)
	return o, err
}

// ensure creates what a sequence needs where it says so.
func (s *Store) ensure(ctx context.Context, q *Sequence) error {
	if !q.EnsureSchema {
		return nil
	}
	if err := s.EnsureSchema(ctx); err != nil || q.Procedure == "" {
		return err
	}
	return s.ensureProcedure(ctx)
}

// exhausted returns the error of a sequence whose next value is too near to its
// limit.
func (q *Sequence) exhausted(f *rowStatements, next int64) *Error {
	limit := q.limitOf(f)
	e := q.fail(keysource.ErrExhausted, "the limit is %d: make the column wider and raise max_bits, or take another source", limit)
	e.Next, e.limit = next, limit
	return e
}

// storedRow is a row as it was read.
type storedRow struct {
	next                      int64
	server                    string // as in keysource.Reservation
	table, column, parameters string

	incarnation string // "" in a key table

	value   int64 // what stands for next in a key table
	version any   // as it is compared
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
		next:        next,
		incarnation: toText(row[1]),
		server:      serverOf(row[1], row[2]),
		table:       toText(row[3]),
		column:      toText(row[4]),
		parameters:  toText(row[5]),
	}, nil
}

// create makes the row and returns it as it then is: another process may have
// made it, and used it, before.
func (s *Store) create(ctx context.Context, q *Sequence, greatest int64, ranked bool) (*storedRow, error) {
	if !q.Create {
		return nil, s.noRow(ctx, q, nil, greatest)
	}
	start := q.Start
	if start == 0 && ranked {
		counter, err := s.counter(ctx, q)
		if err != nil {
			return nil, err
		}
		greatest = max(greatest, counter)
	}
	switch {
	case q.Fresh:
		start = cmp.Or(start, 1)
		if used, err := s.used(ctx, q); err != nil {
			return nil, err
		} else if used {
			// Another process may have made the row, and used it, since it was
			// looked for.
			if stored, err := s.read(ctx, q.Name); err != nil || stored != nil {
				return stored, err
			}
			return nil, s.noRow(ctx, q, nil, 0)
		}
	case start != 0:
	case !ranked:
		return nil, q.fail(ErrStart, "")
	case greatest >= q.max():
		return nil, q.exhausted(nil, 0)
	default:
		start = greatest + 1
	}
	if q.least > 0 {
		start = max(start, q.least)
		if ranked {
			start = max(start, min(greatest, q.max())+1)
		}
		if start <= q.max()-q.gap {
			start += q.gap
		}
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

// checkRow compares a row with the sequence, and binds a shared one to its
// columns. It reports whether it has made a row for that.
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

// serves reports whether a row belongs to the sequence. The row of a shared
// sequence may have belonged to one of its columns alone before.
func (q *Sequence) serves(row *storedRow) bool {
	if q.Shared && row.table == "" {
		return true
	}
	return slices.ContainsFunc(q.Columns, func(c Column) bool {
		return row.table == c.table() && row.column == c.Name
	})
}
