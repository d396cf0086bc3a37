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
	// LockPessimistic reserves by one UPDATE, which waits for other transactions. The empty
	// text means LockPessimistic too.
	LockPessimistic = "pessimistic"

	// LockOptimistic reads the stored counter first, and then replaces it only if it is
	// still the same.
	LockOptimistic = "optimistic"
)

// KeyTable is an existing table of the application with the stored counter of one or
// several sequences, which other programs use too. Keyfill inserts nothing: an UPDATE
// changes Value and Version, and people have to insert a missing row.
//
// All names are as they are written in SQL, in quotes where they need them. Value must
// have an integer type, or a decimal type without decimals; the greatest integer of
// that type is a limit like [Sequence].Max. If the table has more than one row for a
// sequence, none is used.
//
// Triggers that write into the table are no concern of keyfill's, except that SQL
// Server refuses OUTPUT on a table with triggers.
type KeyTable struct {
	Name  string // such as KEYS, app.keys or "Keys"
	Key   string // the column that identifies a row; empty for a table of one row
	Row   string // what Key holds in the row of the sequence; empty without Key
	Value string // the column that holds the value of the stored counter
	Last  bool   // Value is the last integer in use, not the next free one

	// Version is a column that every UPDATE changes; it may be empty. It is an integer; on
	// MySQL, MariaDB and PostgreSQL it may be a timestamp, on SQL Server a rowversion. It
	// must not be NULL.
	Version string
}

// Codec converts between the next integer and the number that a table stores instead of
// it, such as the number of the key that was made last. Its methods are pure functions.
type Codec interface {
	// Residue converts next, the lowest number that is not reserved, to the value that the
	// table stores. next is from 1 to the sequence's Max + 1.
	Residue(next int64) int64

	// NextOf is the inverse of Residue.
	NextOf(residue int64) (int64, error)
}

// offset returns the lowest integer that is not reserved, minus the value in the table.
func (t *KeyTable) offset() int64 {
	if t.Last {
		return 1
	}
	return 0
}

// checkTable returns an error if the options for a stored counter outside of
// keyfill_sequences, or for how it is changed, contradict each other or the engine.
func (q *Sequence) checkTable(d *dialect.Dialect) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: sequence %q: %s", keysource.ErrOptions, q.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case q.Lock != "" && q.Lock != LockPessimistic && q.Lock != LockOptimistic:
		return refuse("its lock is neither %s nor %s", LockPessimistic, LockOptimistic)
	case q.Lock == LockOptimistic && q.Procedure != "":
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
		return refuse("the key table needs both the column that distinguishes its rows and what it holds in this one, or neither")
	}
	return nil
}

// IsForeign reports whether the stored counter is in none of keyfill's tables: in a key
// table, or known to a procedure of the application.
func (q *Sequence) IsForeign() bool {
	return q.Table != nil || q.Procedure != "" && q.Procedure != store.ReserveProcedure
}
