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
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
)

// figures holds the facts that a plan is made from: a table as it is now, and the policy.
type figures struct {
	Options
	Table   string // as --table names it
	dialect *dialect.Dialect
	engine  *engine
	found   *catalog.Table
	column  *catalog.Column
	ref     store.Column

	table, key string // the names of the table and its key, as SQL writes them
	written    string // the table's name as the policy writes it, with a schema if --table has one
	keyWritten string // the column's name as the policy writes it

	definition *catalog.ColumnDefinition // the column's definition, on MySQL and MariaDB
	split      catalog.Partitioning      // how the table is partitioned

	greatest  int64 // the greatest key, 0 in an empty table
	counter   keycolumn.Counter
	cached    int64  // how many numbers sessions may hold in their caches
	room      int64  // the greatest integer that fits into the column
	numbering        // the rows of keyfill_sequences about the column
	entry     *entry // the table's entry in the policy file, nil if it is not known
	index     string // the name of the index that the plan uuid adds; empty if the plan ends with the new column
	end       int64  // the first number that the plan leaves to the engine; 0 if the engine has no counter for the column
}

// defaultGap is by how much a counter is raised if --gap is not given and the column has
// room for it.
const defaultGap = 1_000_000_000

// readFigures reads the facts about a table that a plan of a kind needs.
func readFigures(ctx context.Context, db *sql.DB, d *dialect.Dialect, kind string, o *Options, table string) (*figures, error) {
	f := &figures{Options: *o, Table: table, dialect: d, engine: engines[d.Family]}
	var err error
	if f.found, err = database.ReadTable(ctx, db, d, f.Table); err != nil {
		return nil, err
	}
	if f.column, err = f.keyColumn(f.Column); err != nil {
		return nil, err
	}
	f.ref = store.Column{
		Schema: f.found.Schema, Table: f.found.Name, Name: f.column.Name, Live: f.column.Identity != "",
		Counted: f.column.Identity == "AUTO_INCREMENT" || f.column.Identity == "AUTOINCREMENT",
	}
	f.table = d.QuoteIdent(f.found.Schema) + "." + d.QuoteIdent(f.found.Name)
	f.key = d.QuoteIdent(f.column.Name)
	if err := f.write(); err != nil {
		return nil, err
	}
	if f.entry, err = readEntry(d, f.Config, f.Table); err != nil {
		return nil, err
	}
	if kind != "bigint" && kind != "uuid" && f.entry.isNumbered(f.column.Name) {
		return nil, fmt.Errorf("%s has numbers with a format, a period or a scope: make its column, index and states as docs/numbers.md shows", f.ref)
	}
	if err := f.prepare(ctx, db); err != nil {
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
	if err := f.readStates(ctx, db); err != nil {
		return nil, err
	}
	return f, f.readLowest(ctx, db)
}

// write sets the names of the table and the column as the policy writes them: the table
// with its schema if --table has one.
func (f *figures) write() error {
	schema, _, err := database.SplitName(f.dialect, f.Table)
	if err != nil {
		return err
	}
	if schema != "" {
		schema = f.found.Schema
	}
	f.written, f.keyWritten = catalog.PolicyTable(f.dialect, schema, f.found.Name), catalog.PolicyColumn(f.dialect, f.column.Name)
	return nil
}

// prepare reads what the engine's statements have to repeat, such as a column's definition.
func (f *figures) prepare(ctx context.Context, db *sql.DB) error {
	if f.engine.prepare == nil {
		return nil
	}
	return f.engine.prepare(ctx, f, db)
}

// readDefinition reads the definition of the column on MySQL and MariaDB, on a connection
// whose sql_mode lets the server show all of it.
func readDefinition(ctx context.Context, f *figures, db *sql.DB) error {
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

// keyColumn returns the column with that name. If the name is empty, it returns the column
// that the engine numbers.
func (f *figures) keyColumn(name string) (*catalog.Column, error) {
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

// used returns the first number above all stored keys, above the numbers that the engine's
// counter has given, and above all numbers that keyfill has reserved.
func (f *figures) used() int64 {
	used := max(f.greatest+min(1, math.MaxInt64-f.greatest), f.counter.Next, 1)
	for _, s := range f.states {
		used = max(used, s.next)
	}
	return used
}

// keyBits returns the value of max_bits for the column in the policy: the widest integer
// that it holds, 0 if it holds none.
func (f *figures) keyBits() int {
	for _, bits := range []int{63, 53, 31} {
		if f.column.Bits >= bits {
			return bits
		}
	}
	return 0
}

// errNoRoom is returned when no gap fits into the column.
var errNoRoom = errors.New("the column has no room for a gap: make it wider first, see keyfill plan bigint")

// raised returns the first number after a gap of unused numbers that begins at from.
func (f *figures) raised(from int64) (to int64, err error) {
	left := f.room - from
	gap := f.Gap
	if gap == 0 {
		gap = min(defaultGap, left/2)
	}
	if gap < 1000 || gap > left {
		return 0, fmt.Errorf("%w: %d numbers are left", errNoRoom, max(left, 0))
	}
	return from + gap, nil
}

// summary returns the facts about the table and its counters as text for people.
func (f *figures) summary() string {
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

// literal returns a text as a string of SQL.
func (f *figures) literal(text string) string { return literal(f.dialect, text) }

// literal returns a text as a string of SQL.
func literal(d *dialect.Dialect, text string) string {
	if d.Lexis.BackslashEscapes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
