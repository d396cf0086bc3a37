package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/table"
)

// The statements that mend a table. They are printed and never run, and each ends in
// a semicolon.

// tableName returns the name of a table as it is written in a statement.
func (c *checker) tableName(t *catalog.Listed) string {
	name := c.d.QuoteIdent(t.Name)
	if t.Visible || t.Schema == "" {
		return name
	}
	return c.d.QuoteIdent(t.Schema) + "." + name
}

// alterType returns the statement that gives a column another type, empty for an engine
// that has none.
func (c *checker) alterType(t *catalog.Listed, col *catalog.Column, kind string) string {
	table, column := c.tableName(t), c.d.QuoteIdent(col.Name)
	switch c.d.Family {
	case dialect.FamilyMySQL:
		return c.modify(t, col, "as "+kind, func(def *catalog.ColumnDefinition) *catalog.ColumnDefinition {
			if kind != "BIGINT" {
				return def.With(kind).Unnumbered()
			}
			return def.With(kind)
		})
	case dialect.FamilyPostgreSQL:
		if kind == "text" { // without COLLATE the column would get the database's
			return fmt.Sprintf(`ALTER TABLE %s ALTER COLUMN %s TYPE text COLLATE "C" USING CAST(%s AS text);`, table, column, column)
		}
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE %s USING CAST(CAST(%s AS text) AS %s);", table, column, kind, column, kind)
	case dialect.FamilySQLServer:
		// A column keeps its type while a key or an index has it:
		// https://learn.microsoft.com/sql/t-sql/statements/alter-table-transact-sql.
		return fmt.Sprintf("drop the constraints and indexes of the column, run ALTER TABLE %s ALTER COLUMN %s %s NOT NULL, and create them again", table, column, kind)
	case dialect.FamilyOracle:
		return fmt.Sprintf("ALTER TABLE %s MODIFY %s %s;", table, column, kind)
	}
	return ""
}

// modified is the definition that a column of MySQL or MariaDB gets by the remedies so far.
type modified struct {
	def  *catalog.ColumnDefinition
	text string // the remedy
}

// modify returns the MODIFY of MySQL and MariaDB by which a column gets another
// definition, which change makes of the present one: the statement removes each attribute
// that it does not repeat. If the present definition cannot be read, modify returns what,
// a description.
//
// A statement that did not repeat the change of another finding would undo it. So all
// findings of a column have one statement, with all changes.
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
	now.text = c.besideForeignKeys(t, col, fmt.Sprintf("ALTER TABLE %s MODIFY %s %s;", c.tableName(t), c.d.QuoteIdent(col.Name), now.def))
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

// besideForeignKeys returns how a column of MySQL or MariaDB is changed, also where it is
// a part of a foreign key: such a column keeps its type (errors 1832 and 1833), and the
// column at the other end needs the same change.
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

// definition returns the definition of a column of MySQL or MariaDB, nil where the session
// is not shown all of it.
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

// typeFor returns the type of a column that takes the keys.
func (c *checker) typeFor(wanted catalog.Key, col *catalog.Column) string {
	length := max(wanted.Length, 19)
	if col.UUID {
		length = max(length, table.UUIDLength) // it may hold some
	}
	switch {
	case wanted.Integer && wanted.Layout == "":
		if c.d.Family == dialect.FamilyOracle {
			return "NUMBER(19)"
		}
		return "BIGINT"
	case wanted.Layout == dialect.SequentialAsBinary:
		return map[dialect.Family]string{
			dialect.FamilyMySQL: "BINARY(16)", dialect.FamilyPostgreSQL: "bytea", dialect.FamilySQLite: "BLOB",
			dialect.FamilySQLServer: "BINARY(16)", dialect.FamilyOracle: "RAW(16)",
		}[c.d.Family]
	}
	switch c.d.Family {
	case dialect.FamilyMySQL:
		return fmt.Sprintf("VARCHAR(%d) CHARACTER SET ascii COLLATE ascii_bin", length)
	case dialect.FamilyPostgreSQL:
		if wanted.Length == 36 && !wanted.State && !col.Text {
			return "uuid"
		}
		return "text"
	case dialect.FamilySQLServer:
		if wanted.Length == 36 && !wanted.State {
			return "UNIQUEIDENTIFIER"
		}
		return fmt.Sprintf("VARCHAR(%d) COLLATE Latin1_General_100_BIN2", length)
	case dialect.FamilyOracle:
		return fmt.Sprintf("VARCHAR2(%d)", length)
	}
	return "TEXT"
}

// alterCollation returns the statement that has a column compare by case.
func (c *checker) alterCollation(t *catalog.Listed, col *catalog.Column) string {
	table, column := c.tableName(t), c.d.QuoteIdent(col.Name)
	switch c.d.Family {
	case dialect.FamilyMySQL:
		const charset = "CHARACTER SET ascii COLLATE ascii_bin"
		return c.modify(t, col, "with "+charset, func(def *catalog.ColumnDefinition) *catalog.ColumnDefinition {
			changed := *def
			changed.Charset = charset
			return &changed
		})
	case dialect.FamilyPostgreSQL:
		kind := col.Type
		if strings.HasSuffix(kind, "citext") {
			kind = "text"
		}
		return fmt.Sprintf(`ALTER TABLE %s ALTER COLUMN %s TYPE %s COLLATE "C";`, table, column, kind)
	}
	return ""
}

// alterNotNull returns the statement that has a column refuse NULL.
func (c *checker) alterNotNull(t *catalog.Listed, col *catalog.Column) string {
	table, column := c.tableName(t), c.d.QuoteIdent(col.Name)
	switch c.d.Family {
	case dialect.FamilyMySQL:
		return c.modify(t, col, "with NOT NULL", (*catalog.ColumnDefinition).NotNull)
	case dialect.FamilyPostgreSQL:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL;", table, column)
	case dialect.FamilySQLServer:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s %s NOT NULL;", table, column, col.Type)
	case dialect.FamilyOracle:
		return fmt.Sprintf("ALTER TABLE %s MODIFY %s NOT NULL;", table, column)
	}
	return "make the table anew with NOT NULL behind the column: SQLite cannot add it"
}

// createUnique returns the statement that makes a unique index.
func (c *checker) createUnique(t *catalog.Listed, columns []string) string {
	var quoted []string
	for _, name := range columns {
		quoted = append(quoted, c.d.QuoteIdent(name))
	}
	index, table := c.d.QuoteIdent(indexName(t.Name, columns)), c.tableName(t)
	if c.d.Family == dialect.FamilySQLite && !t.Visible && t.Schema != "" {
		// The name of the index says in which file it is:
		// https://sqlite.org/lang_createindex.html.
		index, table = c.d.QuoteIdent(t.Schema)+"."+index, c.d.QuoteIdent(t.Name)
	}
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s);", index, table, strings.Join(quoted, ", "))
}

// maxIndexName is how many bytes the name of an index may have: PostgreSQL takes 63, and
// the others take more.
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

// dropDefault returns the statement that takes the default of a column away.
func (c *checker) dropDefault(t *catalog.Listed, col *catalog.Column) string {
	table, column := c.tableName(t), c.d.QuoteIdent(col.Name)
	switch c.d.Family {
	case dialect.FamilyMySQL, dialect.FamilyPostgreSQL:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT;", table, column)
	}
	return "take the default of the column away"
}

// dropTrigger returns the statement that takes a trigger away. On MySQL, MariaDB and
// SQLite a trigger has the schema of its table.
func (c *checker) dropTrigger(t *catalog.Listed, trigger *catalog.Trigger) string {
	name := c.d.QuoteIdent(trigger.Name)
	switch {
	case c.d.Family == dialect.FamilyPostgreSQL:
		return fmt.Sprintf("DROP TRIGGER %s ON %s;", name, c.tableName(t))
	case trigger.Schema != "":
		name = c.d.QuoteIdent(trigger.Schema) + "." + name
	case !t.Visible && t.Schema != "":
		name = c.d.QuoteIdent(t.Schema) + "." + name
	}
	return "DROP TRIGGER " + name + ";"
}
