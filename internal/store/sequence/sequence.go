// Package sequence reserves integers from the row of a counter, in keyfill_sequences or
// in a key table of the application. A [Sequence] names the row with its expected
// values; a [Row] reads it, and reserves integers from it by one UPDATE, by replacing
// the value that was read, or by calling a procedure. [Columns] are the columns that
// get the keys, and find which integers are in use. Package reserver finds out whether
// the row exists, and which columns it serves.
package sequence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/staterow"
	"github.com/keyfill/keyfill/internal/store/upstream"
	"github.com/keyfill/keyfill/keysource"
)

// Sequence names a row of keyfill_sequences and its expected values. Name and Columns
// must be set; all other zero values are safe.
type Sequence struct {
	// Name is the name of the row: 1 to 190 characters, without a space at either end.
	Name string

	// Columns are the columns that the keys go to: exactly one, unless Shared.
	Columns []store.Column

	// Shared reports whether the row may serve several columns, also of other programs,
	// now or later. It then names no column itself: a binding row for each of Columns is
	// made if it is missing. A row that names one of Columns is accepted as well.
	Shared bool

	// At is the store whose database has the columns; nil means the store of the row.
	At *store.Store

	// Apart reports that the columns are in a database that no store can query, such as a
	// file of SQLite.
	Apart bool

	Claim Claim

	// Parameters is the text of the settings that may never change, at most 1,000
	// characters.
	Parameters string

	Made MadeRow

	Bounds Bounds

	EnsureSchema bool // create missing tables; not within a transaction
	Create       bool // make the row if it is missing

	// Exclusive reports that no other source fills the columns: rows of other states
	// (stored counters) that name them are unused, or belong to the same source, which has
	// one state for each value of its name.
	Exclusive bool

	// OfValue reports that the name holds a value of the execution, such as a tenant: errors do
	// not name the states (stored counters) of other values.
	OfValue bool

	// Table is an existing table that holds the state (stored counter); nil means
	// keyfill_sequences. It has no column for Parameters, so they are not compared, and
	// none for the binding of the state to its columns. Its row is never made:
	// EnsureSchema and Create do not apply to it.
	Table *KeyTable

	// Lock is how the stored counter is changed: [LockOptimistic] or [LockPessimistic];
	// empty means LockPessimistic. Inside a transaction of the application it is always
	// pessimistic, since a value that was read there may be old.
	Lock string

	// Procedure is the name, as it is written in SQL, of the procedure that reserves
	// instead of statements; it may be empty. See [store.ReserveProcedure]. If it is a
	// procedure of the application and Table is nil, only that procedure knows the stored
	// counter: nothing is read, made or compared except the greatest key.
	Procedure string

	// Fresh reports that the keys are not the integers themselves. A new row begins at
	// Start, or 1, and is made only while the columns hold no key. The greatest key does
	// not matter.
	Fresh bool

	// Codec converts the next integer to what Table stores; nil means that Table stores it
	// as it is. With a Codec, Max must be given: the greatest integer after which Codec
	// can still distinguish the next one from all others. The greatest key does not
	// matter.
	Codec Codec

	// OnBehind is what [reserver.Open] does if the next value is not above the greatest key
	// in the columns; empty means an error. A [reserver.Reserver] does not compare the two:
	// the source that uses it does.
	OnBehind keysource.Remedy

	// Upstream fetches blocks of integers from another store, for a [reserver.Reserver] of
	// a sequence whose Parameters are [upstream.Parameters]; nil for a caller that only
	// reads the row.
	Upstream *upstream.Upstream

	// known is the row as it was last read, for a [reserver.Reserver]; nil if the row is
	// read each time.
	known *atomic.Pointer[knownRow]
}

// Claim says in which database, and under which name, the columns are claimed for the
// sequence.
type Claim struct {
	// ClaimsAt is the store in whose database the columns are claimed; nil means that they
	// are not claimed. ClaimedAs is the [binding.Claim].State that claims them. Claims
	// record that the stored counter was used: see [reserver.NoteUsed]. A stored counter
	// that was used is not made again.
	ClaimsAt *store.Store

	ClaimedAs string
}

// MadeRow says where a row begins that has to be made.
type MadeRow struct {
	// Start is the first integer of a new row; zero means the integer after the greatest
	// key in the columns.
	Start int64

	// Least and Gap are set for a row that existed before and is made again: it begins by
	// Gap above Least or above the greatest key, whichever is greater.
	Least, Gap int64

	// Afresh reports that Least is ignored if the columns hold no key: the row and the
	// keys were then removed together.
	Afresh bool
}

// knownRow holds what is known of a row from the last time it was read; statements
// compare it.
type knownRow struct {
	incarnation string
	server      string // where the row was read, without the incarnation; empty if not known
	answered    string // what [staterow.Answered] says of both
}

// Above returns a copy of the sequence. If its row is gone and has to be made, the row
// begins at least or above, unless the columns are known to hold no key.
func (q Sequence) Above(least int64) Sequence {
	q.Made.Least, q.Made.Afresh = least, true
	return q
}

// lastRead returns the row of a sequence as it was last read.
func lastRead(q *Sequence) (known knownRow) {
	if q.known != nil {
		if last := q.known.Load(); last != nil {
			known = *last
		}
	}
	return known
}

// KeepRow makes the sequence, and copies made of it later, remember the row as it was
// last read.
func (q *Sequence) KeepRow() { q.known = new(atomic.Pointer[knownRow]) }

// Remember stores the incarnation (the random text) and the server of a row that was
// read.
func (q *Sequence) Remember(row *staterow.Row) {
	if q.known == nil {
		q.KeepRow()
	}
	_, server, _ := strings.Cut(row.Server, "@")
	server, _, _ = strings.Cut(server, store.ForeignMark)
	q.known.Store(&knownRow{row.Incarnation, server, staterow.Answered(row.Incarnation, server)})
}

// Incarnation returns the incarnation (the random text) of the row as it was last read.
func (q *Sequence) Incarnation() string { return lastRead(q).incarnation }

const maxParameters = 1000

// Check returns an error if the options are such that no database could serve the
// sequence.
func (q *Sequence) Check(d *dialect.Dialect) error {
	if err := store.CheckName(q.Name); err != nil {
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
	case q.Upstream != nil && (!q.HoldsBlocks() || q.IsForeign() || q.Lock == LockOptimistic):
		return fmt.Errorf("%w: sequence %q has an Upstream and no row of its own in keyfill_sequences for it: leave it out", keysource.ErrOptions, q.Name)
	}
	return checkBounds(q)
}

// Greatest returns the greatest integer that can be reserved. A sequence with an
// upstream store has none before its row has a block of integers.
func (q *Sequence) Greatest() int64 {
	last := q.last()
	if end := q.End(); end > 0 || q.HoldsBlocks() {
		last = min(last, end-1)
	}
	return last
}

// last returns the greatest integer that can be reserved, without the end that the row
// may have.
func (q *Sequence) last() int64 { return min(cmp.Or(q.Bounds.Max, math.MaxInt64), store.MaxReserved) }

// Ceiling returns [Sequence.Greatest]; for a sequence with an upstream store it returns
// the last integer of all its blocks of integers.
func (q *Sequence) Ceiling() int64 {
	if q.HoldsBlocks() {
		return q.last()
	}
	return q.Greatest()
}

// End returns the first integer that the row leaves to another state (a stored
// counter), as far as it is known; 0 if it leaves none.
func (q *Sequence) End() int64 { return staterow.EndOf(lastRead(q).incarnation) }

// KeysEnd returns the lowest integer from which on keys do not belong to the sequence;
// 0 if there is none.
func (q *Sequence) KeysEnd() int64 {
	if q.HoldsBlocks() {
		return q.Bounds.KeysEnd(0)
	}
	return q.Bounds.KeysEnd(q.End())
}

// Bound returns the values that table_name and column_name have in the row.
func (q *Sequence) Bound() (table, column string) {
	if q.Shared {
		return "", ""
	}
	return q.Columns[0].TableName(), q.Columns[0].Name
}

// Fail returns an Error about the sequence.
func (q *Sequence) Fail(cause error, format string, args ...any) *store.Error {
	e := &store.Error{Name: q.Name, Columns: q.Columns, Err: cause, Detail: fmt.Sprintf(format, args...)}
	if q.Table != nil {
		e.Table = q.Table.Name
	}
	return e
}

// Serves reports whether a row belongs to the sequence. The row of a shared sequence
// may name one of its columns, if it served that column alone before.
func (q *Sequence) Serves(row *staterow.Row) bool {
	if q.Shared && row.Table == "" {
		return true
	}
	return slices.ContainsFunc(q.Columns, func(c store.Column) bool {
		return row.Table == c.TableName() && row.Column == c.Name
	})
}

// rowValues returns the arguments by which a statement finds the row.
func (q *Sequence) rowValues() engine.Values {
	v := engine.Values{Name: q.Name, Row: q.Name}
	if q.Table != nil {
		v.Row = q.Table.Row
	}
	return v
}

// Meaning returns the error to report if the engine refuses a statement about the row.
func (q *Sequence) Meaning() error {
	if q.Table != nil {
		return store.ErrKeyTable
	}
	return store.ErrTables
}

// callName returns the first argument for the procedure: the name of the counter.
func (q *Sequence) callName() string {
	if q.Table != nil && q.Table.Key != "" {
		return q.Table.Row
	}
	return q.Name
}

// readable reports whether keyfill can read the row that the procedure changes.
func (q *Sequence) readable() bool { return q.Table != nil || q.Procedure == store.ReserveProcedure }

// HoldsBlocks reports whether the integers of the sequence come from an upstream store.
func (q *Sequence) HoldsBlocks() bool { return q.Parameters == upstream.Parameters }
