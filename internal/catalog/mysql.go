package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Queries for MySQL and MariaDB, which read INFORMATION_SCHEMA ("INFORMATION_SCHEMA Tables"
// of the MySQL 8.4 Reference Manual and of the MariaDB Knowledge Base). Both servers read
// one table's files only where schema and name are compared with = to a constant, in the
// WHERE of each table and not in an ON: "Optimizing INFORMATION_SCHEMA Queries"; a LEFT
// JOIN was seen to scan all databases on MariaDB 10.11.
const (
	// findMySQL finds a table whose name has exactly this spelling. With
	// lower_case_table_names other than 0 the server compares without case.
	findMySQL = `SELECT table_schema, table_name, table_type, engine
FROM information_schema.tables
WHERE table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?`

	// searchMySQL finds a table whose name differs by case. It reads the names of one
	// database; searchSchemaMySQL reads the names of all, since folding may have changed
	// the spelling of the schema too.
	searchMySQL = `SELECT table_schema, table_name, table_type, engine
FROM information_schema.tables
WHERE table_schema = DATABASE() AND LOWER(table_name) = ?`
	searchSchemaMySQL = `SELECT table_schema, table_name, table_type, engine
FROM information_schema.tables
WHERE LOWER(table_schema) = ? AND LOWER(table_name) = ?`

	// describeMySQL returns all facts about a table. The casts give its parts the same
	// types and collations, which differ between the tables of MySQL 8. No table has 10,000
	// columns.
	//
	// Triggers are shown to users with the TRIGGER privilege on the table only: "The
	// INFORMATION_SCHEMA TRIGGERS Table". (MariaDB 10.11.19 was seen to show them to all
	// users of the table.) Privileges that a user has through a role are not looked at. A
	// schema's privilege may be for a pattern: "GRANT Statement".
	//
	// The query has no ORDER BY, for which MariaDB writes all rows to a temporary table on
	// disk: a third of the query's time. See sortMySQL.
	describeMySQL = `SELECT 'column' AS part, ordinal_position AS ord, CAST(column_name AS CHAR) AS name,
CAST(data_type AS CHAR) AS a, CAST(column_type AS CHAR) AS b, CAST(extra AS CHAR) AS c,
CAST(collation_name AS CHAR) AS d, CAST(column_default AS CHAR) AS e,
character_maximum_length AS n, numeric_precision AS p, numeric_scale AS s
FROM information_schema.columns
WHERE table_schema = ? AND table_name = ?
UNION ALL
SELECT 'index', 10000, CAST(column_name AS CHAR), CAST(index_name AS CHAR), CAST(index_type AS CHAR),
NULL, NULL, NULL, non_unique, sub_part, seq_in_index
FROM information_schema.statistics
WHERE table_schema = ? AND table_name = ? AND (seq_in_index = 1 OR non_unique = 0)
UNION ALL
SELECT 'trigger', 0, NULL, NULL, NULL, NULL, NULL, NULL,
COUNT(CASE WHEN event_manipulation LIKE '%INSERT%' THEN 1 END), COUNT(CASE WHEN action_timing = 'BEFORE' THEN 1 END), NULL
FROM information_schema.triggers
WHERE event_object_schema = ? AND event_object_table = ? AND event_manipulation <> 'DELETE'
UNION ALL
SELECT 'grant', 0, NULL, NULL, NULL, NULL, NULL, NULL, COUNT(*), NULL, NULL
FROM (
SELECT grantee FROM information_schema.user_privileges WHERE privilege_type = 'TRIGGER'
UNION ALL
SELECT grantee FROM information_schema.schema_privileges WHERE privilege_type = 'TRIGGER' AND ? LIKE table_schema
UNION ALL
SELECT grantee FROM information_schema.table_privileges WHERE privilege_type = 'TRIGGER' AND table_schema = ? AND table_name = ?
) g
WHERE grantee = CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1),
'''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')`

	// readMySQLTable is findMySQL and describeMySQL in one query, for a name that the
	// server has in exactly this spelling. The row about the table also has the answer to
	// [dialect.Place].Query.
	readMySQLTable = `SELECT 'table' AS part, -1 AS ord, CAST(table_name AS CHAR) AS name,
CAST(table_schema AS CHAR) AS a, CAST(table_type AS CHAR) AS b, CAST(engine AS CHAR) AS c,
CAST(DATABASE() AS CHAR) AS d, NULL AS e, NULL AS n, NULL AS p, NULL AS s
FROM information_schema.tables
WHERE table_schema = ? AND table_name = ?
UNION ALL
` + describeMySQL
)

func readMySQL(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	rows, err := readAtOnceMySQL(ctx, q, schema, table)
	if err != nil {
		return nil, err
	}
	found, err := foundMySQL(ctx, q, schema, table, rows)
	if found == nil || err != nil {
		return nil, err
	}
	if found.isOnlyOf(rows, schema, table) {
		return found, found.describedMySQL(rows)
	}
	return found, found.describeMySQL(ctx, q)
}

// isOnlyOf reports whether the table is the only one that an answer to readMySQLTable
// describes, and has exactly the names that were asked for.
func (t *Table) isOnlyOf(rows [][]any, schema, table string) bool {
	return len(tableRowsOf(rows)) == 1 && t.Name == table && (schema == "" || t.Schema == schema)
}

// readPlaceMySQL returns what [Place] and readMySQL return, if one query can answer both.
func readPlaceMySQL(ctx context.Context, q Querier, schema, table string) (at Where, t *Table, err error) {
	rows, err := readAtOnceMySQL(ctx, q, schema, table)
	if err != nil || len(tableRowsOf(rows)) == 0 {
		return at, nil, err
	}
	if t, err = foundMySQL(ctx, q, schema, table, rows); t == nil || err != nil || !t.isOnlyOf(rows, schema, table) {
		return at, nil, err
	}
	for _, row := range rows {
		if c := (cells{row: row}); c.text(0) == "table" {
			at.Place, err = c.text(6), c.err
		}
	}
	return at, t, cmp.Or(err, t.describedMySQL(rows))
}

// inSession changes a query about a schema into a query about the session's schema.
var inSession = strings.NewReplacer("schema = ?", "schema = DATABASE()", "? LIKE table_schema", "DATABASE() LIKE table_schema")

// readAtOnceMySQL returns all facts about the tables whose names have exactly this
// spelling: about several if the server treats different spellings as equal.
func readAtOnceMySQL(ctx context.Context, q Querier, schema, table string) ([][]any, error) {
	if schema == "" {
		return q.Rows(ctx, inSession.Replace(readMySQLTable), table, table, table, table, table)
	}
	return q.Rows(ctx, readMySQLTable, schema, table, schema, table, schema, table, schema, table, schema, schema, table)
}

// tableRowsOf returns the rows about tables in an answer to readMySQLTable, as findMySQL
// returns them.
func tableRowsOf(rows [][]any) (tables [][]any) {
	for _, row := range rows {
		if c := (cells{row: row}); c.text(0) == "table" {
			tables = append(tables, []any{row[3], row[2], row[4], row[5]})
		}
	}
	return tables
}

// readExactMySQL does what readMySQL does if the server compares names by case: with
// lower_case_table_names=0 the server opens the table with exactly this name, although it
// may compare the catalog's column without case.
func readExactMySQL(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	rows, err := q.Rows(ctx, findMySQL, schema, table)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		c := cells{row: row}
		t := &Table{Schema: c.text(0), Name: c.text(1), View: strings.HasSuffix(c.text(2), "VIEW"), Transactional: c.text(3) == "InnoDB"}
		if c.err != nil {
			return nil, c.err
		}
		if t.Name == table && c.text(2) != "SEQUENCE" {
			return t, t.describeMySQL(ctx, q)
		}
	}
	return nil, nil
}

// describeMySQL reads the facts about a table that was found.
func (t *Table) describeMySQL(ctx context.Context, q Querier) error {
	rows, err := q.Rows(ctx, describeMySQL, t.Schema, t.Name, t.Schema, t.Name, t.Schema, t.Name, t.Schema, t.Schema, t.Name)
	if err != nil {
		return err
	}
	return t.describedMySQL(rows)
}

// sortMySQL returns the rows that describeMySQL has returned in the order of the columns,
// then of the indexes by name, and of the columns of each index.
func sortMySQL(rows [][]any) [][]any {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b []any) int {
		x, y := cells{row: a}, cells{row: b}
		return cmp.Or(
			cmp.Compare(x.number(1), y.number(1)),
			cmp.Compare(strings.ToLower(x.text(3)), strings.ToLower(y.text(3))),
			cmp.Compare(x.number(10), y.number(10)))
	})
}

// describedMySQL sets the facts in the rows that describeMySQL has returned.
func (t *Table) describedMySQL(rows [][]any) error {
	granted := false
	for _, row := range sortMySQL(rows) {
		c := cells{row: row}
		switch c.text(0) {
		case "column":
			t.Columns = append(t.Columns, columnOfMySQL(&c))
		case "index":
			t.indexOfMySQL(&c)
		case "trigger":
			if c.number(8) > 0 {
				t.InsertTriggers = Yes
			}
			if c.number(9) > 0 {
				t.KeyTriggers = Yes
			}
		case "grant":
			granted = c.number(8) > 0
		}
		if c.err != nil {
			return c.err
		}
	}
	t.aloneInMySQL()
	if t.InsertTriggers == Unknown && granted {
		t.InsertTriggers = No
	}
	if t.KeyTriggers == Unknown && granted {
		t.KeyTriggers = No
	}
	return nil
}

// aloneInMySQL marks each column that is the only column of a unique index.
func (t *Table) aloneInMySQL() {
	for i := range t.Columns {
		c := &t.Columns[i]
		c.Indexes.UniqueAlone = slices.ContainsFunc(t.UniqueIndexes, func(x UniqueIndex) bool {
			return len(x.Columns) == 1 && x.Columns[0] == c.Name
		})
	}
}

// foundMySQL returns the names of the table in an answer to readMySQLTable, or of a table
// whose name differs by case; nil if there is none.
func foundMySQL(ctx context.Context, q Querier, schema, table string, answer [][]any) (*Table, error) {
	var err error
	rows := tableRowsOf(answer)
	switch {
	case len(rows) > 0:
	case schema == "":
		rows, err = q.Rows(ctx, searchMySQL, table)
	default:
		rows, err = q.Rows(ctx, searchSchemaMySQL, schema, table)
	}
	if err != nil {
		return nil, err
	}
	fold := dialect.MySQL().Fold
	var found []*Table
	for _, row := range rows {
		c := cells{row: row}
		t := &Table{Schema: c.text(0), Name: c.text(1), View: strings.HasSuffix(c.text(2), "VIEW"), Transactional: c.text(3) == "InnoDB"}
		isSequence := c.text(2) == "SEQUENCE"
		if c.err != nil {
			return nil, c.err
		}
		// The server's comparison may also ignore accents, so compare the names again.
		if !isSequence && fold(t.Name, true) == table {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, &Error{Table: qualified(schema, table), Err: ErrAmbiguous,
		Detail: "rename all but one, or take them out of the policy"}
}

func columnOfMySQL(c *cells) Column {
	col := Column{Name: c.text(2), Type: c.text(4), Collation: c.text(6)}
	kind := c.text(3)
	bits := map[string]int{"tinyint": 7, "smallint": 15, "mediumint": 23, "int": 31, "bigint": 63}[kind]
	switch kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		if strings.Contains(col.Type, "unsigned") {
			bits++
		}
		col.integer(bits)
	case "decimal":
		if c.number(10) == 0 {
			col.integer(decimalBits(c.number(9)))
		}
		col.lossy = !col.Integer
	case "float", "double":
		col.rounds = true
	case "char", "varchar":
		col.Text, col.Length = true, c.number(8)
	case "tinytext", "text", "mediumtext", "longtext":
		col.Text = true
	case "binary", "varbinary":
		col.Binary, col.Length = true, c.number(8)
	case "tinyblob", "blob", "mediumblob", "longblob":
		col.Binary = true
	case "uuid":
		col.UUID = true
	case "bit", "year", "date", "time", "datetime", "timestamp", "enum", "set", "inet4", "inet6":
		col.lossy = true
	}
	extra := strings.ToUpper(c.text(5))
	// Do not count DEFAULT_GENERATED, which MySQL 8 shows for a default that is an
	// expression.
	col.Generated = strings.Contains(extra, "VIRTUAL GENERATED") ||
		strings.Contains(extra, "STORED GENERATED") || strings.Contains(extra, "PERSISTENT")
	switch {
	case strings.Contains(extra, "AUTO_INCREMENT"):
		col.Identity = "AUTO_INCREMENT"
	case isNextval(c.text(7)):
		col.Identity = nextvalDefault
	}
	col.Default = c.text(7)
	// A constant text that contains these words sets LastKeyDefault too, which costs no
	// more than a needless check.
	def := strings.ToLower(c.text(7))
	col.LastKeyDefault = strings.Contains(def, "last_insert_id") ||
		strings.Contains(def, "@@") && strings.Contains(def, "identity")
	return col
}

// indexOfMySQL adds a column of an index.
func (t *Table) indexOfMySQL(c *cells) {
	name := ""
	if c.number(8) == 0 {
		name = c.text(3)
		t.uniqueIndex(name, c)
	}
	if c.number(10) > 1 {
		return
	}
	// MAX needs an index in order (a B-tree) that holds the whole column, not only a
	// prefix.
	t.led(c.text(2), name, c.text(4) == "BTREE" && c.isNull(9), unknownColumns)
}

// uniqueIndex adds a column of a unique index.
func (t *Table) uniqueIndex(name string, c *cells) {
	i := slices.IndexFunc(t.UniqueIndexes, func(x UniqueIndex) bool { return x.Name == name })
	if i < 0 {
		i = len(t.UniqueIndexes)
		t.UniqueIndexes = append(t.UniqueIndexes, UniqueIndex{Name: name})
	}
	column := c.text(2)
	if !c.isNull(9) {
		column = "" // the index holds only the beginning of the column
	}
	t.UniqueIndexes[i].Columns = append(t.UniqueIndexes[i].Columns, column)
}

// Exact reports whether a server of MySQL or MariaDB compares the names of tables
// as they are written: "Identifier Case Sensitivity" of the MySQL 8.4 Reference
// Manual.
func Exact(ctx context.Context, q Querier) (bool, error) {
	rows, err := q.Rows(ctx, "SELECT @@lower_case_table_names")
	if err != nil || len(rows) == 0 {
		return false, err
	}
	c := cells{row: rows[0]}
	return c.number(0) == 0, c.err
}
