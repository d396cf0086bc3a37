// Package sequence reserves integers from the row of a counter, in keyfill_sequences or
// in a key table of the application. A [Sequence] names the row with its expected values;
// a [Row] reads it, and takes integers from it by one UPDATE, by replacing the value that
// was read, or by calling a procedure. [Columns] are the columns that the keys go to, and
// find which integers are in use. Package reserver finds out whether the row exists, and
// whose it is.
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

// Sequence names a row of keyfill_sequences with its expected values. Name and Columns
// are needed; all other zero values are safe.
type Sequence struct {
	// Name of the row: 1 to 190 characters, no space at either end.
	Name string

	// Columns are the columns that the keys go to: exactly one, unless Shared.
	Columns []store.Column

	// Shared reports whether the state is meant for several columns, also of other
	// programs, now or later. Its row names none: it has another one for each of Columns,
	// which is made when it is missing. A row that names one of Columns is taken as well.
	Shared bool

	// At is the store whose database the columns are in; nil: in this one's.
	At *store.Store

	// Apart reports that the columns are in a database that no store can ask, such as a
	// file of SQLite.
	Apart bool

	Claim Claim

	// Parameters is the text of the settings that may never change, at most 1,000
	// characters.
	Parameters string

	Made MadeRow

	Bounds Bounds

	EnsureSchema bool // missing tables are created; not within a transaction
	Create       bool // a missing row is made

	// Exclusive reports that no other source fills the columns: the rows of other states
	// for them are unused, or are of the same source, which has one for each value of its
	// name.
	Exclusive bool

	// Table is an existing table that holds the state; nil is keyfill_sequences. It has
	// no place for Parameters, so that none are compared, nor for the binding of the
	// state to its columns; and its row is never made: EnsureSchema and Create do not
	// apply to it.
	Table *KeyTable

	// Lock is how the state is changed: [LockOptimistic], or [LockPessimistic], which the
	// empty one is too. Inside a transaction of the application it is always the latter,
	// since a value that was read there may be old.
	Lock string

	// Procedure is the name, as it is written in SQL, of the procedure that reserves
	// instead of statements; may be empty. See [store.ReserveProcedure]. With a name of
	// the application's own and without Table, only that procedure knows the state:
	// nothing is read, made or compared except the greatest key.
	Procedure string

	// Fresh reports that keys are not the integers themselves. A row that is made begins
	// at Start, or 1, and is made only while the columns hold no key. The greatest key
	// counts for nothing.
	Fresh bool

	// Codec is how Table stores the next integer; nil: as it is. Max must be given: the
	// greatest integer after which Codec can still distinguish the next one from all
	// others. The greatest key counts for nothing.
	Codec Codec

	// OnBehind is the remedy of [reserver.Open] for a next value that is not above the
	// greatest key in the columns. The empty one is an error. A [reserver.Reserver] does
	// not compare: its source does.
	OnBehind keysource.Remedy

	// Upstream fetches the blocks of a sequence whose Parameters are [upstream.Parameters],
	// for a [reserver.Reserver]; nil for a caller that only looks at its row.
	Upstream *upstream.Upstream

	// known is the row as it was last read, for a [reserver.Reserver]; nil for one that is read
	// each time.
	known *atomic.Pointer[knownRow]
}

// Claim says which database claims the columns, and as what.
type Claim struct {
	// ClaimsAt is the store whose database claims the columns as ClaimedAs, a
	// [binding.Claim].State; nil: they are not claimed. Claims say that the state was used: see
	// [reserver.NoteUsed]. A state that was used is not made again.
	ClaimsAt *store.Store

	ClaimedAs string
}

// MadeRow says where a row begins that is made.
type MadeRow struct {
	// Start is the first integer of a new row; 0 is the one after the greatest
	// key in the columns.
	Start int64

	// Least and Gap are set for a row that was there before and is made again: it
	// begins by Gap above Least or above the greatest key, whichever is greater.
	Least, Gap int64

	// Afresh reports that Least does not count if the columns hold no key: row and keys
	// were cleared together.
	Afresh bool
}

// Bounds say which integers the sequence gives.
type Bounds struct {
	// Max is the greatest integer to be reserved; 0 is the greatest there is,
	// 2⁶³−2: one less than fits, since the next one is stored.
	Max int64

	// Below is the first integer that the engine's own counters of the columns give;
	// 0 where these are not looked at. Keys from there on are not the sequence's: Max is
	// less, and no greatest key is among them. Opening the sequence, and asking for the
	// greatest key, is [store.ErrBelow] unless each counter stands there.
	Below int64

	// PastCounter reports that the counters are not asked, for a caller that looks for
	// other faults.
	PastCounter bool

	// StartAt is the least integer that the sequence gives, 0 for none. Other sequences
	// of its column may go on below it: [reserver.Open] gives each of them an end there,
	// and is [store.ErrStartAt] where one has reserved integers from there on. It is for a
	// sequence that is not Shared, whose row is in keyfill_sequences.
	StartAt int64

	// Skip are integers that the sequence does not give, since another program gives
	// them, and no others. No greatest key is among them.
	Skip store.Range
}

// knownRow holds the facts that statements compare with a row.
type knownRow struct {
	incarnation string
	server      string // where it was read, without the incarnation; empty if that is not known
}

// Above returns the sequence, whose row is made to begin at least or above where it has
// gone, unless its columns are known to hold no key.
func (q Sequence) Above(least int64) Sequence {
	q.Made.Least, q.Made.Afresh = least, true
	return q
}

// incarnation returns the incarnation of the row, empty if it is not known or the row has
// none.
func (q *Sequence) incarnation() string { return lastRead(q).incarnation }

// lastRead returns the row of a sequence as it was last read.
func lastRead(q *Sequence) (known knownRow) {
	if q.known != nil {
		if last := q.known.Load(); last != nil {
			known = *last
		}
	}
	return known
}

// KeepRow has the sequence, and its copies, know the row as it was last read.
func (q *Sequence) KeepRow() { q.known = new(atomic.Pointer[knownRow]) }

// Remember keeps the incarnation and the server of a row that was read.
func (q *Sequence) Remember(row *staterow.Row) {
	if q.known == nil {
		q.KeepRow()
	}
	_, server, _ := strings.Cut(row.Server, "@")
	q.known.Store(&knownRow{row.Incarnation, server})
}

const maxParameters = 1000

// Check returns the error of a sequence that no database could serve.
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
	case q.Upstream != nil && (!q.HoldsBlocks() || q.IsForeign() || q.IsOptimistic()):
		return fmt.Errorf("%w: sequence %q has an Upstream and no row of its own in keyfill_sequences for it: leave it out", keysource.ErrOptions, q.Name)
	case q.Bounds.StartAt != 0 && (q.Shared || q.IsForeign()):
		return fmt.Errorf("%w: sequence %q has StartAt and no row of its own in keyfill_sequences: leave it out", keysource.ErrOptions, q.Name)
	case q.Made.Start < 0, q.Bounds.Max < 0, q.Bounds.StartAt < 0, q.Bounds.Skip.First < 0, q.Bounds.Skip.Last < q.Bounds.Skip.First, q.Bounds.Skip.Last == math.MaxInt64:
		return fmt.Errorf("%w: sequence %q starts or ends below 1", keysource.ErrOptions, q.Name)
	}
	return nil
}

// Greatest returns the greatest integer to be reserved. The row of a sequence with an upstream
// has none before it has a block.
func (q *Sequence) Greatest() int64 {
	last := q.last()
	if end := q.End(); end > 0 || q.HoldsBlocks() {
		last = min(last, end-1)
	}
	return last
}

// last is [Sequence.Greatest] whatever the row says.
func (q *Sequence) last() int64 { return min(cmp.Or(q.Bounds.Max, math.MaxInt64), store.MaxReserved) }

// Ceiling is [Sequence.Greatest], and for a sequence with an upstream the last integer of
// all its blocks.
func (q *Sequence) Ceiling() int64 {
	if q.HoldsBlocks() {
		return q.last()
	}
	return q.Greatest()
}

// End returns the first integer that the row leaves to another state, as far as it is
// known; 0 where it leaves none.
func (q *Sequence) End() int64 { return staterow.EndOf(q.incarnation()) }

// KeysEnd returns the integer from which on keys are not the sequence's; 0 for none.
func (q *Sequence) KeysEnd() int64 {
	if end := q.End(); end > 0 && !q.HoldsBlocks() && (q.Bounds.Below == 0 || end < q.Bounds.Below) {
		return end
	}
	return q.Bounds.Below
}

// Bound returns the values of the row in table_name and column_name.
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

// Serves reports whether a row belongs to the sequence. The row of a shared
// sequence may have belonged to one of its columns alone before.
func (q *Sequence) Serves(row *staterow.Row) bool {
	if q.Shared && row.Table == "" {
		return true
	}
	return slices.ContainsFunc(q.Columns, func(c store.Column) bool {
		return row.Table == c.TableName() && row.Column == c.Name
	})
}

// rowValues returns the arguments that a row is found by.
func (q *Sequence) rowValues() engine.Values {
	v := engine.Values{Name: q.Name, Row: q.Name}
	if q.Table != nil {
		v.Row = q.Table.Row
	}
	return v
}

// Meaning returns the error that a refused statement about the row of the sequence stands
// for.
func (q *Sequence) Meaning() error {
	if q.Table != nil {
		return store.ErrKeyTable
	}
	return store.ErrTables
}

// callName is the procedure's first argument.
func (q *Sequence) callName() string {
	if q.Table != nil && q.Table.Key != "" {
		return q.Table.Row
	}
	return q.Name
}

// readable reports whether the row that a procedure changes is known.
func (q *Sequence) readable() bool { return q.Table != nil || q.Procedure == store.ReserveProcedure }

// HoldsBlocks reports whether the integers of the sequence come from an upstream.
func (q *Sequence) HoldsBlocks() bool { return q.Parameters == upstream.Parameters }
