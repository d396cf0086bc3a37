package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// The statements that mend a table. They are printed and never run, and each ends in
// a semicolon.

// tableName returns the name of a table as it is written in a statement.
func tableName(d *dialect.Dialect, t *catalog.Listed) string {
	name := d.QuoteIdent(t.Name)
	if t.Visible || t.Schema == "" {
		return name
	}
	return d.QuoteIdent(t.Schema) + "." + name
}

// alterType returns the statement that gives a column another type, empty if the engine has
// no such statement.
func (c *checker) alterType(t *catalog.Listed, col *catalog.Column, kind string) string {
	e := c.engine
	if e.alters.modifies {
		return c.modify(t, col, "as "+kind, func(def *catalog.ColumnDefinition) *catalog.ColumnDefinition {
			if kind != e.types.integer {
				return def.With(kind).Unnumbered()
			}
			return def.With(kind)
		})
	}
	text := e.alters.alter
	if kind == e.types.text && e.alters.alterText != "" {
		text = e.alters.alterText
	}
	return c.onColumn(text, t, col, "{type}", kind)
}

// modify returns the MODIFY statement of MySQL and MariaDB that gives a column the
// definition that change returns for the present one. The statement repeats all
// attributes, since MODIFY removes those that it does not repeat. If the present
// definition cannot be read, modify returns what, a description.
//
// All findings about a column share one statement with all their changes: a statement that
// did not repeat the change of another finding would undo it.
func (c *checker) modify(t *catalog.Listed, col *catalog.Column, what string, change func(*catalog.ColumnDefinition) *catalog.ColumnDefinition) string {
	name := t.Schema + "\x00" + t.Name + "\x00" + col.Name
	before, known := c.modified[name]
	if !known {
		before.def = c.definition(t, col)
	}
	if before.def == nil {
		return fmt.Sprintf("define the column anew %s by MODIFY, and repeat the rest of its definition as SHOW CREATE TABLE has it", what)
	}
	now := modified{def: change(before.def)}
	now.text = c.besideForeignKeys(t, col, fmt.Sprintf("ALTER TABLE %s MODIFY %s %s;", tableName(c.d, t), c.d.QuoteIdent(col.Name), now.def))
	for i := range c.findings {
		if known && c.findings[i].Remedy == before.text {
			c.findings[i].Remedy = now.text
		}
	}
	if c.modified == nil {
		c.modified = map[string]modified{}
	}
	c.modified[name] = now
	return now.text
}

// besideForeignKeys returns the statement that changes a column of MySQL or MariaDB. If the
// column is part of a foreign key, it returns a text with more steps: the server does not
// change the type of such a column (errors 1832 and 1833), and the column at the other end
// of the foreign key needs the same change.
func (c *checker) besideForeignKeys(t *catalog.Listed, col *catalog.Column, statement string) string {
	var held []string
	for _, f := range c.over.ForeignKeys {
		if f.Table == t && f.Column == col.Name || f.Parent == t && f.ParentColumn == col.Name {
			held = append(held, f.Name+" of "+f.Table.Name)
		}
	}
	if held == nil {
		return statement
	}
	return fmt.Sprintf("drop the foreign key %s, run %s, change the column at its other end alike, and create the key again; keyfill plan bigint prints such steps",
		strings.Join(held, " and "), strings.TrimSuffix(statement, ";"))
}

// leavesOut are the words of sql_mode under which SHOW CREATE TABLE leaves out a part of
// the definition of a column.
var leavesOut = []string{"ANSI", "NO_FIELD_OPTIONS", "ORACLE", "POSTGRESQL", "MSSQL", "DB2", "MAXDB", "MYSQL323", "MYSQL40"}

// definition returns the definition of a column of MySQL or MariaDB, nil if the server does
// not show all of it to this session.
func (c *checker) definition(t *catalog.Listed, col *catalog.Column) *catalog.ColumnDefinition {
	mode, err := c.text("SELECT @@sql_mode")
	if err != nil || slices.ContainsFunc(strings.Split(mode, ","), func(word string) bool { return slices.Contains(leavesOut, word) }) {
		return nil
	}
	def, err := catalog.ReadColumnDefinition(c.ctx, c.d, c.q, t.Schema, t.Name, col.Name)
	if err != nil {
		return nil
	}
	return def
}

// typeFor returns the type that a column needs for the keys.
func typeFor(types columnTypes, wanted catalog.Key, col *catalog.Column) string {
	length, isUUID := max(wanted.Length, 19), wanted.Length == table.UUIDLength && !wanted.State && !wanted.Prefixed
	if col.UUID {
		length = max(length, table.UUIDLength) // the column may hold UUIDs already
	}
	kind := types.text
	switch {
	case wanted.Integer && wanted.Layout == "":
		return types.integer
	case wanted.Layout.Bytes():
		return types.bytes
	case isUUID && !col.Text:
		kind = types.uuid
	case isUUID:
		kind = cmp.Or(types.uuidText, types.text)
	}
	return strings.ReplaceAll(kind, "{length}", strconv.Itoa(length))
}

// alterCollation returns the statement that makes a column compare by case, empty if the
// engine has no such statement.
func (c *checker) alterCollation(t *catalog.Listed, col *catalog.Column) string {
	e := c.engine
	if e.alters.modifies {
		return c.modify(t, col, "with "+e.alters.caseless, func(def *catalog.ColumnDefinition) *catalog.ColumnDefinition {
			changed := *def
			changed.Charset = e.alters.caseless
			return &changed
		})
	}
	kind := col.Type
	if strings.HasSuffix(kind, "citext") {
		kind = "text"
	}
	return c.onColumn(e.alters.caseless, t, col, "{present}", kind)
}

// alterNotNull returns the statement that makes a column NOT NULL.
func (c *checker) alterNotNull(t *catalog.Listed, col *catalog.Column) string {
	e := c.engine
	if e.alters.modifies {
		return c.modify(t, col, "with NOT NULL", (*catalog.ColumnDefinition).NotNull)
	}
	return c.onColumn(e.alters.notNull, t, col, "{present}", col.Type)
}

// createUnique returns the statement that creates a unique index.
func createUnique(d *dialect.Dialect, t *catalog.Listed, columns []string) string {
	var quoted []string
	for _, name := range columns {
		quoted = append(quoted, d.QuoteIdent(name))
	}
	schema := ""
	if !t.Visible && t.Schema != "" {
		schema = t.Schema
	}
	index, table := d.IndexNames(schema, indexName(t.Name, columns), t.Name)
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s);", index, table, strings.Join(quoted, ", "))
}

// maxIndexName is how many bytes the name of an index may have: PostgreSQL allows 63, and
// the other engines allow more.
const maxIndexName = 63

// indexName returns the name of a unique index.
func indexName(table string, columns []string) string {
	const end = "_key"
	name := table + "_" + strings.Join(columns, "_")
	if len(name) > maxIndexName-len(end) {
		name = strings.ToValidUTF8(name[:maxIndexName-len(end)], "")
	}
	return name + end
}

// dropDefault returns the statement that removes the default of a column.
func (c *checker) dropDefault(t *catalog.Listed, col *catalog.Column) string {
	return c.onColumn(c.engine.alters.dropDefault, t, col)
}

// dropTrigger returns the statement that removes a trigger. On MySQL, MariaDB and SQLite, a
// trigger has the schema of its table.
func (c *checker) dropTrigger(t *catalog.Listed, trigger *catalog.Trigger) string {
	name := c.d.QuoteIdent(trigger.Name)
	qualified := name
	switch {
	case trigger.Schema != "":
		qualified = c.d.QuoteIdent(trigger.Schema) + "." + name
	case !t.Visible && t.Schema != "":
		qualified = c.d.QuoteIdent(t.Schema) + "." + name
	}
	return strings.NewReplacer("{trigger}", name, "{schema trigger}", qualified, "{table}", tableName(c.d, t)).Replace(c.engine.alters.dropTrigger)
}
