package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Queries for SQL Server 2016 and later: "System Catalog Views (Transact-SQL)". The views
// show the objects that the user may see ("Metadata Visibility Configuration").
const (
	// OBJECT_ID finds a name without a schema where a statement would find it.
	// HasInsertTrigger is NULL if the user may not see the object ("OBJECTPROPERTY
	// (Transact-SQL)"); it counts disabled triggers too.
	findSQLServer = `SELECT CAST(o.object_id AS bigint), s.name, o.name, CASE o.type WHEN 'V' THEN 1 ELSE 0 END,
OBJECTPROPERTY(o.object_id, 'HasInsertTrigger')
FROM sys.objects o
JOIN sys.schemas s ON s.schema_id = o.schema_id
WHERE o.object_id = OBJECT_ID(@p1) AND o.type IN ('U', 'V')`

	// For an alias type, the system type that it is based on counts.
	columnsSQLServer = `SELECT c.name, b.name, c.max_length, c.precision, c.scale, c.is_identity,
CASE WHEN c.is_computed = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END, d.definition, c.collation_name
FROM sys.columns c
LEFT JOIN sys.types b ON b.user_type_id = c.system_type_id
LEFT JOIN sys.default_constraints d ON d.object_id = c.default_object_id
WHERE c.object_id = @p1
ORDER BY c.column_id`

	// Types 1 and 2 are clustered and not clustered B-trees ("sys.indexes").
	indexesSQLServer = `SELECT c.name, CASE i.is_unique WHEN 1 THEN i.name END,
CASE WHEN i.type IN (1, 2) AND i.has_filter = 0 AND i.is_disabled = 0 THEN 1 ELSE 0 END,
(SELECT COUNT(*) FROM sys.index_columns o WHERE o.object_id = i.object_id AND o.index_id = i.index_id AND o.key_ordinal > 0)
FROM sys.indexes i
JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal = 1
JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE i.object_id = @p1
ORDER BY i.index_id`
)

func readSQLServer(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	rows, err := q.Rows(ctx, inSQLServer(table, findSQLServer), nameOfSQLServer(schema, table))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	c := cells{row: rows[0]}
	id := int64(c.number(0))
	t := &Table{Schema: c.text(1), Name: c.text(2), View: c.isSet(3)}
	switch {
	case c.isSet(4):
		t.InsertTriggers = Yes
	case !c.isNull(4):
		t.InsertTriggers = No
	}
	if isTemporarySQLServer(table) {
		t.Name = table // the catalog's name has a number appended
	}
	if c.err != nil {
		return nil, c.err
	}
	return t, t.describe(ctx, q, description{inSQLServer(table, columnsSQLServer), columnOfSQLServer, inSQLServer(table, indexesSQLServer)}, id)
}

// isTemporarySQLServer reports whether a name belongs to a temporary table, of the session
// (#t) or of all sessions (##t). Temporary tables are in tempdb, whatever the current
// database is, and have no triggers: "CREATE TABLE (Transact-SQL)", "Temporary tables".
func isTemporarySQLServer(table string) bool { return strings.HasPrefix(table, "#") }

// inSQLServer returns a query that reads the catalog of the database that the table is in.
func inSQLServer(table, query string) string {
	if !isTemporarySQLServer(table) {
		return query
	}
	// OBJECTPROPERTY knows only the current database, and temporary tables have no
	// triggers.
	query = strings.ReplaceAll(query, "OBJECTPROPERTY(o.object_id, 'HasInsertTrigger')", "0")
	query = strings.ReplaceAll(query, "FROM sys.", "FROM tempdb.sys.")
	return strings.ReplaceAll(query, "JOIN sys.", "JOIN tempdb.sys.")
}

// nameOfSQLServer returns a name in the form that OBJECT_ID accepts.
func nameOfSQLServer(schema, table string) string {
	quote := dialect.SQLServer().QuoteIdent
	switch {
	case isTemporarySQLServer(table):
		return "tempdb.." + quote(table) // OBJECT_ID ignores the schema here
	case schema == "":
		return quote(table)
	}
	return quote(schema) + "." + quote(table)
}

func columnOfSQLServer(c *cells) Column {
	kind := c.text(1)
	col := Column{Name: c.text(0), Type: kind, Collation: c.text(8), Generated: c.isSet(6)}
	length := max(c.number(2), 0) // in bytes; −1 means max
	sized := func() {
		col.Length = length
		col.Type += "(max)"
		if length > 0 {
			col.Type = fmt.Sprintf("%s(%d)", kind, length)
		}
	}
	switch kind {
	case "tinyint":
		col.integer(8) // 0 to 255
	case "smallint":
		col.integer(15)
	case "int":
		col.integer(31)
	case "bigint":
		col.integer(63)
	case "decimal", "numeric":
		col.Type = fmt.Sprintf("%s(%d,%d)", kind, c.number(3), c.number(4))
		if c.number(4) == 0 {
			col.integer(decimalBits(c.number(3)))
		}
		col.lossy = !col.Integer
	case "money", "smallmoney", "bit", "date", "time", "datetime", "datetime2", "smalldatetime", "datetimeoffset":
		col.lossy = true
	case "float", "real":
		col.rounds = true
	case "char", "varchar":
		col.Text = true
		sized()
	case "nchar", "nvarchar":
		col.Text = true
		length /= 2 // two bytes a character
		sized()
	case "text", "ntext":
		col.Text = true
	case "binary", "varbinary":
		col.Binary = true
		sized()
	case "image":
		col.Binary = true
	case "uniqueidentifier":
		col.UUID = true
	case "timestamp":
		col.Generated = true // rowversion
	}
	switch {
	case c.isSet(5):
		col.Identity, col.IdentityAlways = "IDENTITY", true
	case isNextval(c.text(7)):
		col.Identity = nextvalDefault
	}
	return col
}
