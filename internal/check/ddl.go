package check

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
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

// alterType returns the statement that gives a column another type, "" for an engine
// that has none.
func (c *checker) alterType(t *catalog.Listed, col *catalog.Column, kind string) string {
	table, column := c.tableName(t), c.d.QuoteIdent(col.Name)
	switch c.d.Family {
	case dialect.FamilyMySQL:
		return fmt.Sprintf("ALTER TABLE %s MODIFY %s %s%s;", table, column, kind, c.attributes(t, col))
	case dialect.FamilyPostgreSQL:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE %s USING CAST(CAST(%s AS text) AS %s);", table, column, kind, column, kind)
	case dialect.FamilySQLServer:
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s %s NOT NULL;", table, column, kind)
	case dialect.FamilyOracle:
		return fmt.Sprintf("ALTER TABLE %s MODIFY %s %s;", table, column, kind)
	}
	return ""
}

// attributes returns what MODIFY of MySQL and MariaDB would take away.
func (c *checker) attributes(t *catalog.Listed, col *catalog.Column) string {
	text := ""
	if !t.Nullable[col.Name] {
		text += " NOT NULL"
	}
	if col.Identity == "AUTO_INCREMENT" {
		text += " AUTO_INCREMENT"
	}
	return text
}

// typeFor returns the type of a column that takes the keys.
func (c *checker) typeFor(wanted catalog.Key, col *catalog.Column) string {
	length := max(wanted.Length, 19)
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
		return fmt.Sprintf("ALTER TABLE %s MODIFY %s %s CHARACTER SET ascii COLLATE ascii_bin%s;", table, column, col.Type, c.attributes(t, col))
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
		collation := ""
		if col.Collation != "" {
			collation = " COLLATE " + col.Collation
		}
		return fmt.Sprintf("ALTER TABLE %s MODIFY %s %s%s NOT NULL;", table, column, col.Type, collation)
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
	name := c.d.QuoteIdent(t.Name + "_" + strings.Join(columns, "_") + "_key")
	return fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s);", name, c.tableName(t), strings.Join(quoted, ", "))
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

// dropTrigger returns the statement that takes a trigger away.
func (c *checker) dropTrigger(t *catalog.Listed, trigger *catalog.Trigger) string {
	name := c.d.QuoteIdent(trigger.Name)
	if c.d.Family == dialect.FamilyPostgreSQL {
		return fmt.Sprintf("DROP TRIGGER %s ON %s;", name, c.tableName(t))
	}
	return "DROP TRIGGER " + name + ";"
}
