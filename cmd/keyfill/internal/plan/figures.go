package plan

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/binding"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// planFigures holds what a plan is made of: a table as it is now.
type planFigures struct {
	dialect *dialect.Dialect
	engine  *engine
	found   *catalog.Table
	column  *catalog.Column
	ref     store.Column

	table, key string // as they are written in SQL
	written    string // the table as the policy has it, and as --table does
	keyWritten string // the column likewise

	definition *catalog.ColumnDefinition // of the column, on MySQL and MariaDB
	split      catalog.Partitioning      // of the table

	greatest int64 // the greatest key, 0 in an empty table
	counter  keycolumn.Counter
	cached   int64 // numbers that sessions may hold in advance
	room     int64 // the greatest integer that the column holds
	states   []planState
	rows     []string   // the names of the rows of keyfill_sequences that name the column
	foreign  string     // the one of them that belongs to another source than a sequence of this database
	native   string     // the sequence of the engine from which a native source draws, "" for none
	free     string     // the default name of its state, or one like it that no other state has
	shared   []string   // the members of rows that are states which number other columns too
	lowest   int64      // the least key that no state has reserved, 0 for none or without a state
	sharing  []string   // the members of states that number other columns too
	entry    *planEntry // of the table in the policy file, nil where none is known
	newName  string     // of the state in keyfill plan change, "" for none
	stopped  bool       // programs without keyfill do not go on
	gap      int64      // as asked for, 0 for the default
	end      int64      // where the plan lets the numbers of the engine begin, 0 where it has no counter
}

// planState is a row of keyfill_sequences that counts for the column.
type planState struct {
	name string
	next int64
}

// defaultGap is how far a counter is raised where the column has room.
const defaultGap = 1_000_000_000

// readFigures reads what the plans need to know of a table.
func readFigures(ctx context.Context, db *sql.DB, d *dialect.Dialect, o *Options) (*planFigures, error) {
	f := &planFigures{dialect: d, engine: engines[d.Family], gap: o.Gap, newName: o.Name, stopped: o.Stopped}
	var err error
	if f.found, err = database.ReadTable(ctx, db, d, o.Table); err != nil {
		return nil, err
	}
	if f.column, err = f.keyColumn(o.Column); err != nil {
		return nil, err
	}
	f.ref = store.Column{
		Schema: f.found.Schema, Table: f.found.Name, Name: f.column.Name, Live: f.column.Identity != "",
		Counted: f.column.Identity == "AUTO_INCREMENT" || f.column.Identity == "AUTOINCREMENT",
	}
	f.table = d.QuoteIdent(f.found.Schema) + "." + d.QuoteIdent(f.found.Name)
	f.key = d.QuoteIdent(f.column.Name)
	if err := f.write(o.Table); err != nil {
		return nil, err
	}
	if f.entry, err = readEntry(d, o.Config, o.Table); err != nil {
		return nil, err
	}
	if err := f.readDefinition(ctx, db); err != nil {
		return nil, err
	}
	if f.split, err = catalog.ReadPartitioning(ctx, d, catalog.DB(db), f.found.Schema, f.found.Name); err != nil {
		return nil, err
	}
	if !f.column.Integer {
		return f, nil
	}
	f.room = math.MaxInt64
	if f.column.Bits < 63 {
		f.room = 1<<f.column.Bits - 1
	}
	st := store.New(d, db)
	if f.greatest, err = keycolumn.Of(st, f.ref).MaxKey(ctx); err != nil {
		return nil, err
	}
	if f.counter, err = keycolumn.Of(st, f.ref).Counter(ctx); err != nil {
		return nil, err
	}
	if f.counter.Max > 0 {
		f.room = min(f.room, f.counter.Max)
	}
	if f.counter.Cache > 1 {
		var sessions int64
		if err := db.QueryRowContext(ctx, "SELECT CAST(current_setting('max_connections') AS bigint)").Scan(&sessions); err != nil {
			return nil, err
		}
		f.cached = f.counter.Cache * sessions
	}
	if f.states, err = f.readStates(ctx, db); err != nil {
		return nil, err
	}
	f.lowest, err = f.leastUnreserved(ctx, db)
	return f, err
}

// write chooses how the policy names the table and its column: the table with its schema
// if --table has one.
func (f *planFigures) write(flag string) error {
	schema, _, err := database.SplitName(f.dialect, flag)
	if err != nil {
		return err
	}
	if schema != "" {
		schema = f.found.Schema
	}
	f.written, f.keyWritten = catalog.PolicyTable(f.dialect, schema, f.found.Name), catalog.PolicyColumn(f.dialect, f.column.Name)
	return nil
}

// readDefinition reads the definition of the column of MySQL and MariaDB, on a connection
// whose sql_mode hides nothing of it.
func (f *planFigures) readDefinition(ctx context.Context, db *sql.DB) error {
	if f.dialect.Family != dialect.FamilyMySQL {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1"); err != nil {
		return err
	}
	err = conn.Raw(func(raw any) error {
		var err error
		f.definition, err = catalog.ReadColumnDefinition(ctx, f.dialect, catalog.Conn(raw.(driver.Conn)), f.found.Schema, f.found.Name, f.column.Name)
		return err
	})
	if err == nil && f.definition == nil {
		err = fmt.Errorf("SHOW CREATE TABLE shows no column %s of %s: name a table, and no view", f.column.Name, f.found.Name)
	}
	return err
}

// leastUnreserved reads lowest. The states are read again, in one statement with the
// keys: processes with keyfill reserve and insert meanwhile, and a key of theirs would be
// above a state that was read before.
func (f *planFigures) leastUnreserved(ctx context.Context, db *sql.DB) (key int64, err error) {
	if f.states == nil {
		return 0, nil
	}
	var names []string
	for _, s := range f.states {
		names = append(names, f.literal(s.name))
	}
	query := fmt.Sprintf("SELECT COALESCE(MIN(%[1]s), 0) FROM %[2]s WHERE %[1]s >= (SELECT MAX(next_value) FROM keyfill_sequences WHERE name IN (%[3]s))",
		f.key, f.table, strings.Join(names, ", "))
	err = db.QueryRowContext(ctx, query).Scan(&key)
	return key, err
}

// reserved returns the lowest number that no state has reserved.
func (f *planFigures) reserved() int64 {
	var reserved int64
	for _, s := range f.states {
		reserved = max(reserved, s.next)
	}
	return reserved
}

// keyColumn returns the column of a name, or the one that the engine numbers.
func (f *planFigures) keyColumn(name string) (*catalog.Column, error) {
	if name != "" {
		return database.ColumnOf(f.dialect, f.found, name, " in --column")
	}
	i := slices.IndexFunc(f.found.Columns, func(c catalog.Column) bool { return c.Identity != "" })
	if i < 0 {
		i = slices.IndexFunc(f.found.Columns, func(c catalog.Column) bool { return c.RowID })
	}
	if i < 0 {
		return nil, fmt.Errorf("the engine numbers no column of %s: name its key column in --column", f.found.Name)
	}
	return &f.found.Columns[i], nil
}

// readStates reads the rows of keyfill_sequences that count for the column: those that
// name it, and the states that are bound to it. It sets rows, foreign and shared.
func (f *planFigures) readStates(ctx context.Context, db *sql.DB) ([]planState, error) {
	rows, err := db.QueryContext(ctx, "SELECT name, next_value, table_name, column_name, parameters FROM keyfill_sequences")
	if err != nil {
		if f.isMissing(err) {
			return nil, nil
		}
		return nil, err
	}
	defer rows.Close()
	next, fixed := map[string]int64{}, map[string]string{} // value and parameters, by name
	bindings := map[string]store.Column{}                  // by the names of their rows
	elsewhere := map[string]store.Column{}                 // likewise, of other columns
	var names []string
	for rows.Next() {
		var name, table, column, parameters sql.NullString // Oracle has no empty text
		var value int64
		if err := rows.Scan(&name, &value, &table, &column, &parameters); err != nil {
			return nil, err
		}
		isBinding := parameters.String == "binding"
		if !isBinding {
			next[name.String], fixed[name.String] = value, parameters.String
		}
		if table.String != f.ref.Schema+"."+f.ref.Table && table.String != f.ref.Table || column.String != f.ref.Name {
			if isBinding {
				elsewhere[name.String] = store.Column{Table: table.String, Name: column.String}
			}
			continue
		}
		f.rows = append(f.rows, name.String)
		if isBinding {
			bindings[name.String] = store.Column{Table: table.String, Name: column.String}
		} else {
			names = append(names, name.String)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	slices.Sort(f.rows)
	for row, column := range elsewhere {
		for _, state := range names {
			if binding.RowFor(state, column) == row {
				f.shared = append(f.shared, state)
			}
		}
	}
	slices.Sort(f.shared)
	f.shared = slices.Compact(f.shared)
	for row, column := range bindings {
		found := false
		for state := range next {
			if binding.RowFor(state, column) == row {
				names, found = append(names, state), true
			}
		}
		if !found { // in another store, in a table of the application's, or a sequence of the engine
			f.foreign = row
			f.native = nativeOf(row, column)
		}
	}
	slices.Sort(names)
	var states []planState
	for _, name := range slices.Compact(names) {
		if fixed[name] != "" || name == keycolumn.MutexName(f.ref) { // series, snowflakes, spread keys, maxplusone
			f.foreign = name
			continue
		}
		states = append(states, planState{name, next[name]})
		for row, column := range elsewhere {
			if binding.RowFor(name, column) == row {
				f.sharing = append(f.sharing, name)
			}
		}
	}
	for f.free = f.defaultState(); f.free != "" && states == nil; f.free += "_2" {
		if _, taken := next[f.free]; !taken {
			break
		}
	}
	return states, nil
}

// nativeOf returns the name of the engine's sequence from which a native source draws the
// keys of a column, by the row of keyfill_sequences that binds the column to it; "" for
// other rows, and where the name was too long for the row.
func nativeOf(row string, column store.Column) string {
	state, _, found := strings.Cut(row, " for ")
	if name, isNative := strings.CutPrefix(state, "sequence "); found && isNative && binding.RowFor(state, column) == row {
		return name
	}
	return ""
}

// refuseForeign returns an error for a column that another source numbers than a sequence
// of this database: which keys processes have reserved is not known then.
func (f *planFigures) refuseForeign() error {
	if f.foreign == "" {
		return nil
	}
	return fmt.Errorf("%s is numbered by %q, which is no sequence in this database: stop the programs with keyfill, delete the rows of keyfill_sequences that name the column, and print the plan again", f.ref, f.foreign)
}

// isMissing reports whether an error says that a table is not there.
func (f *planFigures) isMissing(err error) bool {
	return sqlcode.ClassOf(f.dialect, err) == dialect.ErrorNoObject
}

// used returns a number above all that are stored, that the counter has given, and that
// a state has reserved.
func (f *planFigures) used() int64 {
	used := max(f.greatest+min(1, math.MaxInt64-f.greatest), f.counter.Next, 1)
	for _, s := range f.states {
		used = max(used, s.next)
	}
	return used
}

// keyBits returns what the policy says in max_bits for the column: the greatest word
// that fits, 0 where none does.
func (f *planFigures) keyBits() int {
	for _, bits := range []int{63, 53, 31} {
		if f.column.Bits >= bits {
			return bits
		}
	}
	return 0
}

// errNoRoom is returned when no gap fits into the column.
var errNoRoom = errors.New("the column has no room for a gap: make it wider first, see keyfill plan bigint")

// raised returns where a gap above from ends.
func (f *planFigures) raised(from int64) (to int64, err error) {
	left := f.room - from
	gap := f.gap
	if gap == 0 {
		gap = min(defaultGap, left/2)
	}
	if gap < 1000 || gap > left {
		return 0, fmt.Errorf("%w: %d numbers are left", errNoRoom, max(left, 0))
	}
	return from + gap, nil
}

// summary returns the figures for people.
func (f *planFigures) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s: %s", f.ref, f.dialect.Title, f.column.Type)
	if f.column.Identity != "" {
		fmt.Fprintf(&b, ", %s", f.column.Identity)
	}
	b.WriteString("\n")
	if !f.column.Integer {
		return b.String()
	}
	fmt.Fprintf(&b, "  greatest key     %d\n", f.greatest)
	if f.counter.Next > 0 {
		fmt.Fprintf(&b, "  counter          %d\n", f.counter.Next)
	}
	if f.cached > 0 {
		fmt.Fprintf(&b, "  held in advance  %d (CACHE times max_connections)\n", f.cached)
	}
	fmt.Fprintf(&b, "  greatest integer %d\n", f.room)
	for _, s := range f.states {
		fmt.Fprintf(&b, "  state %s stands at %d\n", s.name, s.next)
	}
	return b.String()
}

// literal returns a text as SQL has it.
func (f *planFigures) literal(text string) string {
	if f.dialect.Lexis.BackslashEscapes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
