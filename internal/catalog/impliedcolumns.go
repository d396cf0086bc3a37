package catalog

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// Name is a table's name in an INSERT.
type Name struct {
	Schema, Table string // folded; Schema is empty if the text names none
	Text          string // the name as the INSERT writes it, with its quotes, and nothing else
}

// implier returns the columns that one engine fills if an INSERT has no column list.
type implier func(ctx context.Context, q Querier, n Name) ([]string, error)

// ownImpliers holds the impliers of the engines that differ from their family, by the
// dialect's name.
var ownImpliers = map[string]implier{
	dialect.MariaDB().Name: impliedBy("SET STATEMENT sql_select_limit = DEFAULT FOR " + showColumns),
}

// Implied returns the columns that the values of an INSERT without a column list go to,
// in order and as the table has them: names for the list that the INSERT lacks. It
// returns none if the table is not found; on MySQL and MariaDB it returns the engine's
// error then.
//
//	MySQL, MariaDB   all but INVISIBLE ones; generated ones, which take DEFAULT only
//	PostgreSQL       all; generated ones, which take DEFAULT only
//	SQLite           all but generated and hidden ones
//	SQL Server       all but IDENTITY, computed and hidden ones; rowversion takes DEFAULT only
//	Oracle           all but invisible ones; virtual ones, which take DEFAULT only
//
// It sends one query, on Oracle two. The queries for SQL Server and Oracle are
// from their manuals, the other queries are tested on the engines.
//
// # Caveats
//
// It has to run on the connection of the INSERT, so that it sees the temporary
// tables and the search path of the INSERT. Columns that the session is not shown
// are left out: on MySQL and MariaDB a column on which the user has no privilege,
// and on MySQL the columns beyond a sql_select_limit. The query changes the next
// answer of ROW_COUNT() and FOUND_ROWS(), not LAST_INSERT_ID().
func Implied(ctx context.Context, d *dialect.Dialect, q Querier, n Name) ([]string, error) {
	ask := ownImpliers[d.Name]
	if e := engines[d.Family]; ask == nil && e != nil {
		ask = e.implied
	}
	if ask == nil {
		return nil, anchor.Errorf("answer", "the columns of tables of %s cannot be read: list them under columns: in the policy", d.Name)
	}
	return ask(ctx, q, n)
}

// showColumns is followed by the name as the INSERT writes it, so that the server finds the
// same table: information_schema shows no temporary tables, and a folded name may be
// another table's. MariaDB limits the rows to sql_select_limit (seen on 10.11.19), so the
// limit is removed: a list that ends too early would look complete.
const showColumns = "SHOW COLUMNS FROM "

// impliedBy reads the answer of MySQL and MariaDB: "SHOW COLUMNS Statement" of the MySQL
// 8.4 Reference Manual. Extra, the last value, contains INVISIBLE for an invisible column.
func impliedBy(show string) implier {
	return func(ctx context.Context, q Querier, n Name) ([]string, error) {
		return names(ctx, q, func(c *cells) bool {
			return !strings.Contains(strings.ToUpper(c.text(len(c.row)-1)), "INVISIBLE")
		}, show+n.Text)
	}
}

// impliedColumnsPostgreSQL leaves out dropped columns, which stay in the catalog.
const impliedColumnsPostgreSQL = `SELECT CAST(a.attname AS text)
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE ` + meantPostgreSQL + `
ORDER BY a.attnum`

func impliedPostgreSQL(ctx context.Context, q Querier, n Name) ([]string, error) {
	return names(ctx, q, always, impliedColumnsPostgreSQL, n.Table, n.Schema)
}

func impliedSQLite(ctx context.Context, q Querier, n Name) ([]string, error) {
	rows, err := askColumnsSQLite(ctx, q, n.Schema, n.Table)
	return namesOf(rows, err, 1, func(c *cells) bool { return c.number(3) == 0 })
}

// impliedColumnsSQLServer follows "INSERT (Transact-SQL)": a value for a column with
// IDENTITY needs a column list, and a computed column accepts no value. The value of a
// rowversion may be DEFAULT, as may the value of a period column that is not hidden.
const impliedColumnsSQLServer = `SELECT c.name
FROM sys.objects o
JOIN sys.columns c ON c.object_id = o.object_id
WHERE o.object_id = OBJECT_ID(@p1) AND o.type IN ('U', 'V')
AND c.is_identity = 0 AND c.is_computed = 0 AND c.is_hidden = 0
ORDER BY c.column_id`

func impliedSQLServer(ctx context.Context, q Querier, n Name) ([]string, error) {
	return names(ctx, q, always, inSQLServer(n.Table, impliedColumnsSQLServer), nameOfSQLServer(n.Schema, n.Table))
}

// impliedColumnsOracle includes virtual columns: Oracle counts them, and refuses a value
// for one with ORA-54013.
const impliedColumnsOracle = `SELECT c.column_name
FROM all_tab_cols c
WHERE c.owner = :1 AND c.table_name = :2 AND c.hidden_column = 'NO'
ORDER BY c.column_id`

func impliedOracle(ctx context.Context, q Querier, n Name) ([]string, error) {
	rows, err := q.Rows(ctx, findOracle, n.Schema, n.Table, n.Table, n.Schema, n.Schema)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	c := cells{row: rows[0]}
	owner, table := c.text(0), c.text(1)
	if c.err != nil {
		return nil, c.err
	}
	return names(ctx, q, always, impliedColumnsOracle, owner, table)
}

// always accepts every row.
func always(*cells) bool { return true }

// names returns the first value of each row of a query that take accepts.
func names(ctx context.Context, q Querier, take func(*cells) bool, query string, args ...any) ([]string, error) {
	rows, err := q.Rows(ctx, query, args...)
	return namesOf(rows, err, 0, take)
}

// namesOf returns value i of each row that take accepts.
func namesOf(rows [][]any, err error, i int, take func(*cells) bool) ([]string, error) {
	if err != nil {
		return nil, err
	}
	var all []string
	for _, row := range rows {
		c := cells{row: row}
		if take(&c) {
			all = append(all, c.text(i))
		}
		if c.err != nil {
			return nil, c.err
		}
	}
	return all, nil
}
