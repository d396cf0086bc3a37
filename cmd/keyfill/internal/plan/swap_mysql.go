package plan

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// swapMySQL swaps columns by one ALTER TABLE for each table, between statements that drop
// the foreign keys and add them again. MySQL and MariaDB commit each of these at once, so
// that each one asks the catalog whether it has still to be done.
var swapMySQL = &swapRules{
	limit: 64, runes: true, caselessColumns: true,
	refs: `SELECT table_schema, table_name, constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name, ''
FROM information_schema.key_column_usage WHERE referenced_table_name IS NOT NULL ORDER BY table_schema, table_name, constraint_name, ordinal_position`,
	names: "SELECT index_name FROM information_schema.statistics WHERE table_schema = {schema} AND table_name = {name}",
	again: func(p place, column, index string, statements []string) (all []string) {
		all = p.alterIf("NOT "+p.hasColumn(column), statements[0])
		for _, one := range statements[1:] {
			all = append(all, p.alterIf(fmt.Sprintf("NOT EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s AND index_name = %s)",
				literal(p.dialect, p.schema), literal(p.dialect, p.name), literal(p.dialect, index)), one)...)
		}
		return all
	},
	differs: "NOT ({a} <=> {b})",
	read:    readMySQL,
	fill:    fillByJoin,
	swap:    exchangeMySQL,
	stopped: "If it was stopped, run it again: it goes on with the tables that are left. Let no program run in between.",
	drop: func(c *swapColumn) []string {
		return c.table.alterIf(c.table.hasColumn(c.old), c.sql("ALTER TABLE {table} DROP COLUMN {old}"))
	},
}

// hasColumn returns the condition that the table has a column.
func (p place) hasColumn(column string) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = %s AND table_name = %s AND column_name = %s)",
		literal(p.dialect, p.schema), literal(p.dialect, p.name), literal(p.dialect, column))
}

// readMySQL reads SHOW CREATE TABLE, which has a line for each column and key.
func readMySQL(ctx context.Context, s *swap, t *swapTable) (problems []problem, _ error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_mode = '', SESSION sql_quote_show_create = 1"); err != nil {
		return nil, err
	}
	var name string
	if err := conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+t.sql()).Scan(&name, &t.text); err != nil {
		return nil, err
	}
	t.definitions = map[string]*catalog.ColumnDefinition{}
	err = conn.Raw(func(raw any) (err error) {
		for _, c := range t.columns {
			if t.definitions[c.column.Name], err = catalog.ReadColumnDefinition(ctx, s.dialect, catalog.Conn(raw.(driver.Conn)), t.schema, t.name, c.column.Name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	lines := strings.Split(t.text, "\n")
	for _, c := range t.columns {
		quoted := s.dialect.QuoteIdent(c.column.Name)
		for i, line := range lines {
			upper := strings.ToUpper(line)
			_, checked, isCheck := strings.Cut(upper, "CHECK (")
			_, computed, isComputed := strings.Cut(upper, "GENERATED ALWAYS AS (")
			isRow := strings.HasPrefix(line, "  ")
			switch {
			case i > 0 && isRow && (isCheck && strings.Contains(checked, strings.ToUpper(quoted)) || isComputed && strings.Contains(computed, strings.ToUpper(quoted))):
				problems = append(problems, problem{c.of, fmt.Sprintf("%s uses %s: drop it before the plan, and add it again after the swap", strings.Trim(line, " ,"), c)})
			case !isRow && i > 0 && strings.Contains(upper, "WITH SYSTEM VERSIONING"):
				problems = append(problems, problem{c.of, fmt.Sprintf("%s keeps the history of its rows (WITH SYSTEM VERSIONING)", t.name)})
			}
		}
	}
	return problems, nil
}

// keyLines returns the lines of SHOW CREATE TABLE that are about keys with a column that
// becomes a UUID.
func (t *swapTable) keyLines() (lines []string) {
	for _, line := range strings.Split(t.text, "\n") {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		kind, rest, _ := strings.Cut(line, "(")
		if !strings.HasPrefix(kind, "PRIMARY KEY") && !strings.Contains(" "+kind, " KEY `") || strings.HasPrefix(line, "CONSTRAINT") || strings.HasPrefix(line, "`") {
			continue
		}
		if slices.ContainsFunc(t.columns, func(c *swapColumn) bool { return strings.Contains(rest, t.dialect.QuoteIdent(c.column.Name)) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// keyName returns the quoted name of an index in a line of SHOW CREATE TABLE.
func keyName(line string) string {
	_, name, _ := strings.Cut(line, "`")
	for i := 0; i < len(name); i++ {
		if name[i] == '`' {
			if i+1 < len(name) && name[i+1] == '`' {
				i++
				continue
			}
			return "`" + name[:i+1]
		}
	}
	return "`" + name
}

// fillByJoin returns an UPDATE that joins the roots. MySQL refuses a query of the table
// that an UPDATE changes, and a column that takes the time of the UPDATE keeps its value.
func fillByJoin(t *swapTable, between string) string {
	var joins, set, differ []string
	for i, c := range t.columns {
		if c.root == c {
			continue
		}
		in := strings.NewReplacer(append(c.sqlNames(), "{r}", fmt.Sprintf("r%d", i+1))...)
		joins = append(joins, in.Replace(" LEFT JOIN {root} {r} ON {r}.{root column} = c.{column}"))
		set = append(set, in.Replace("c.{new} = {r}.{root new}"))
		differ = append(differ, in.Replace("NOT (c.{new} <=> {r}.{root new})"))
	}
	for _, line := range strings.Split(t.text, "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "`") && strings.Contains(strings.ToUpper(line), " ON UPDATE CURRENT_TIMESTAMP") {
			name := keyName(line)
			set = append(set, fmt.Sprintf("c.%[1]s = c.%[1]s", name))
		}
	}
	where := strings.Join(differ, " OR ")
	if between != "" {
		where = between + " AND (" + where + ")"
	}
	return "UPDATE " + t.sql() + " c" + strings.Join(joins, "") + " SET " + strings.Join(set, ", ") + " WHERE " + where
}

func exchangeMySQL(s *swap) []string {
	var left, unbound, changed, bound []string
	for _, c := range s.columns() {
		left = append(left, fmt.Sprintf("(%s, %s, %s)", s.literal(c.table.schema), s.literal(c.table.name), s.literal(c.added)))
	}
	statements := []string{
		"SET sql_mode = REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')",
		fmt.Sprintf("SET @keyfill_left = (SELECT COUNT(*) FROM information_schema.columns WHERE (table_schema, table_name, column_name) IN (%s))", strings.Join(left, ", ")),
	}
	// A table that is swapped already was looked at before.
	for _, guard := range s.guards() {
		statements = append(statements, "SET @keyfill_rows = 0",
			fmt.Sprintf("SET @keyfill = IF(@keyfill_left = %d, %s, 'DO 0')", len(left), s.literal("SELECT ("+guard[0]+") INTO @keyfill_rows")),
			"PREPARE keyfill FROM @keyfill", "EXECUTE keyfill", "DEALLOCATE PREPARE keyfill",
			// MySQL prepares no SIGNAL, so the error is about a table of that name.
			fmt.Sprintf("SET @keyfill = IF(@keyfill_rows > 0, %s, 'DO 0')", s.literal("SELECT * FROM "+s.dialect.QuoteIdent("keyfill: "+guard[1]))),
			"PREPARE keyfill FROM @keyfill", "EXECUTE keyfill", "DEALLOCATE PREPARE keyfill")
	}
	for _, r := range s.refs {
		if !s.affected(r) {
			continue
		}
		name := s.dialect.QuoteIdent(r.name)
		has := fmt.Sprintf("EXISTS (SELECT 1 FROM information_schema.table_constraints WHERE constraint_schema = %s AND table_name = %s AND constraint_name = %s AND constraint_type = 'FOREIGN KEY')",
			s.literal(r.table.schema), s.literal(r.table.name), s.literal(r.name))
		unbound = append(unbound, r.table.alterIf("@keyfill_left > 0 AND "+has, fmt.Sprintf("ALTER TABLE %s DROP FOREIGN KEY %s", r.table.sql(), name))...)
		bound = append(bound, r.table.alterIf("NOT "+has, fmt.Sprintf("ALTER TABLE %s ADD %s", r.table.sql(), s.foreignLine(r)))...)
	}
	for _, t := range s.tables {
		changed = append(changed, t.alterIf(t.hasColumn(t.columns[0].added), t.exchangeMySQL())...)
	}
	return slices.Concat(statements, unbound, changed, bound)
}

// foreignLine returns the line of SHOW CREATE TABLE about a foreign key.
func (s *swap) foreignLine(r *reference) string {
	for _, t := range s.tables {
		if t.place != r.table {
			continue
		}
		for _, line := range strings.Split(t.text, "\n") {
			line = strings.TrimSuffix(strings.TrimSpace(line), ",")
			if strings.HasPrefix(line, "CONSTRAINT "+s.dialect.QuoteIdent(r.name)+" FOREIGN KEY") {
				return line
			}
		}
	}
	panic(fmt.Sprintf("SHOW CREATE TABLE of %s has no line about %s", r.table.name, r.name))
}

// exchangeMySQL returns the ALTER TABLE of one table.
func (t *swapTable) exchangeMySQL() string {
	var parts, added []string
	for _, line := range t.keyLines() {
		if strings.HasPrefix(line, "PRIMARY KEY") {
			parts = append(parts, "DROP PRIMARY KEY")
		} else {
			parts = append(parts, "DROP INDEX "+keyName(line))
		}
		added = append(added, "ADD "+line)
	}
	for _, c := range t.columns {
		if c.root == c {
			parts = append(parts, "DROP INDEX "+t.dialect.QuoteIdent(c.of.index))
		}
		def := t.definitions[c.column.Name]
		old := catalog.ColumnDefinition{Type: def.Type, Charset: def.Charset, Attributes: []string{"NULL"}}
		kept := def.With(c.of.uuidType())
		kept.Attributes = slices.DeleteFunc(slices.Clone(kept.Attributes), func(a string) bool {
			lower := strings.ToLower(a)
			return lower == "auto_increment" || strings.HasPrefix(lower, "default ")
		})
		parts = append(parts, c.sql("CHANGE {column} {old} "+old.String()), c.sql("CHANGE {new} {column} "+kept.String()+" AFTER {old}"))
	}
	return "ALTER TABLE " + t.sql() + " " + strings.Join(append(parts, added...), ", ")
}
