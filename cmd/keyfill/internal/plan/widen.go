package plan

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// planBigint returns the steps by which an integer column becomes one of 64 bits.
func planBigint(f *planFigures) ([]Step, error) {
	switch {
	case !f.column.Integer:
		return nil, fmt.Errorf("%s is %s: a plan bigint needs an integer column", f.ref, f.column.Type)
	case f.dialect.Family == dialect.FamilySQLite || f.column.Bits >= 63:
		return []Step{{Title: fmt.Sprintf("Leave the column as it is: %s holds 63 bits.", f.column.Type)}}, nil
	}
	alter, references := "", ""
	switch f.dialect.Family {
	case dialect.FamilyMySQL:
		kind := "BIGINT"
		for _, word := range []string{"unsigned", "zerofill"} {
			if strings.Contains(strings.ToLower(f.definition.Type), " "+word) {
				kind += " " + strings.ToUpper(word)
			}
		}
		alter = fmt.Sprintf("ALTER TABLE %s MODIFY %s %s", f.table, f.key, f.definition.With(kind))
		references = fmt.Sprintf("SELECT table_schema, table_name, column_name, constraint_name FROM information_schema.key_column_usage WHERE referenced_table_schema = %s AND referenced_table_name = %s AND referenced_column_name = %s",
			f.literal(f.found.Schema), f.literal(f.found.Name), f.literal(f.column.Name))
	case dialect.FamilyPostgreSQL:
		alter = fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE bigint", f.table, f.key)
		references = fmt.Sprintf("SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'f' AND confrelid = %s::regclass", f.literal(f.table))
	case dialect.FamilySQLServer:
		alter = fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s bigint NOT NULL", f.table, f.key)
		references = fmt.Sprintf("SELECT OBJECT_NAME(parent_object_id), name FROM sys.foreign_keys WHERE referenced_object_id = OBJECT_ID(%s)", f.literal(f.table))
	default:
		alter = fmt.Sprintf("ALTER TABLE %s MODIFY %s NUMBER(19)", f.table, f.key)
		references = fmt.Sprintf("SELECT c.table_name, c.constraint_name FROM all_constraints c JOIN all_constraints p ON p.owner = c.r_owner AND p.constraint_name = c.r_constraint_name WHERE c.constraint_type = 'R' AND p.owner = %s AND p.table_name = %s",
			f.literal(f.found.Schema), f.literal(f.found.Name))
	}
	widen := Step{
		Title: "Make the column wider. The server writes the whole table again, and statements on it wait: measure it on a copy, and take an hour with little load.",
		SQL:   []string{alter},
	}
	if f.dialect.Family == dialect.FamilyMySQL && strings.Contains(alter, `\`) {
		// The definition was read as a server writes it without that mode.
		widen.SQL = []string{"SET sql_mode = REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')", alter}
	}
	if f.dialect.Family == dialect.FamilyPostgreSQL {
		widen.Title += " An INSERT with RETURNING of the column may fail once for each connection that has prepared it (cached plan must not change result type, 0A000): run its transaction again."
	}
	if f.dialect.Family == dialect.FamilyPostgreSQL && f.counter.Sequence != "" {
		widen.SQL = append(widen.SQL, fmt.Sprintf("ALTER SEQUENCE %s AS bigint", f.counter.Sequence))
	}
	return []Step{{
		Title: "Find the columns that refer to it. Make each of them wider first: on MySQL and MariaDB drop the foreign key, widen both columns, and add the key again.",
		Check: references,
		Look:  "every row names a foreign key. Where there is none, go on.",
	}, {
		Title: "See that the programs read the column into 64 bits, also in the middle of a batch: int32 in Go, int in Java and C# and Number beyond 2^53 in JavaScript do not hold it.",
		Check: fmt.Sprintf("SELECT MAX(%s) FROM %s", f.key, f.table),
		Look:  "how much of 31 bits, 2147483647, is used.",
	}, widen, {
		Title: "Take max_bits: 31 out of the policy, in all processes, before a key is beyond 31 bits.",
	}}, nil
}

// planUUID returns the steps by which a table gets a UUID column beside its key.
func planUUID(f *planFigures) ([]Step, error) {
	name := f.column.Name + "_uuid"
	if f.found.Column(f.dialect, f.dialect.Fold(name, true)) != nil {
		return nil, fmt.Errorf("%s has a column %s already: rename it", f.found.Name, name)
	}
	column, written := f.dialect.QuoteIdent(name), catalog.PolicyColumn(f.dialect, name)
	index := f.dialect.QuoteIdent(f.found.Name + "_" + name)
	kind, layout, notNull := "CHAR(36) CHARACTER SET ascii COLLATE ascii_bin", "", ""
	switch f.dialect.Family {
	case dialect.FamilyMySQL:
		notNull = fmt.Sprintf("ALTER TABLE %s MODIFY %s %s NOT NULL", f.table, column, kind)
	case dialect.FamilyPostgreSQL:
		kind, notNull = "uuid", fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", f.table, column)
	case dialect.FamilySQLite:
		kind = "TEXT"
	case dialect.FamilySQLServer:
		kind, notNull = "uniqueidentifier", fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s uniqueidentifier NOT NULL", f.table, column)
	default:
		kind, layout, notNull = "RAW(16)", "", fmt.Sprintf("ALTER TABLE %s MODIFY %s NOT NULL", f.table, column)
	}
	add := "ADD COLUMN"
	if f.dialect.Family == dialect.FamilySQLServer || f.dialect.Family == dialect.FamilyOracle {
		add = "ADD"
	}
	on := f.table
	if f.dialect.Family == dialect.FamilySQLite {
		index, on = f.dialect.QuoteIdent(f.found.Schema)+"."+index, f.dialect.QuoteIdent(f.found.Name)
	}
	indexes, said := []string{fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s)", index, on, column)}, ""
	isWhole := f.split.CanBeUnique([]string{name})
	switch {
	case f.dialect.Family == dialect.FamilyPostgreSQL && isWhole:
		indexes[0] = fmt.Sprintf("CREATE UNIQUE INDEX CONCURRENTLY %s ON %s (%s)", index, on, column) // INSERTs go on
	case f.dialect.Family == dialect.FamilyPostgreSQL:
		indexes = f.indexesOfParts(name)
		said = " PostgreSQL makes no unique index over partitions without their columns: each partition has one of its own, and each new one needs one."
	case f.dialect.Family == dialect.FamilyMySQL && !isWhole:
		indexes[0] = fmt.Sprintf("CREATE INDEX %s ON %s (%s)", index, on, column)
		said = " The server makes no unique index of a table with partitions without their columns, so that this one keeps no UUID from being stored twice."
	case f.dialect.Family == dialect.FamilySQLServer:
		indexes[0] += fmt.Sprintf(" WHERE %s IS NOT NULL", column) // it takes one NULL only
	}
	done := fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s IS NULL", f.table, column)
	steps := []Step{{
		Title: "Add the column, which old programs do not see, and its index." + said,
		SQL:   append([]string{fmt.Sprintf("ALTER TABLE %s %s %s %s NULL", f.table, add, column, kind)}, indexes...),
	}, {
		Title:  "Let keyfill fill it for new rows, beside the key, which keeps its own source. Add the entry of the key itself where keyfill fills that too.",
		Policy: fmt.Sprintf("%s: {keys: [{column: %s, source: uuidv7%s}]}", catalog.YAMLString(f.written), catalog.YAMLString(written), layout),
	}, {
		Title: fmt.Sprintf("Give keys to the rows that have none: keyfill backfill --table %s --column %s --config FILE, with the flags of this database. Run it once more when the last program without keyfill has ended.", shellWord(f.written), shellWord(written)),
		Check: done,
		Look:  "it is 0.",
	}}
	if notNull != "" {
		steps = append(steps, Step{Title: "Let the engine refuse rows without it, when every program that inserts has keyfill.", SQL: []string{notNull}, Check: done, Look: "it is 0."})
	}
	return append(steps, Step{
		Title: "Let readers use the new column, and the tables that refer to this one: each gets a column of its own in the same way, filled by a join over the old key.",
	}), nil
}

// indexesOfParts returns the statements that make a unique index of a column for each partition
// of PostgreSQL, beside which INSERTs go on.
func (f *planFigures) indexesOfParts(column string) (statements []string) {
	q := f.dialect.QuoteIdent
	for _, part := range f.split.Parts {
		statements = append(statements, fmt.Sprintf("CREATE UNIQUE INDEX CONCURRENTLY %s ON %s.%s (%s)", q(part.Name+"_"+column), q(part.Schema), q(part.Name), q(column)))
	}
	return statements
}
