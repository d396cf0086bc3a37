package sequence

import (
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/keysource"
)

// Values of [Sequence].Lock.
const (
	// LockPessimistic, also meant by the empty text, reserves by one UPDATE
	// that waits for others.
	LockPessimistic = "pessimistic"

	// LockOptimistic reads the state first, and then replaces it only where it is
	// still the same.
	LockOptimistic = "optimistic"
)

// KeyTable is an existing table with the state of one sequence or of several,
// which other programs use too. Nothing is added to it: an UPDATE changes Value
// and Version, and a row that is missing is made by hand.
//
// All names are as they are written in SQL, in quotes where they have to be.
// Value must be of an integer type, or a decimal one without decimals; the
// greatest integer of that type is a limit like [Sequence].Max. Of more than one
// row for a sequence none is used.
//
// Triggers that write into the table are the table's own business, but that SQL
// Server refuses OUTPUT where there are any.
type KeyTable struct {
	Name  string // KEYS, app.keys, "Keys"
	Key   string // the column that identifies a row; empty for a table of one row
	Row   string // what Key holds in the row of the sequence; "" without Key
	Value string // the column with the state
	Last  bool   // the state is the last integer in use, not the next free one

	// Version is a column that every UPDATE changes; may be empty. It is an integer; on
	// MySQL, MariaDB and PostgreSQL it may be a timestamp, on SQL Server a rowversion. It
	// must not be NULL.
	Version string
}

// Codec is how a table stores a number that is not the next integer itself: the
// number of the key that was made last, say. Its methods are pure functions.
type Codec interface {
	// Residue returns the value in the table while next is the lowest number that is not
	// reserved: one from 1 to the sequence's Max + 1.
	Residue(next int64) int64

	// NextOf is the inverse of Residue.
	NextOf(residue int64) (int64, error)
}

// offset is the lowest integer that is not reserved less the value in the table.
func (t *KeyTable) offset() int64 {
	if t.Last {
		return 1
	}
	return 0
}

// checkTable returns the error of a state that is not in keyfill_sequences, or is
// changed in a way that it cannot be.
func (q *Sequence) checkTable(d *dialect.Dialect) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: sequence %q: %s", keysource.ErrOptions, q.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case q.Lock != "" && q.Lock != LockPessimistic && q.Lock != LockOptimistic:
		return refuse("its lock is neither %s nor %s", LockPessimistic, LockOptimistic)
	case q.IsOptimistic() && q.Procedure != "":
		return refuse("a procedure locks as it does: say no lock beside it")
	case q.Codec != nil && (q.Table == nil || q.Procedure != ""):
		return refuse("only a key table that is changed by statements stores other numbers than the next one")
	case q.Codec != nil && q.Bounds.Max == 0:
		return refuse("it stores other numbers than the next one, and the greatest that it can store is not given")
	case q.Procedure != "" && engine.Of(d).Procedures.Call == "":
		return refuse("%s has no procedures: reserve by statements", d.Title)
	case q.Procedure != "" && engine.SplitName(d, q.Procedure) == nil:
		return refuse("the procedure is named as no name is written in SQL")
	case q.Procedure == store.ReserveProcedure && q.Table != nil:
		return refuse("%s works on keyfill_sequences: name a procedure of the key table's own", store.ReserveProcedure)
	case q.Table == nil:
		return nil
	}
	t := q.Table
	if names := engine.SplitName(d, t.Name); names == nil {
		return refuse("the key table is named as no table is written in SQL")
	}
	for _, c := range []struct{ what, name string }{{"key", t.Key}, {"value", t.Value}, {"version", t.Version}} {
		if c.name != "" && len(engine.SplitName(d, c.name)) != 1 {
			return refuse("the %s column of the key table is named as no column is written in SQL", c.what)
		}
	}
	switch {
	case t.Value == "":
		return refuse("the key table has no value column")
	case (t.Key == "") != (t.Row == ""):
		return refuse("the key table needs both the column that tells its rows apart and what it holds in this one, or neither")
	}
	return nil
}

// IsOptimistic reports whether the row is replaced, without a lock, where it is as it was read.
func (q *Sequence) IsOptimistic() bool { return q.Lock == LockOptimistic }

// IsForeign reports whether the state is in none of keyfill's tables.
func (q *Sequence) IsForeign() bool {
	return q.Table != nil || q.Procedure != "" && q.Procedure != store.ReserveProcedure
}
