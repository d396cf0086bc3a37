package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// Queries for SQLite 3.31 and later: https://www.sqlite.org/pragma.html (table_xinfo,
// index_list and index_xinfo as table-valued functions) and
// https://www.sqlite.org/schematab.html.
const (
	// homeSQLite is the database in which a name without schema is found, NULL if there is
	// none. The databases are temp, main, then the attached ones in the order of the list:
	// https://www.sqlite.org/lang_naming.html. A pragma takes the read lock of the database
	// that it reads, which a transaction keeps, so no database is read after the first one
	// that has the name: CASE and LIMIT evaluate no more than they need, and an ORDER BY
	// would evaluate all. Parameters: the name, three times.
	homeSQLite = `CASE WHEN EXISTS (SELECT 1 FROM pragma_table_xinfo(?, 'temp')) THEN 'temp'
WHEN EXISTS (SELECT 1 FROM pragma_table_xinfo(?, 'main')) THEN 'main'
ELSE (SELECT d.name FROM pragma_database_list AS d WHERE d.seq > 1 AND EXISTS (SELECT 1 FROM pragma_table_xinfo(?, d.name)) LIMIT 1) END`

	// The argument of the pragma is not a column of a joined table: before 3.46 the planner
	// may then ignore it, and the answer is empty. Without the name of a database a pragma
	// reads all of them: so 'temp' replaces the name of a database that does not exist, and
	// the condition drops these rows. The last column is an earlier database that is the
	// same file.
	columnsSQLite = `SELECT c.schema, c.name, c.type, c.hidden, c.pk,
(SELECT e.name FROM pragma_database_list AS d JOIN pragma_database_list AS e ON e.file = d.file AND e.seq < d.seq
WHERE d.name = c.schema AND e.file <> '' ORDER BY e.seq LIMIT 1)
FROM pragma_table_xinfo(?, coalesce(CASE WHEN ? <> '' THEN (SELECT d.name FROM pragma_database_list AS d WHERE d.name = ? COLLATE NOCASE)
ELSE ` + homeSQLite + ` END, 'temp')) AS c
WHERE ? = '' OR c.schema = ? COLLATE NOCASE
ORDER BY c.cid`

	// {schema} stands for the schema's name, quoted. A temporary trigger may be on a table
	// of any schema. The rows of indexes come last, in the order of the list.
	schemaSQLite = `SELECT type, name, sql, NULL, NULL, NULL, NULL FROM {schema}.sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE
UNION ALL
SELECT type, name, sql, NULL, NULL, NULL, NULL FROM {schema}.sqlite_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
UNION ALL
SELECT type, name, sql, NULL, NULL, NULL, NULL FROM sqlite_temp_master WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
UNION ALL
SELECT * FROM (SELECT 'index', x.name, x.coll, l."unique", l.origin, l.partial, (SELECT COUNT(*) FROM pragma_index_info(l.name, ?))
FROM pragma_index_list(?, ?) AS l, pragma_index_xinfo(l.name, ?) AS x
WHERE x.seqno = 0 AND x.cid >= 0
ORDER BY l.seq)`

	// mainSQLite returns at once what columnsSQLite and schemaSQLite return for a table of
	// the database main, and a row 'hidden' if a name without a schema means a temporary
	// table. SQLite compiles it in less than half of their time. It reads the file of main in
	// any case, whose lock a transaction would keep. The last column is the place of a row
	// among others of its kind.
	mainSQLite = `SELECT 'column', c.name, c.type, c.hidden, c.pk, NULL, NULL, c.cid FROM pragma_table_xinfo(?, 'main') AS c
UNION ALL
SELECT type, name, sql, NULL, NULL, NULL, NULL, 0 FROM "main".sqlite_master WHERE type IN ('table', 'view', 'trigger') AND tbl_name = ? COLLATE NOCASE
UNION ALL
SELECT CASE type WHEN 'trigger' THEN type ELSE 'hidden' END, name, sql, NULL, NULL, NULL, NULL, 0 FROM sqlite_temp_master WHERE type IN ('table', 'view', 'trigger') AND tbl_name = ? COLLATE NOCASE
UNION ALL
SELECT 'index', x.name, x.coll, l."unique", l.origin, l.partial, (SELECT COUNT(*) FROM pragma_index_info(l.name, 'main')), l.seq
FROM pragma_index_list(?, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS x
WHERE x.seqno = 0 AND x.cid >= 0`
)

// readOutsideSQLite does what readSQLite does, where no transaction is open. For a table of
// the database main it sends one query in place of two.
func readOutsideSQLite(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	if schema != "" && schema != "main" {
		return readSQLite(ctx, q, schema, table)
	}
	all, err := q.Rows(ctx, mainSQLite, table, table, table, table)
	if err != nil {
		// Another process may have locked the file of main, which a temporary table does not
		// need.
		return readSQLite(ctx, q, schema, table)
	}
	var columns, rows [][]any
	isHidden := false
	slices.SortStableFunc(all, func(a, b []any) int {
		x, y := cells{row: a}, cells{row: b}
		return cmp.Compare(x.number(7), y.number(7))
	})
	for _, row := range all {
		c := cells{row: row}
		switch c.text(0) {
		case "column":
			columns = append(columns, []any{"main", row[1], row[2], row[3], row[4], nil})
		case "hidden":
			isHidden = true
		default:
			rows = append(rows, row[:7])
		}
		if c.err != nil {
			return nil, c.err
		}
	}
	if len(columns) == 0 || isHidden && schema == "" {
		return readSQLite(ctx, q, schema, table)
	}
	t, primary, err := tableOfSQLite(columns)
	if err != nil {
		return nil, err
	}
	return t.describedSQLite(rows, primary)
}

func readSQLite(ctx context.Context, q Querier, schema, table string) (*Table, error) {
	rows, err := askColumnsSQLite(ctx, q, schema, table)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	t, primary, err := tableOfSQLite(rows)
	if err != nil {
		return nil, err
	}
	query := strings.ReplaceAll(schemaSQLite, "{schema}", dialect.SQLite().QuoteIdent(t.Schema))
	if rows, err = q.Rows(ctx, query, table, table, table, t.Schema, table, t.Schema, t.Schema); err != nil {
		return nil, err
	}
	return t.describedSQLite(rows, primary)
}

// tableOfSQLite returns a table with its columns, and the names of the columns of its
// primary key, from the rows of columnsSQLite.
func tableOfSQLite(rows [][]any) (t *Table, primary []string, err error) {
	t = &Table{InsertTriggers: No, KeyTriggers: No}
	for _, row := range rows {
		c := cells{row: row}
		if t.Schema == "" {
			t.Schema, t.Twin = c.text(0), c.text(5)
		}
		const hiddenOfVirtual = 1 // 2 and 3 are generated columns, virtual and stored
		if hidden := c.number(3); hidden != hiddenOfVirtual {
			col := columnOfSQLite(c.text(1), c.text(2))
			col.Generated = hidden != 0
			t.Columns = append(t.Columns, col)
		}
		if c.number(4) > 0 {
			primary = append(primary, c.text(1))
		}
		if c.err != nil {
			return nil, nil, c.err
		}
	}
	return t, primary, nil
}

// describedSQLite sets the facts in the rows of schemaSQLite. It returns nil if they show
// no table.
func (t *Table) describedSQLite(rows [][]any, primary []string) (*Table, error) {
	found, isAuto, err := t.schemaOfSQLite(rows)
	if err != nil || !found {
		return nil, err
	}
	return t, t.indexesOfSQLite(rows, primary, isAuto)
}

// askColumnsSQLite returns the rows of columnsSQLite for a table of one database.
func askColumnsSQLite(ctx context.Context, q Querier, schema, table string) ([][]any, error) {
	return q.Rows(ctx, columnsSQLite, table, schema, schema, table, table, table, schema, schema)
}

// schemaOfSQLite reads the facts that the pragmas do not show. It reports whether there is
// such a table or view, and whether it has AUTOINCREMENT.
func (t *Table) schemaOfSQLite(rows [][]any) (found, isAuto bool, err error) {
	for _, row := range rows {
		c := cells{row: row}
		if c.text(0) == "index" {
			continue
		}
		words := wordsOfSQLite(c.text(2))
		switch c.text(0) {
		case "trigger":
			// The first of these words is the trigger's event, since none can be a name
			// without quotes.
			event := slices.IndexFunc(words, func(w string) bool { return w == "insert" || w == "update" || w == "delete" })
			if event >= 0 && words[event] == "insert" {
				t.InsertTriggers = Yes
			}
			if event >= 0 && words[event] != "delete" {
				t.KeyTriggers = Yes
			}
		case "view":
			t.View = true
			fallthrough
		default:
			found, t.Name = true, c.text(1)
			isAuto = slices.Contains(words, "autoincrement")
			t.ConflictClauses = strings.Contains(strings.Join(words, " "), "on conflict")
			t.collateSQLite(c.text(2), words)
		}
		if c.err != nil {
			return false, false, c.err
		}
	}
	return found, isAuto, nil
}

// collateSQLite sets the collations of the text columns from the text that creates the
// table: an index may have another collation than its column. A column for which the text
// does not show one has BINARY (https://www.sqlite.org/datatype3.html#collation).
func (t *Table) collateSQLite(sql string, words []string) {
	if len(words) < 2 || words[0] != "create" || words[1] != "table" {
		return // a view, or a virtual table
	}
	for i := range t.Columns {
		if t.Columns[i].Text {
			t.Columns[i].Collation = "BINARY"
		}
	}
	if !slices.Contains(words, "collate") {
		return
	}
	depth, collates := 0, false
	var col *Column
	s := scan.Scanner{Dialect: dialect.SQLite(), Text: sql}
	for before, token := "", s.Following(); token.Kind != scan.End && token.Kind != scan.Broken; token = s.Following() {
		text := sql[token.Start:token.End]
		name, isName := nameOfSQLite(text, token.Kind)
		switch {
		case text == "(":
			depth++
		case text == ")":
			depth--
		case depth == 1 && isName && (before == "(" || before == ","):
			col = t.named(name)
		case depth == 1 && token.Kind == scan.Word && strings.EqualFold(text, "collate"):
			collates = true
		case depth == 1 && collates && isName:
			if collates = false; col != nil && col.Text {
				col.Collation = strings.ToUpper(name)
			}
		}
		before = text
	}
}

// nameOfSQLite returns the name that a token writes.
func nameOfSQLite(text string, kind scan.Kind) (name string, ok bool) {
	switch {
	case kind == scan.Word:
		return text, true
	case len(text) > 1 && strings.ContainsRune("\"`['", rune(text[0])):
		quote := text[len(text)-1:]
		return strings.ReplaceAll(text[1:len(text)-1], quote+quote, quote), true
	}
	return "", false
}

// indexesOfSQLite reads the indexes, and finds the column that is the rowid: the only
// column of a primary key, declared INTEGER, if the key has no index of its own. The key
// has an index in a table WITHOUT ROWID, and as INTEGER PRIMARY KEY DESC
// (https://www.sqlite.org/lang_createtable.html#rowid).
func (t *Table) indexesOfSQLite(rows [][]any, primary []string, isAuto bool) error {
	indexed := false // the primary key has an index of its own
	for _, row := range rows {
		c := cells{row: row}
		if c.text(0) != "index" {
			continue
		}
		column, unique := c.text(1), ""
		if c.isSet(3) {
			unique = t.Name + "." + column
		}
		indexed = indexed || c.text(4) == "pk"
		if col := t.named(column); col != nil {
			if col.Text && col.Collation == "" {
				col.Collation = c.text(2)
			}
		}
		t.led(column, unique, !c.isSet(5), c.number(6))
		if c.err != nil {
			return c.err
		}
	}
	if len(primary) != 1 || indexed {
		return nil
	}
	if col := t.named(primary[0]); col != nil && strings.EqualFold(col.Type, "INTEGER") {
		col.RowID = true
		if isAuto {
			col.Identity = "AUTOINCREMENT"
		}
		t.led(col.Name, t.Name+"."+col.Name, true, 1)
	}
	return nil
}

// columnOfSQLite describes a column by the affinity of its declared type:
// https://www.sqlite.org/datatype3.html#determination_of_column_affinity. SQLite does not
// enforce a length.
func columnOfSQLite(name, declared string) Column {
	col := Column{Name: name, Type: declared}
	upper := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(upper, p) })
	}
	switch {
	case has("INT"):
		col.integer(63)
	case has("CHAR", "CLOB", "TEXT"):
		col.Text = true
	case has("BLOB"):
		col.Binary = true
	case has("REAL", "FLOA", "DOUB"):
		col.rounds = true
	default:
		// NUMERIC, or no type: a value that is not a number is kept as it is.
		col.integer(63)
		col.Text, col.Binary, col.numeric = true, true, declared != ""
	}
	return col
}

// wordsOfSQLite returns the words of a statement in lower case, without names
// in quotes, strings and comments (https://www.sqlite.org/lang_keywords.html,
// https://www.sqlite.org/lang_comment.html).
func wordsOfSQLite(sql string) []string {
	var words []string
	for sql != "" {
		switch c := sql[0]; {
		case c == '\'' || c == '"' || c == '`':
			sql = after(sql[1:], string(c)) // a doubled quote ends one string and begins the next
		case c == '[':
			sql = after(sql, "]")
		case strings.HasPrefix(sql, "--"):
			sql = after(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			sql = after(sql[2:], "*/")
		case isWordByte(c):
			n := 1
			for n < len(sql) && isWordByte(sql[n]) {
				n++
			}
			words = append(words, strings.ToLower(sql[:n]))
			sql = sql[n:]
		default:
			sql = sql[1:]
		}
	}
	return words
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// after returns the part of s after the first end.
func after(s, end string) string {
	_, rest, _ := strings.Cut(s, end)
	return rest
}
