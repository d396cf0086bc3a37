package plan

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// numbering holds the rows of keyfill_sequences about a column. A state is a row that holds
// a counter.
type numbering struct {
	states  []state  // the states (rows with a counter) that number the column
	sharing []string // the names of those states (stored counters) that number other columns too
	rows    []string // the names of all rows that name the column
	shared  []string // the names in rows whose states number other columns too
	foreign string   // the name of a row that belongs to a source other than a sequence of this database; may be empty
	native  string   // the sequence of the engine from which a native source draws; may be empty
	free    string   // a name for a new state (a stored counter): the default name, or a similar one if another state has that
	lowest  int64    // the least key that no state has reserved; 0 if there is none
}

// state is a row of keyfill_sequences with the counter of the column.
type state struct {
	name string
	next int64
}

// sequenceRow is a row of keyfill_sequences: a state, which is a counter, or a binding,
// which says that a state numbers a column.
type sequenceRow struct {
	name, parameters string
	next             int64
	column           store.Column // the column that the row names
}

// isBinding reports whether the row is a binding. Its name begins with the state's name.
func (r *sequenceRow) isBinding() bool { return r.parameters == "binding" }

// binds reports whether the row is the binding of the named state to the row's column.
func (r *sequenceRow) binds(state string) bool {
	return r.isBinding() && binding.RowFor(state, r.column) == r.name
}

// readRows returns the rows of keyfill_sequences, none if there is no such table.
func (f *figures) readRows(ctx context.Context, db *sql.DB) (all []sequenceRow, err error) {
	rows, err := db.QueryContext(ctx, "SELECT name, next_value, table_name, column_name, parameters FROM keyfill_sequences")
	if sqlcode.ClassOf(f.dialect, err) == dialect.ErrorNoObject {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, table, column, parameters sql.NullString // all of these may be NULL, since Oracle stores empty text as NULL
		var next int64
		if err := rows.Scan(&name, &next, &table, &column, &parameters); err != nil {
			return nil, err
		}
		all = append(all, sequenceRow{name.String, parameters.String, next, store.Column{Table: table.String, Name: column.String}})
	}
	return all, rows.Err()
}

// readStates sets the fields of numbering, except lowest.
func (f *figures) readStates(ctx context.Context, db *sql.DB) error {
	all, err := f.readRows(ctx, db)
	if err != nil {
		return err
	}
	states := map[string]sequenceRow{}
	var own, others []sequenceRow // own are the rows that name the column, others all other rows
	for _, r := range all {
		if !r.isBinding() {
			states[r.name] = r
		}
		if r.column.Name == f.ref.Name && (r.column.Table == f.ref.Schema+"."+f.ref.Table || r.column.Table == f.ref.Table) {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	isShared := func(state string) bool {
		return slices.ContainsFunc(others, func(r sequenceRow) bool { return r.binds(state) })
	}
	var names []string
	for _, r := range own {
		f.rows = append(f.rows, r.name)
		if !r.isBinding() {
			names = append(names, r.name)
			if isShared(r.name) {
				f.shared = append(f.shared, r.name)
			}
			continue
		}
		before := len(names)
		for state := range states {
			if r.binds(state) {
				names = append(names, state)
			}
		}
		if len(names) == before { // the row names no state of this table: the counter is in another store, in an application's table, or a sequence of the engine
			f.foreign, f.native = r.name, nativeOf(&r)
		}
	}
	slices.Sort(f.rows)
	slices.Sort(f.shared)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if states[name].parameters != "" || name == keycolumn.MutexName(f.ref) { // the row is of another kind of source: recycled, snowflake, composite or maxplusone
			f.foreign = name
			continue
		}
		f.states = append(f.states, state{name, states[name].next})
		if isShared(name) {
			f.sharing = append(f.sharing, name)
		}
	}
	for f.free = f.defaultState(); f.free != "" && f.states == nil; f.free += "_2" {
		if _, taken := states[f.free]; !taken {
			break
		}
	}
	return nil
}

// nativeOf returns the name of the engine's sequence from which a native source draws the
// keys of a column, by the row that binds the column to it; empty for other rows, and if
// the name was too long for the row.
func nativeOf(r *sequenceRow) string {
	state, _, _ := strings.Cut(r.name, " for ")
	if name, isNative := strings.CutPrefix(state, "sequence "); isNative && r.binds(state) {
		return name
	}
	return ""
}

// readLowest sets lowest. It reads the states (stored counters) and the keys in one
// statement: otherwise processes with keyfill could reserve and insert between two
// statements, and their keys would be above the state that was read first.
func (f *figures) readLowest(ctx context.Context, db *sql.DB) error {
	if f.states == nil {
		return nil
	}
	var names []string
	for _, s := range f.states {
		names = append(names, f.literal(s.name))
	}
	query := fmt.Sprintf("SELECT COALESCE(MIN(%[1]s), 0) FROM %[2]s WHERE %[1]s >= (SELECT MAX(next_value) FROM keyfill_sequences WHERE name IN (%[3]s))",
		f.key, f.table, strings.Join(names, ", "))
	return db.QueryRowContext(ctx, query).Scan(&f.lowest)
}

// reserved returns the first number above all numbers that the states (stored counters)
// have reserved.
func (f *figures) reserved() int64 {
	var reserved int64
	for _, s := range f.states {
		reserved = max(reserved, s.next)
	}
	return reserved
}

// refuseForeign returns an error if the column's numbers come from a source other than a
// sequence of this database, since it is not known which keys its processes have reserved.
func (f *figures) refuseForeign() error {
	if f.foreign == "" {
		return nil
	}
	return fmt.Errorf("%s is numbered by %q, which is not here: stop keyfill, delete the column's rows of keyfill_sequences, and plan again", f.ref, f.foreign)
}
